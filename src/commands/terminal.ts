/** Shared by commands that print: the output, its colours and its width. */
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { cutBytes, printable } from '../platform/printable.ts';

/** The outputs; parameters, so that tests can look. */
export interface Streams {
  stdin: Readable;
  /** Synchronous: what was written is out, or throws EPIPE. */
  out: (text: string) => void;
  err: (text: string) => void;
  terminal: NodeJS.WriteStream | undefined;
}

export type Paint = (
  colour: 'red' | 'yellow' | 'green' | 'magenta' | 'cyan' | 'bold' | 'dim' | 'inverse',
  text: string,
) => string;

/** True if standard output is a terminal that has colours, and NO_COLOR is not set. */
export const paintTerminal: Paint = (colour, text) => styleText(colour, text, { stream: process.stdout });

/** Printable, and cut to so many bytes: by default the longest name of an object, with that of its namespace. */
export function cell(text: string, longest = 320): string {
  return cutBytes(printable(text), longest);
}

/** `shop/web (Deployment)`, `node-a (Node)`, `shop/web-0` for a Pod: where a narrow screen cuts it, the name is still there. */
export function endText(kind: string | undefined, name: string): string {
  return kind === undefined || kind === '' || kind === 'Pod' ? name : `${name} (${kind})`;
}
