import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Millis } from '../../../src/base/model/log-line.ts';

/** What the writer knows of a line. Its number is its place in the list. */
export interface WrittenLine {
  /** The bytes including the newline, whether or not that was written. */
  bytes: number;
  ended: boolean;
  /** The line was written to a file that had been renamed, when there may already have been a new one. */
  isLate: boolean;
  /**
   * Its end was cut off, even if only the newline. What is left counts as a line when nothing more is expected in its
   * file.
   */
  isCut: boolean;
  /** It follows the rest of a line that was cut off. */
  isJoined: boolean;
}

/** A file, or a copy of one, as the model knows it. */
export interface StoredFile {
  /** The numbers of its lines. */
  lines: number[];
  /** The time since which it has had a name. */
  since: Millis;
  /** Its last line was begun but will not be ended. */
  dangles: boolean;
  isPacked: boolean;
  /** It is not completely written yet. */
  isPartial: boolean;
  /** How often it was emptied. */
  truncations: number;
  /** The original, and how often that had been emptied before the copy. */
  copyOf: { file: StoredFile; truncations: number } | undefined;
}

export type Style = 'create' | 'numbered' | 'gzip' | 'delayed gzip' | 'kubelet' | 'copytruncate';
export type Change = 'rotate' | 'truncate' | 'delete' | 'replace' | 'rewrite' | 'switch' | 'cut';

/** After each step, the content of a file or a name has changed. */
export type Steps = Generator<'changed' | 'moved', void, void>;

/** Writes a log of numbered lines, and rotates, truncates and deletes it. */
export interface Writer {
  path: string;
  lines: readonly WrittenLine[];
  /** The file that is written to; undefined if there is none. */
  readonly live: StoredFile | undefined;
  /** All files under a name that a file of this log can have. */
  found: () => StoredFile[];
  /** Ends a line that was begun, then writes lines of this many bytes, at least 14. */
  writeLines: (count: number, size: number) => void;
  /** Writes half of the rest of a line of this many bytes, but never its end. */
  writePart: (size: number) => void;
  /** Writes lines to the file that was last renamed. */
  writeLate: (count: number, size: number) => void;
  /** Changes the log step by step. */
  change: (what: Change) => Steps;
}

export interface WriterOptions {
  folder: string;
  style: Style;
  now: () => Millis;
  /** The length of a file's first line in bytes. Shorter files cannot be distinguished by their content. */
  shortest: number;
}

/** A whole line without its newline; the number is in parentheses. */
export const wholeLine = /^IN=(\d{8});x*;$/;

/** How many rotated files are kept. */
const keep = 3;
/** A log keeps at least this many bytes: with fewer, later content could be in the part that distinguishes files. */
const wellKnown = 1100;
const dateOfNames = '20261121';

function startOf(number: number): string {
  return `IN=${String(number).padStart(8, '0')};`;
}

