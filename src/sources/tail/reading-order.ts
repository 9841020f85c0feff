import type { Millis } from '../../model/log-line.ts';
import { addTo } from '../framing/scanner.ts';
import type { Position } from '../source.ts';
import type { FilePosition, LogPosition, Place } from './file-position.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, type Identity, isSame } from './open-log.ts';
import { begins, isCopy } from './relation.ts';

export type ReadingOrder = ReturnType<typeof createReadingOrder>;

/** The files of a log, oldest first: those that may still be written, the current one, and those that wait. */
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
    /** Inserts a file before `next`, or at the end. */
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
    /** Stops reading a file for good. Its content is not read again. */
    finish(file: LogFile): void {
      const { log, reader } = file;
      order.done.add({ identity: log.identity, head: reader.head, place: reader.place });
      order.remove(file);
    },
    /** Moves to the next file if the current one is at its end. Returns whether it moved. */
    goOn(now: Millis): boolean {
      // Check this first: a writer that has begun the next file no longer writes to this one.
      const hasNext = files.slice(current + 1).some(({ size }) => size > 0);
      const file = files[current];
      if (!hasNext || file === undefined || !isAtEnd(file)) return false;
      file.lastNeeded = now;
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

/** A file that was read. Its content must not be read again, whatever its name becomes. */
export interface FinishedFile {
  /** Undefined if the file itself has other content now, so that only copies of it can be found. */
  identity: Identity | undefined;
  head: Buffer;
  place: Place;
}

/** The most files that are remembered, with up to 1 KiB each. If a log has more rotated files, the oldest would look new. */
const maxFiles = 4096;

export function createFinishedFiles() {
  let files: { file: FinishedFile; missed: number }[] = [];
  return {
    add(file: FinishedFile): void {
      files = [...files.slice(1 - maxFiles), { file, missed: 0 }];
    },
    /** Finds the file itself by its inode, if it still begins with the same bytes. */
    find(identity: Identity, head: Buffer): FinishedFile | undefined {
      const isOne = ({ identity: its, head: known }: FinishedFile): boolean =>
        // Nothing was read of an empty file. If it has content, the content is new, or another file has its inode.
        its !== undefined && isSame(its, identity) && (known.length > 0 ? begins(head, known) : head.length === 0);
      return files.findLast(({ file }) => isOne(file))?.file;
    },
    hasCopyOf: (head: Buffer): boolean => files.some(({ file }) => isCopy(file.head, head)),
    /** Forgets files that two scans in a row have not found. `seen`: the first bytes of all files that exist. */
    keepOnly(seen: readonly Buffer[]): void {
      // A file that is being packed or renamed may be missing for a moment.
      for (const entry of files)
        entry.missed = seen.some((head) => isCopy(head, entry.file.head)) ? 0 : entry.missed + 1;
      files = files.filter(({ missed }) => missed < 2);
    },
  };
}
