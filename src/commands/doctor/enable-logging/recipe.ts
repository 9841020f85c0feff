/** How to have the drops of one network plug-in logged. */
export interface Recipe {
  /** `Calico 3.29.1` */
  name: string;
  /** `switch`: after what is in `commands`; `ready`: nothing is to be done on the plug-in's side; `no`: it cannot. */
  works: 'switch' | 'ready' | 'no';
  /** One sentence without an end. */
  why: string;
  before?: readonly string[];
  commands?: readonly string[];
  /** A file that `commands` apply. */
  manifest?: { file: string; text: string };
  undo?: readonly string[];
  cost?: string;
  page: `docs/${string}`;
}
