import { appendFileSync, existsSync, renameSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';

/** What a writer knows of a line; its number is its place in the list. */
export interface WrittenLine {
  /** Of the file, in the order of their making. One that is truncated is another one from then on. */
  generation: number;
  /** With the newline, whether or not it came to that. */
  bytes: number;
  ended: boolean;
}

/** Writes a log of numbered lines, and does to it what is done to logs. */
export interface Writer {
  path: string;
  lines: readonly WrittenLine[];
  readonly generation: number;
  /** Undefined if there is no file. */
  readonly inode: string | undefined;
  /** Ends a line that was begun, then writes lines of so many bytes, 14 at least. True if that made the file. */
  writeLines: (count: number, size: number) => boolean;
  /** Writes half of what is left of a line of so many bytes, but never its end. True if that made the file. */
  writePart: (size: number) => boolean;
  endLine: () => void;
  truncate: () => void;
  /** Out of the way, and an empty file is made in its place. */
  rename: () => void;
  delete: () => void;
}

/** A whole line without its newline; the number is in parentheses. */
export const wholeLine = /^IN=(\d{8});x*;$/;

export function createWriter(path: string): Writer {
  const lines: WrittenLine[] = [];
  let generation = 0;
  let rest = '';

  return {
    path,
    lines,
    get generation() {
      return generation;
    },
    get inode() {
      return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino.toString();
    },
    writeLines(count, size) {
      let text = endOfLine();
      for (let i = 0; i < count; i++) {
        rest = begin(size);
        text += endOfLine();
      }
      return append(text);
    },
    writePart(size) {
      if (rest === '') rest = begin(size);
      const length = Math.floor((rest.length - 2) / 2);
      const part = rest.slice(0, length);
      rest = rest.slice(length);
      return append(part);
    },
    endLine: () => void append(endOfLine()),
    truncate() {
      if (existsSync(path)) truncateSync(path);
      leave();
    },
    rename() {
      if (existsSync(path)) renameSync(path, `${path}.${generation}`);
      leave();
      writeFileSync(path, '');
    },
    delete() {
      if (existsSync(path)) unlinkSync(path);
      leave();
    },
  };

  function begin(size: number): string {
    const head = `IN=${String(lines.length).padStart(8, '0')};`;
    lines.push({ generation, bytes: size, ended: false });
    return `${head.padEnd(size - 2, 'x')};\n`;
  }

  function endOfLine(): string {
    const end = rest;
    rest = '';
    const last = lines.at(-1);
    if (end !== '' && last !== undefined) last.ended = true;
    return end;
  }

  function append(text: string): boolean {
    const isNew = !existsSync(path);
    appendFileSync(path, text);
    return isNew;
  }

  /** What was begun is never ended. */
  function leave(): void {
    generation++;
    rest = '';
  }
}
