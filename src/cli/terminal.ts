/** The tools with which commands print: streams, colours, and short printable texts. */
import type { Readable } from 'node:stream';
import { styleText } from 'node:util';
import { cutBytes, printable, printableJson } from '../base/platform/printable.ts';
import { hasReadEnough } from '../base/platform/file-io.ts';

export interface Streams {
  stdin: Readable;
  /** Writes before it returns, or throws, for example EPIPE for a closed pipe. */
  out: (text: string) => void;
  err: (text: string) => void;
  /** Standard error, if it is a terminal. */
  terminal?: NodeJS.WriteStream | undefined;
}

/** Ignores a closed output, because the caller still needs the exit status. */
export function writeUnlessClosed(out: Streams['out'], text: string): void {
  try {
    out(text);
  } catch (error) {
    if (!hasReadEnough(error)) throw error;
  }
}

export type Paint = (
  colour: 'red' | 'yellow' | 'green' | 'magenta' | 'cyan' | 'bold' | 'dim' | 'inverse',
  text: string,
) => string;

/** Paints if standard output is a terminal with colours, and NO_COLOR is not set. */
export const paintTerminal: Paint = (colour, text) => styleText(colour, text, { stream: process.stdout });

/** Makes a text printable and cuts it to `longest` bytes, by default to those of the longest namespace and name. */
export function cell(text: string, longest = 320): string {
  return cutBytes(printable(text), longest);
}

/** Names an end: `shop/web (Deployment)`, `node-a (Node)`, `shop/web-0` for a Pod. The name is first, because a narrow screen cuts the end. */
export function endWithKind(kind: string | undefined, name: string): string {
  return kind === undefined || kind === '' || kind === 'Pod' ? name : `${name} (${kind})`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function jsonText(value: unknown, indent?: number): string {
  return `${printableJson(JSON.stringify(value, undefined, indent))}\n`;
}
