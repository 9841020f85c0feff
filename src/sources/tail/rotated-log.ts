import type { Millis } from '../../model/log-line.ts';
import { createTimer } from '../../platform/timer.ts';
import { systemTiming } from '../source.ts';
import { beginLog } from './begin-log.ts';
import { createFileSearch, type FileSearch } from './file-search.ts';
import { createFinishedFiles, type DoneFiles } from './finished-files.ts';
import type { RotatedLog, RotatedLogOptions } from './followed-log.ts';
import { createOpenFiles } from './open-files.ts';
import { isDeleted, isSame } from './open-log.ts';
import { openPinnedTail } from './pinned-tail.ts';
import { createReadingOrder, isAtEnd, positionIn, type ReadingOrder } from './reading-order.ts';
import { createReplacementLooks } from './replacement-looks.ts';
import { createReport, type Report } from './report.ts';

/** Between looks at what stands at the path and beside it, and between attempts to read what could not be read. */
const lookInterval: Millis = 1000;
const pollInterval: Millis = 100;
const retryInterval: Millis = 10_000;
/** How long a file is still read after the next one was begun, and after each write to it; a deleted one takes space on disk that long. */
const linger: Millis = 60_000;
const lingerShort: Millis = 5000;
/** Files that were read to their end are closed earlier if there are more than this. */
const manyFiles = 32;

/**
 * Files are held open from when they are found, and read to their end in the order of their making. The next one is begun when it
 * has content and the one before is at its end; that one is read on for a while: writers do not change over all at once.
 * The content of a file that was cut off is looked for in a copy of it.
 * Lost is only what comes and goes unseen between two looks (a second, or at once where the kernel reports a renaming), and
 * what is written and cut off before it was read; where that can be noticed it is reported.
 */
export function createRotatedLog(options: RotatedLogOptions): RotatedLog {
  const { path, timing = systemTiming, openContent = openPinnedTail } = options;
  const { now, wall, schedule } = timing;
  const order = createReadingOrder();
  const report = createReport(options, wall);
  const done = createFinishedFiles();
  let { from, saved: lastPosition } = options;
  const beginnings = createTimer(schedule, now, begin);
  const turns = createTimer(schedule, now, turn);
  const looks = createTimer(schedule, now, look);
  const replacement = createReplacementLooks(order, timing, () => {
    search.discover();
    if (!report.isStopped) turns.setEarliest(0);
  });
  const parts = { path, order, report, done, now, wall, turns, openContent };
  const files = createOpenFiles({
    ...options,
    ...parts,
    lines: untilStopped(options.lines, report),
    moved: replacement.begin,
    // While nothing of it was known, the log may have been written, copied and cut off: nothing but the copy shows that.
    begun: () => looks.setEarliest(0),
  });
  const search = createFileSearch({ ...parts, insert: files.insert });

  return {
    name: path,
    get state() {
      return report.state;
    },
    get position() {
      return order.all.length > 0 ? order.position : lastPosition;
    },
    get counts() {
      return order.counts;
    },
    get atEnd() {
      return order.all.length > 0 && order.all.every(isAtEnd);
    },
    start: begin,
    stop() {
      if (order.all.length > 0) lastPosition = order.position;
      report.state = 'stopped';
      for (const timer of [beginnings, turns, looks, replacement]) timer.cancel();
      for (const file of order.all.slice()) order.remove(file);
    },
  };

  function begin(): void {
    const beginning = beginLog(path, lastPosition, from, wall());
    if ('kind' in beginning) {
      // A file that appears from here on is new from its first line.
      if (beginning.kind !== 'unreadable') from = 'start';
      beginnings.set(beginning.kind === 'missing' ? lookInterval : retryInterval);
      return report.waiting(beginning);
    }
    search.begin(beginning);
    turns.set(0);
    looks.set(lookInterval);
    report.well();
  }

  function turn(): void {
    for (const file of order.readable) file.pump();
    if (report.isStopped) return;
    replacement.beginIfDeleted();
    if (order.goOn()) turns.set(0);
    else if (order.readable.some(({ content }) => !content.isWatched)) turns.setEarliest(pollInterval);
  }

  function look(): void {
    looks.set(lookInterval);
    search.discover();
    search.reportMissing();
    files.retry();
    release(order, search.live, done, now());
    if (!report.isStopped) turn();
  }
}

function untilStopped(lines: RotatedLogOptions['lines'], report: Report): RotatedLogOptions['lines'] {
  return {
    take(text, number, cut) {
      if (!report.isStopped) lines.take(text, number, cut);
    },
    takeBytes: (...line) => !report.isStopped && lines.takeBytes?.(...line) === true,
    turnEnded: lines.turnEnded,
  };
}

/** Closes files that were read to their end, after a while. */
function release(order: ReadingOrder, live: FileSearch['live'], done: DoneFiles, now: Millis): void {
  for (const file of order.past) {
    const { log, reader } = file;
    const isLive = live !== undefined && !('kind' in live) && isSame(log.identity, live);
    if (isLive || !isAtEnd(file)) continue;
    const isShort = order.all.length > manyFiles || isDeleted(log);
    // No writer appends to a file that was packed.
    if (!file.isPacked && now - file.lastNeeded < (isShort ? lingerShort : linger)) continue;
    reader.end();
    // The caller may have stopped the log with its last line.
    if (!order.all.includes(file)) return;
    done.add({ identity: log.identity, head: reader.head, place: reader.place });
    order.finished = positionIn(file);
    order.remove(file);
  }
}
