/** How dropped packets come to be logged with one plug-in. Nothing of it is carried out: it is printed. */
export interface Recipe {
  /** `Calico 3.29.1` */
  name: string;
  /** `switch`: after what is in `commands`; `ready`: nothing is to be done on the plug-in's side; `no`: it cannot. */
  works: 'switch' | 'ready' | 'no';
  /** One sentence without an end. */
  why: string;
  /** What to know before. */
  before?: readonly string[];
  commands?: readonly string[];
  /** What `commands` apply. */
  manifest?: { file: string; text: string };
  undo?: readonly string[];
  cost?: string;
  page: `docs/${string}`;
}
