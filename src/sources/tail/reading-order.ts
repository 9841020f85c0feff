import { addTo } from '../framing/scanner.ts';
import type { Position } from '../source.ts';
import type { FilePosition, LogPosition, Place } from './file-position.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, type Identity, isSame } from './open-log.ts';
import { begins, isCopy } from './relation.ts';

export type ReadingOrder = ReturnType<typeof createReadingOrder>;

/** The files of a log, the oldest first: those that may still be written to, the current one, and those that wait. */
export function createReadingOrder() {
  const files: LogFile[] = [];
  const earlier = { lines: 0, bytes: 0, tooLong: 0 };
  let current = 0;

  const order = {
    all: files as readonly LogFile[],
    done: createFinishedFiles(),
    finished: undefined as FilePosition | undefined,
    get readable() {
      return files.slice(0, current + 1);
    },
    get past() {
      return files.slice(0, current);
    },
    get counts() {
      const sum = { ...earlier };
      for (const { reader } of files) addTo(sum, reader.counts);
      return sum;
    },
    /** Inserts a file before `next`, or after all others. */
    insert(file: LogFile, next: LogFile | undefined): void {
      const index = next === undefined ? files.length : files.indexOf(next);
      files.splice(index, 0, file);
      if (index < current) current = index;
    },
    replace(file: LogFile, by: LogFile): void {
      addTo(earlier, file.reader.counts);
      files[files.indexOf(file)] = by;
    },
    remove(file: LogFile): void {
      const index = files.indexOf(file);
      files.splice(index, 1);
      if (index < current) current--;
      addTo(earlier, file.reader.counts);
      file.close();
      closeLog(file.log);
    },
    /** Stops reading a file for good: its content is not read again. */
    finish(file: LogFile): void {
      const { log, reader } = file;
      order.done.add({ identity: log.identity, head: reader.head, place: reader.place });
      order.remove(file);
    },
    /** Goes to the next file if the current one is at its end; else returns false. */
    goOn(): boolean {
      // The order matters: a writer that has begun the next file is done with this one.
      const hasNext = files.slice(current + 1).some(({ size }) => size > 0);
      const file = files[current];
      if (!hasNext || file === undefined || !isAtEnd(file)) return false;
      file.pass();
      current++;
      return true;
    },
    get position(): Position {
      const { finished } = order;
      const position: Omit<LogPosition, 'finished'> = {
        files: files.map((file) => file.position),
        modified: files.at(-1)?.lastModified ?? 0,
      };
      return finished === undefined ? { ...position } : { ...position, finished };
    },
  };
  return order;
}

export function isAtEnd({ content, size, reader }: LogFile): boolean {
  return !content.isBusy && size === reader.offset;
}

/** A file that was read: its content must not be read again, under whatever name it comes back. */
export interface FinishedFile {
  /** Undefined: only copies of it can be found, because the file itself has another content now. */
  identity: Identity | undefined;
  head: Buffer;
  place: Place;
}

/** Each has up to 1 KiB. Of more rotated files than that, the oldest would be taken for new ones. */
const maxFiles = 4096;

export function createFinishedFiles() {
  let files: { file: FinishedFile; missed: number }[] = [];
  return {
    add(file: FinishedFile): void {
      files = [...files.slice(1 - maxFiles), { file, missed: 0 }];
    },
    /** Finds the file itself, by its inode, if it still begins as it did. */
    find(identity: Identity, head: Buffer): FinishedFile | undefined {
      const isOne = ({ identity: its, head: known }: FinishedFile): boolean =>
        // Nothing was read of an empty file: with content it is new, or another file that got its inode.
        its !== undefined && isSame(its, identity) && (known.length > 0 ? begins(head, known) : head.length === 0);
      return files.findLast(({ file }) => isOne(file))?.file;
    },
    hasCopyOf: (head: Buffer): boolean => files.some(({ file }) => isCopy(file.head, head)),
    /** Forgets files of which there was nothing at two looks in a row. `seen`: the first bytes of all files that exist. */
    keepOnly(seen: readonly Buffer[]): void {
      // A file that is packed or renamed may be nowhere for a moment.
      for (const entry of files)
        entry.missed = seen.some((head) => isCopy(head, entry.file.head)) ? 0 : entry.missed + 1;
      files = files.filter(({ missed }) => missed < 2);
    },
  };
}
