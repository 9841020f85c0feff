/** One setting, wherever it is set. */
export interface Setting {
  /** The option of the command line, without its dashes. */
  flag: string;
  /** The variable; '' if there is none. */
  env: string;
  /** What stands for the value in a help text. */
  value: string;
  help: string;
  /** What options and variables are converted to; undefined for text. */
  type?: 'boolean' | 'number';
  /** As on the command line. */
  default?: string;
  /** May be given several times; in the environment, separated by this. */
  list?: RegExp;
  /** All valid values. */
  choices?: readonly string[];
  /** The running agent follows a change of the file. */
  reload?: true;
}
