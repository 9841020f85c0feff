import type { Millis } from '../../../base/model/log-line.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Timer } from '../../../base/platform/timer.ts';
import { addTo, type LineSink } from '../framing/scanner.ts';
import type { Position } from '../source.ts';
import { createFinishedFiles, findCopy, type FinishedFiles, type LogEntry, closeAsRead, restOf } from './candidate.ts';
import { type FilePosition, type LogPosition, startOfFile } from './relation.ts';
import { createLogFile, type LogFile, type LogFileListener, type LogFileOptions } from './log-file.ts';
import { closeLog } from './open-log.ts';
import type { TailReport } from './report.ts';

export interface ReadingOrder {
  all: readonly LogFile[];
  readonly done: FinishedFiles;
  finished: FilePosition | undefined;
  readonly readable: LogFile[];
  readonly past: LogFile[];
  readonly counts: { lines: number; bytes: number; tooLong: number };
  insert(file: LogFile, next: LogFile | undefined): void;
  replace(file: LogFile, by: LogFile): void;
  remove(file: LogFile): void;
  /** Stops reading a file for good. Its content is not read again. */
  finish(file: LogFile): void;
  /** Moves to the next file if the current one is at its end. Returns whether it moved. */
  goOn(now: Millis): boolean;
  readonly position: Position;
}

/** The files of a log, oldest first: those that may still be written, the current one, and those that wait. */
export function createReadingOrder(): ReadingOrder {
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
    finish(file: LogFile): void {
      const { log, reader } = file;
      order.done.add({ identity: log.identity, head: reader.head, place: reader.place });
      order.remove(file);
    },
    goOn(now: Millis): boolean {
      // Check this first, because a writer that has begun the next file no longer writes to this one.
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

export interface OpenFilesOptions
  extends Pick<LogFileOptions, 'needles' | 'now' | 'openContent'>, Pick<LogFileListener, 'moved' | 'begun'> {
  path: string;
  lines: Omit<LineSink, 'tooLong'>;
  order: ReadingOrder;
  report: TailReport;
  turns: Timer;
}

/** Bytes that are written within this time are read together. */
const coalescing: Millis = 20;
/** The most open files. Each takes a descriptor, and perhaps disk space of a deleted file. */
export const maxFiles = 256;

type Replacement = Pick<LogEntry, 'log' | 'isPacked' | 'head' | 'place'>;

/** Adds a file to the reading order, before `next` or at the end. */
export type InsertFile = (entry: LogEntry, next: LogFile | undefined) => void;

/** Returns a function that adds the files of a log. Files that are cut off, overwritten or damaged are handled here. */
export function createFileInserter(options: OpenFilesOptions): InsertFile {
  const { path, order, report, turns, moved, begun } = options;
  const common = {
    ...options,
    lines: { ...options.lines, tooLong: (line: number) => report.tooLong(line, order.counts.tooLong) },
    files: { read, changed: () => turns.setEarliest(coalescing), overwritten: startOver, failed: fail, moved, begun },
  };
  return insert;

  function read({ size, reader }: LogFile): void {
    report.well();
    turns.set(size > reader.offset ? 0 : coalescing);
  }

  function insert(entry: LogEntry, next: LogFile | undefined): void {
    if (order.all.length >= maxFiles) return giveUp(entry, order, report);
    try {
      order.insert(createLogFile({ ...common, ...entry }), next);
    } catch (error) {
      closeLog(entry.log);
      report.failed(`: ${reasonOf(error)}`);
    }
  }

  function startOver(file: LogFile, lastSize: number): void {
    const { log, reader } = file;
    if (file.isPacked) {
      order.finish(file);
      turns.setEarliest(0);
      return report.cut(0);
    }
    // A copy may have the bytes that were not read.
    const copy = findCopy(path, reader.head, reader.offset, order.all);
    if (copy === undefined) reader.end();
    if (report.isStopped) return;
    const rest = copy === undefined ? restOf(file) : undefined;
    if (rest !== undefined) {
      replace(file, { log, isPacked: false, ...rest });
      return report.cut(lastSize - reader.offset);
    }
    order.done.add({ identity: undefined, head: reader.head, place: reader.place });
    replace(file, { log, isPacked: false, head: Buffer.alloc(0), place: startOfFile });
    const again = order.all.find((each) => each.log === log);
    if (copy !== undefined) insert({ ...copy, place: reader.place }, again);
    reportTruncation(report, lastSize - (copy?.size ?? reader.offset), copy !== undefined);
    // The check reads the new first bytes, so that the file is no longer taken for the copy.
    again?.verify();
  }

  function fail(file: LogFile, error: unknown): void {
    if (file.isPacked) {
      order.finish(file);
      turns.setEarliest(0);
      return report.lost(undefined, `was packed, and what was packed is damaged: ${reasonOf(error)}`);
    }
    report.failed(` past byte ${file.reader.offset}: ${reasonOf(error)}. It is tried again every second`);
  }

  function replace(file: LogFile, by: Replacement): void {
    try {
      order.replace(file, createLogFile({ ...common, ...by }));
    } catch (error) {
      order.finish(file);
      report.failed(`: ${reasonOf(error)}`);
    }
    turns.setEarliest(0);
  }
}

/** Reports the file as lost, so it must not be read later either. */
function giveUp(entry: LogEntry, order: ReadingOrder, report: TailReport): void {
  order.done.add(closeAsRead(entry));
  const size = Number.isFinite(entry.size) ? entry.size : undefined;
  report.lost(size, 'was replaced more often than it could be read');
}

function reportTruncation(report: TailReport, unread: number, hasCopy: boolean): void {
  if (unread > 0) {
    const what = hasCopy ? 'had neither been read nor copied' : 'had not been read';
    report.lost(unread, `was truncated: ${unread} bytes or more ${what}`);
  } else if (!hasCopy) {
    report.lost(undefined, 'was truncated: what was written just before may not have been read');
  }
}
