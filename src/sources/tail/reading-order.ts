import type { Position } from '../source.ts';
import { addTo } from '../framing/scanner.ts';
import type { FilePosition, LogPosition } from './file-position.ts';
import type { LogFile } from './log-file.ts';
import { closeLog } from './open-log.ts';
import type { RotatedLog } from './followed-log.ts';

type Counts = RotatedLog['counts'];

/** The files of a log, in the order of their making: those that are read on, the one that is current, those that wait. */
export interface ReadingOrder {
  readonly all: readonly LogFile[];
  /** All up to the current one. */
  readonly readable: readonly LogFile[];
  readonly past: readonly LogFile[];
  /** The present files, and those that are gone. */
  readonly counts: Counts;
  /** Before `next`; undefined: after all others. */
  insert: (file: LogFile, next: LogFile | undefined) => void;
  replace: (file: LogFile, by: LogFile) => void;
  remove: (file: LogFile) => void;
  /** Goes to the next file if this one is at its end; else returns false. */
  goOn: () => boolean;
  /** The same as in `LogPosition`. */
  finished: FilePosition | undefined;
  readonly position: Position;
}

export function createReadingOrder(): ReadingOrder {
  const files: LogFile[] = [];
  const earlier = { lines: 0, bytes: 0, tooLong: 0 };
  let current = 0;

  const order: ReadingOrder = {
    all: files,
    finished: undefined,
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
    insert(file, next) {
      const index = next === undefined ? files.length : files.indexOf(next);
      files.splice(index, 0, file);
      if (index < current) current = index;
    },
    replace(file, by) {
      addTo(earlier, file.reader.counts);
      files[files.indexOf(file)] = by;
    },
    remove(file) {
      const index = files.indexOf(file);
      files.splice(index, 1);
      if (index < current) current--;
      addTo(earlier, file.reader.counts);
      file.close();
      closeLog(file.log);
    },
    goOn() {
      // The order matters: a writer that has begun the next file is done with this one.
      const hasNext = files.slice(current + 1).some(({ size }) => size > 0);
      const file = files[current];
      if (!hasNext || file === undefined || !isAtEnd(file)) return false;
      file.pass();
      current++;
      return true;
    },
    get position() {
      const { finished } = order;
      const position: Omit<LogPosition, 'finished'> = {
        files: files.map(positionIn),
        modified: files.at(-1)?.lastModified ?? 0,
      };
      return finished === undefined ? { ...position } : { ...position, finished };
    },
  };
  return order;
}

/** The size of a packed file is known once all of it was read. */
export function positionIn({ reader, lastSize }: LogFile): FilePosition {
  return { ...reader.position, size: Number.isFinite(lastSize) ? lastSize : null };
}

export function isAtEnd({ content, size, reader }: LogFile): boolean {
  return !content.isBusy && size === reader.offset;
}
