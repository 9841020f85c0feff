import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { type Entry, passOver } from './candidate.ts';
import type { OpenContent } from './content.ts';
import { startOfFile } from './file-position.ts';
import type { createFinishedFiles } from './finished-files.ts';
import { createLogFile, type LogFile } from './log-file.ts';
import { closeLog } from './open-log.ts';
import type { ReadingOrder } from './reading-order.ts';
import type { Report } from './report.ts';
import type { RotatedLogOptions } from './followed-log.ts';
import { findCopy } from './discover-rotated.ts';
import type { Timer } from '../../platform/timer.ts';

export interface FilesReadOptions extends Pick<RotatedLogOptions, 'path' | 'needles' | 'onLine'> {
  now: () => Millis;
  openContent: OpenContent;
  order: ReadingOrder;
  report: Report;
  done: ReturnType<typeof createFinishedFiles>;
  /** When what there is to read is read. */
  turns: Timer;
  /** A file was renamed or deleted. */
  onMoved: () => void;
}

/** The files of one log that are read: what comes in, what was cut off, what could not be read. */
export interface FilesRead {
  /** Begins to read a file before `next`, or after all others. */
  insert: (entry: Entry, next: LogFile | undefined) => void;
  /** Tries those again that could not be read. */
  retry: () => void;
}

/** What is written within that time is read together. */
const coalescing: Millis = 20;
/** Each is a descriptor, and perhaps space on disk that is not given back. */
export const maxFiles = 256;

type Start = Pick<Entry, 'log' | 'isPacked' | 'head' | 'place'>;

export function createFilesRead(options: FilesReadOptions): FilesRead {
  const { path, needles, onLine, now, openContent, order, report, done, turns, onMoved } = options;
  const files = order.all;
  /** Could be read no further at the last attempt. */
  const failed = new Set<LogFile>();

  return { insert, retry };

  function insert(entry: Entry, next: LogFile | undefined): void {
    if (files.length >= maxFiles) {
      // Not later either, now that it is told.
      done.add(passOver(entry));
      const bytes = Number.isFinite(entry.size) ? entry.size : undefined;
      return report.lost(bytes, 'was replaced more often than it could be read');
    }
    try {
      order.insert(open(entry), next);
    } catch (error) {
      closeLog(entry.log);
      report.failed(`: ${reasonOf(error)}`);
    }
  }

  /** Throws the system's error. */
  function open({ log, isPacked, head, place }: Start): LogFile {
    return createLogFile({
      log,
      isPacked,
      head,
      place,
      needles,
      openContent,
      now,
      onLine(text, number, cut) {
        if (!report.isStopped) onLine(text, number, cut);
      },
      onTooLong: (line) => report.tooLong(line, order.counts.tooLong),
      onRead() {
        report.well();
        turns.set(0);
      },
      onChange: () => turns.setEarliest(coalescing),
      onMoved,
      onOverwritten: startOver,
      onError: fail,
    });
  }

  /** A file was cut off, or written anew. */
  function startOver(file: LogFile, lastSize: number): void {
    const { log, reader } = file;
    // What had not been read may be in a copy.
    const copy = findCopy(path, reader.head, reader.offset, files);
    if (copy === undefined) reader.end();
    if (report.isStopped) return;
    done.add({ identity: undefined, head: reader.head, place: reader.position });
    replace(file, { log, isPacked: false, head: Buffer.alloc(0), place: startOfFile });
    const unread = Math.max(0, lastSize - (copy?.size ?? reader.offset));
    if (copy !== undefined) {
      const { offset, skipping } = reader.position;
      insert(
        { ...copy, place: { offset, skipping } },
        files.find((each) => each.log === log),
      );
      if (unread > 0) report.lost(unread, `was truncated: ${unread} bytes or more had neither been read nor copied`);
    } else if (unread > 0) report.lost(unread, `was truncated: ${unread} bytes or more had not been read`);
    else report.lost(undefined, 'was truncated: what was written just before may not have been read');
    // From here on its content is told from a copy of it.
    files.find((each) => each.log === log)?.verify();
  }

  function fail(file: LogFile, error: unknown): void {
    if (file.isPacked) {
      // Whoever packs a file does so once: it will not get better.
      order.remove(file);
      report.lost(undefined, `was packed, and what was packed is damaged: ${reasonOf(error)}`);
      return turns.setEarliest(0);
    }
    failed.add(file);
    report.failed(`past byte ${file.reader.offset}: ${reasonOf(error)}. It is tried again every second`);
  }

  function retry(): void {
    const again = [...failed].filter((file) => files.includes(file));
    failed.clear();
    for (const file of again) {
      const { offset, skipping } = file.reader.position;
      replace(file, { ...file, head: file.reader.head, place: { offset, skipping } });
    }
  }

  function replace(file: LogFile, by: Start): void {
    try {
      order.replace(file, open(by));
      turns.setEarliest(0);
    } catch (error) {
      fail(file, error);
    }
  }
}
