import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import type { Timer } from '../../platform/timer.ts';
import { type Entry, passOver, restOf } from './candidate.ts';
import { findCopy } from './discover-rotated.ts';
import { startOfFile } from './file-position.ts';
import type { DoneFiles } from './finished-files.ts';
import type { RotatedLogOptions } from './followed-log.ts';
import { createLogFile, type LogFile, type LogFileListener, type LogFileOptions } from './log-file.ts';
import { closeLog } from './open-log.ts';
import type { ReadingOrder } from './reading-order.ts';
import type { Report } from './report.ts';

export interface OpenFilesOptions
  extends Pick<LogFileOptions, 'needles' | 'now' | 'openContent'>, Pick<LogFileListener, 'moved' | 'begun'> {
  path: string;
  lines: RotatedLogOptions['lines'];
  order: ReadingOrder;
  report: Report;
  done: DoneFiles;
  turns: Timer;
}

export interface OpenFiles {
  /** Begins to read a file before `next`, or after all others. */
  insert: (entry: Entry, next: LogFile | undefined) => void;
  retry: () => void;
}

/** Bytes that are written within this time are read together. */
const coalescing: Millis = 20;
/** Each is a descriptor, and perhaps space on disk that is not given back. */
export const maxFiles = 256;

export function createOpenFiles(options: OpenFilesOptions): OpenFiles {
  const { path, order, report, done, turns, moved, begun } = options;
  const files = order.all;
  /** Could be read no further at the last attempt. */
  const failed = new Set<LogFile>();
  const common = {
    ...options,
    lines: { ...options.lines, tooLong: (line: number) => report.tooLong(line, order.counts.tooLong) },
    files: { read, changed: () => turns.setEarliest(coalescing), overwritten: startOver, failed: fail, moved, begun },
  };

  return {
    insert,
    retry() {
      const again = [...failed].filter((file) => files.includes(file));
      failed.clear();
      for (const file of again) replace(file, asItWas(file));
    },
  };

  function read({ size, reader }: LogFile): void {
    report.well();
    // Small pieces are read together.
    turns.set(size > reader.offset ? 0 : coalescing);
  }

  function insert(entry: Entry, next: LogFile | undefined): void {
    if (files.length >= maxFiles) return giveUp(entry, done, report);
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
      drop(file, options);
      return report.cut(0);
    }
    // Bytes that were not read may be in a copy.
    const copy = findCopy(path, reader.head, reader.offset, files);
    if (copy === undefined) reader.end();
    if (report.isStopped) return;
    const rest = copy === undefined ? restOf(file) : undefined;
    if (rest !== undefined) {
      replace(file, { log, isPacked: false, ...rest });
      return report.cut(lastSize - reader.offset);
    }
    done.add({ identity: undefined, head: reader.head, place: reader.place });
    replace(file, { log, isPacked: false, head: Buffer.alloc(0), place: startOfFile });
    const again = files.find((each) => each.log === log);
    if (copy !== undefined) insert({ ...copy, place: reader.place }, again);
    reportTruncation(report, lastSize - (copy?.size ?? reader.offset), copy !== undefined);
    // Its content can be distinguished from that of the copy now.
    again?.verify();
  }

  function fail(file: LogFile, error: unknown): void {
    if (file.isPacked) {
      // A file is packed once, so it will not get better.
      drop(file, options);
      return report.lost(undefined, `was packed, and what was packed is damaged: ${reasonOf(error)}`);
    }
    failed.add(file);
    report.failed(`past byte ${file.reader.offset}: ${reasonOf(error)}. It is tried again every second`);
  }

  function replace(file: LogFile, by: Pick<Entry, 'log' | 'isPacked' | 'head' | 'place'>): void {
    try {
      order.replace(file, createLogFile({ ...common, ...by }));
      turns.setEarliest(0);
    } catch (error) {
      fail(file, error);
    }
  }
}

/** Ends the reading of a packed file: it does not change, so it is not read again either. */
function drop(file: LogFile, { order, done, turns }: OpenFilesOptions): void {
  const { log, reader } = file;
  done.add({ identity: log.identity, head: reader.head, place: reader.place });
  order.remove(file);
  turns.setEarliest(0);
}

/** It is reported as lost, so it must not be read later either. */
function giveUp(entry: Entry, done: DoneFiles, report: Report): void {
  done.add(passOver(entry));
  const size = Number.isFinite(entry.size) ? entry.size : undefined;
  report.lost(size, 'was replaced more often than it could be read');
}

function asItWas({ log, isPacked, reader }: LogFile): Pick<Entry, 'log' | 'isPacked' | 'head' | 'place'> {
  return { log, isPacked, head: reader.head, place: reader.place };
}

function reportTruncation(report: Report, unread: number, hasCopy: boolean): void {
  if (unread > 0) {
    const what = hasCopy ? 'had neither been read nor copied' : 'had not been read';
    report.lost(unread, `was truncated: ${unread} bytes or more ${what}`);
  } else if (!hasCopy) {
    report.lost(undefined, 'was truncated: what was written just before may not have been read');
  }
}
