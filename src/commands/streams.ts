import type { Readable } from 'node:stream';

/** Where output goes; parameters, so that tests can look. */
export interface Streams {
  stdin: Readable;
  /** Synchronous: what was written is out, or throws EPIPE. */
  out: (text: string) => void;
  err: (text: string) => void;
  /** For the progress bar. */
  terminal: NodeJS.WriteStream | undefined;
}
