import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import type { Timer } from '../../platform/timer.ts';
import type { LineSink } from '../framing/scanner.ts';
import { type Entry, findCopy, passOver, restOf } from './candidate.ts';
import { startOfFile } from './file-position.ts';
import { createLogFile, type LogFile, type LogFileListener, type LogFileOptions } from './log-file.ts';
import { closeLog } from './open-log.ts';
import type { ReadingOrder } from './reading-order.ts';
import type { Report } from './report.ts';

export interface OpenFilesOptions
  extends Pick<LogFileOptions, 'needles' | 'now' | 'openContent'>, Pick<LogFileListener, 'moved' | 'begun'> {
  path: string;
  lines: Omit<LineSink, 'tooLong'>;
  order: ReadingOrder;
  report: Report;
  turns: Timer;
}

/** Bytes that are written within this time are read together. */
const coalescing: Millis = 20;
/** The most open files. Each takes a descriptor, and perhaps disk space of a deleted file. */
export const maxFiles = 256;

type Replacement = Pick<Entry, 'log' | 'isPacked' | 'head' | 'place'>;

export type OpenFiles = ReturnType<typeof createOpenFiles>;

/** Reads the files of a log, and handles those that are cut off, overwritten or damaged. */
export function createOpenFiles(options: OpenFilesOptions) {
  const { path, order, report, turns, moved, begun } = options;
  /** Files whose last read failed. Packed files are not tried again. */
  const failed = new Set<LogFile>();
  const common = {
    ...options,
    lines: { ...options.lines, tooLong: (line: number) => report.tooLong(line, order.counts.tooLong) },
    files: { read, changed: () => turns.setEarliest(coalescing), overwritten: startOver, failed: fail, moved, begun },
  };

  return {
    insert,
    retry(): void {
      const again = [...failed].filter((file) => order.all.includes(file));
      failed.clear();
      for (const file of again) replace(file, asItWas(file));
    },
  };

  function read({ size, reader }: LogFile): void {
    report.well();
    // Wait a little, so that small pieces are read together.
    turns.set(size > reader.offset ? 0 : coalescing);
  }

  /** Begins to read a file before `next`, or at the end of the order. */
  function insert(entry: Entry, next: LogFile | undefined): void {
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
    // From now on, its content differs from that of the copy.
    again?.verify();
  }

  function fail(file: LogFile, error: unknown): void {
    if (file.isPacked) {
      order.finish(file);
      turns.setEarliest(0);
      return report.lost(undefined, `was packed, and what was packed is damaged: ${reasonOf(error)}`);
    }
    failed.add(file);
    report.failed(`past byte ${file.reader.offset}: ${reasonOf(error)}. It is tried again every second`);
  }

  function replace(file: LogFile, by: Replacement): void {
    try {
      order.replace(file, createLogFile({ ...common, ...by }));
      turns.setEarliest(0);
    } catch (error) {
      fail(file, error);
    }
  }
}

function asItWas({ log, isPacked, reader }: LogFile): Replacement {
  return { log, isPacked, head: reader.head, place: reader.place };
}

/** Reports the file as lost, so it must not be read later either. */
function giveUp(entry: Entry, order: ReadingOrder, report: Report): void {
  order.done.add(passOver(entry));
  const size = Number.isFinite(entry.size) ? entry.size : undefined;
  report.lost(size, 'was replaced more often than it could be read');
}

function reportTruncation(report: Report, unread: number, hasCopy: boolean): void {
  if (unread > 0) {
    const what = hasCopy ? 'had neither been read nor copied' : 'had not been read';
    report.lost(unread, `was truncated: ${unread} bytes or more ${what}`);
  } else if (!hasCopy) {
    report.lost(undefined, 'was truncated: what was written just before may not have been read');
  }
}