export function createWriter({ folder, style, now, shortest }: WriterOptions): Writer {
  const lines: WrittenLine[] = [];
  const files = new Map<string, StoredFile>();
  const path = join(folder, 'kern.log');
  /** The file that is written to, or the one to which the symbolic link points. */
  let base = 'kern.log';
  /** The line that is being written, and its remaining text. */
  let begun: WrittenLine | undefined;
  let rest = '';
  let names = 0;
  /** Whether the file that is written to ends in the rest of a line. */
  let isCutLine = false;
  let renamed: { name: string; at: Millis } | undefined;
  create();

  return {
    path,
    lines,
    get live() {
      return files.get(base);
    },
    found: () => [...files].filter(([name, file]) => isRecognised(name) && !file.isPartial).map(([, file]) => file),
    writeLines(count, size) {
      let text = endOfLine();
      for (let i = 0; i < count; i++) {
        rest = begin(size);
        text += endOfLine();
      }
      append(base, text);
    },
    writePart(size) {
      if (rest === '') rest = begin(size);
      const length = Math.floor((rest.length - 2) / 2);
      append(base, rest.slice(0, length));
      rest = rest.slice(length);
    },
    writeLate,
    change,
  };

  function* change(what: Change): Steps {
    switch (what) {
      case 'rotate':
        yield* rotate();
        break;
      case 'truncate':
        empty();
        yield 'changed';
        break;
      case 'cut':
        cutInHalf();
        yield 'changed';
        break;
      case 'delete':
        rest = '';
        remove(base);
        yield 'moved';
        create();
        yield 'changed';
        break;
      case 'replace':
        rest = '';
        isCutLine = false;
        create('new');
        append('new', lineOf(shortest, 'new'));
        yield 'changed';
        rename('new', base);
        yield 'moved';
        break;
      case 'rewrite':
        empty();
        append(base, lineOf(shortest, base));
        yield 'changed';
        break;
      case 'switch':
        rest = '';
        switchOver();
        yield 'moved';
        break;
      default:
        what satisfies never;
    }
  }

  function* rotate(): Steps {
    if (style === 'kubelet') yield* rotateAsKubelet();
    else if (style === 'create') yield* rotateByDate();
    else {
      yield* shift();
      if (style === 'copytruncate') yield* copyAndTruncate();
      else yield* startNew(`${base}.1`);
      const toPack = style === 'gzip' ? 1 : 2;
      if (style.endsWith('gzip')) yield* pack(`${base}.${toPack}`, `${base}.${toPack}.gz`);
    }
  }

  function* rotateByDate(): Steps {
    const old = rotatedOf(new RegExp(`^${base}-`));
    if (old.length >= keep) remove(old[0] ?? '');
    yield* startNew(`${base}-${dateOfNames}-${String(++names).padStart(10, '0')}`);
  }

  /** Gives the log that name; for a moment there is no log. */
  function* startNew(name: string): Steps {
    moveAway(name);
    yield 'moved';
    create();
    yield 'changed';
  }

  function* shift(): Steps {
    for (let number = keep; number > 0; number--) {
      for (const end of ['', '.gz']) {
        const name = `${base}.${number}${end}`;
        if (!files.has(name)) continue;
        if (number === keep) remove(name);
        else rename(name, `${base}.${number + 1}${end}`);
        yield 'moved';
      }
    }
  }

  function* rotateAsKubelet(): Steps {
    const old = rotatedOf(new RegExp(`^${base}\\.`));
    for (const name of old.splice(0, Math.max(0, old.length - keep + 1))) {
      remove(name);
      yield 'moved';
    }
    for (const name of old) {
      if (name.endsWith('.gz')) continue;
      yield* pack(name, `${name}.tmp`);
    }
    yield* startNew(`${base}.${dateOfNames}-${String(++names).padStart(6, '0')}`);
  }

  function* pack(from: string, to: string): Steps {
    const file = files.get(from);
    if (file === undefined) return;
    const origin = { file, truncations: file.truncations };
    const packed = gzipSync(readFileSync(join(folder, from)), { level: 1 });
    writeFileSync(join(folder, to), packed.subarray(0, packed.length / 2));
    files.set(to, { ...file, since: now(), isPacked: true, isPartial: true, copyOf: origin });
    touch(to);
    yield 'changed';
    writeFileSync(join(folder, to), packed);
    // Lines that are written late from here on are not in the packed file.
    files.set(to, { ...file, lines: [...file.lines], since: now(), isPacked: true, isPartial: false, copyOf: origin });
    touch(to);
    yield 'changed';
    if (to.endsWith('.tmp')) {
      rename(to, `${from}.gz`);
      yield 'moved';
    }
    if (renamed?.name === from) renamed = undefined;
    remove(from);
    yield 'moved';
  }

  function* copyAndTruncate(): Steps {
    const file = files.get(base);
    if (file === undefined) return;
    const copy = `${base}.1`;
    const origin = { file, truncations: file.truncations };
    const whole = readFileSync(join(folder, base));
    for (const length of [0, 30, 100, whole.length / 2]) {
      writeFileSync(join(folder, copy), whole.subarray(0, length));
      files.set(copy, { ...file, lines: [], since: now(), isPartial: true, copyOf: origin });
      touch(copy);
      yield 'changed';
    }
    copyFileSync(join(folder, base), join(folder, copy));
    files.set(copy, {
      ...file,
      lines: [...file.lines],
      since: now(),
      isPartial: false,
      dangles: rest !== '',
      copyOf: origin,
    });
    touch(copy);
    yield 'changed';
    empty();
    yield 'changed';
  }

  function writeLate(count: number, size: number): void {
    const file = files.get(renamed?.name ?? '');
    // Much later the file is not read any more, and an empty one may be taken for a file of another log.
    if (renamed === undefined || file === undefined || file.lines.length === 0 || now() - renamed.at > 20_000) return;
    const fd = openSync(join(folder, renamed.name), 'a');
    if (file.dangles) writeSync(fd, '\n');
    file.dangles = false;
    for (let i = 0; i < count; i++) {
      const text = lineOf(Math.max(size, shortest), renamed.name);
      (lines.at(-1) as WrittenLine).isLate = true;
      writeSync(fd, text);
    }
    closeSync(fd);
    touch(renamed.name);
  }

  function switchOver(): void {
    const link = join(folder, 'link');
    const isFile = base === 'kern.log';
    if (isFile) files.delete(base);
    base = `t${++names}.log`;
    renamed = undefined;
    create();
    symlinkSync(join(folder, base), link);
    renameSync(link, path);
    touch('.');
  }

  function rotatedOf(pattern: RegExp): string[] {
    return [...files.keys()].filter((name) => pattern.test(name)).toSorted();
  }

  function isRecognised(name: string): boolean {
    if (name.endsWith('.tmp')) return false;
    return name === base || /^kern\.log[.-]/.test(name) || name.startsWith(`${base}.`) || name.startsWith(`${base}-`);
  }

  function begin(size: number): string {
    const number = lines.length;
    const file = files.get(base) ?? create();
    const bytes = file.lines.length === 0 ? Math.max(size, shortest) : size;
    begun = { bytes, ended: false, isLate: false, isCut: false, isJoined: isCutLine };
    isCutLine = false;
    lines.push(begun);
    file.lines.push(number);
    return `${startOf(number).padEnd(bytes - 2, 'x')};\n`;
  }

  function lineOf(size: number, name: string): string {
    const number = lines.length;
    lines.push({ bytes: size, ended: true, isLate: false, isCut: false, isJoined: false });
    files.get(name)?.lines.push(number);
    return `${startOf(number).padEnd(size - 2, 'x')};\n`;
  }

  function endOfLine(): string {
    const end = rest;
    rest = '';
    if (end !== '' && begun !== undefined) begun.ended = true;
    return end;
  }

  function append(name: string, text: string): void {
    if (!files.has(name)) create(name);
    appendFileSync(join(folder, name), text);
    touch(name);
  }

  function create(name = base): StoredFile {
    const there = files.get(name);
    if (there !== undefined) return there;
    const file: StoredFile = {
      lines: [],
      since: now(),
      dangles: false,
      isPacked: false,
      isPartial: false,
      truncations: 0,
      copyOf: undefined,
    };
    writeFileSync(join(folder, name), '');
    files.set(name, file);
    if (name === base) isCutLine = false;
    touch(name);
    return file;
  }

  /** The file is emptied in place, so a line that was begun is never ended. */
  function empty(): void {
    rest = '';
    const file = files.get(base);
    if (file === undefined) return;
    truncateSync(join(folder, base));
    isCutLine = false;
    file.lines = [];
    file.truncations++;
    touch(base);
  }

  /** The file is cut in place, so a line that was begun is never ended. */
  function cutInHalf(): void {
    const file = files.get(base);
    if (file === undefined) return;
    const content = readFileSync(join(folder, base), 'latin1');
    if (content.length <= wellKnown) return;
    const left = content.slice(0, Math.max(wellKnown, content.length / 2));
    truncateSync(join(folder, base), left.length);
    rest = '';
    isCutLine = !left.endsWith('\n');
    file.lines = file.lines.filter((number) => {
      const start = left.indexOf(startOf(number));
      const isWhole = start >= 0 && left.includes('\n', start);
      if (start >= 0 && !isWhole) (lines[number] as WrittenLine).isCut = true;
      return isWhole;
    });
    touch(base);
  }

  function moveAway(to: string): void {
    const file = files.get(base);
    if (file === undefined) return;
    file.dangles = rest !== '';
    rest = '';
    rename(base, to);
    renamed = { name: to, at: now() };
  }

  function rename(from: string, to: string): void {
    const file = files.get(from);
    if (file === undefined) return;
    renameSync(join(folder, from), join(folder, to));
    files.delete(from);
    files.set(to, file);
    if (!isRecognised(from)) file.since = now();
    if (renamed?.name === from) renamed.name = to;
    touch('.');
  }

  function remove(name: string): void {
    if (!files.delete(name)) return;
    unlinkSync(join(folder, name));
    if (renamed?.name === name) renamed = undefined;
    touch('.');
  }

  /** Sets the file system's time to the test's. */
  function touch(name: string): void {
    const seconds = now() / 1000;
    if (existsSync(join(folder, name))) utimesSync(join(folder, name), seconds, seconds);
    if (name !== '.') utimesSync(folder, seconds, seconds);
  }
}
