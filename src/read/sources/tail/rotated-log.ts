import type { Millis } from '../../../base/model/log-line.ts';
import { createTimer } from '../../../base/platform/timer.ts';
import type { LineSink } from '../framing/scanner.ts';
import { type Position, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';
import { beginLog } from './begin-log.ts';
import { type OpenContent, openPinnedTail } from './content.ts';
import { createFileSearch, type FileSearch } from './file-search.ts';
import type { LogFile } from './log-file.ts';
import { createFileInserter, createReadingOrder, isAtEnd, type ReadingOrder } from './open-files.ts';
import { isDeleted, isSame } from './open-log.ts';
import { createLinkWatch } from './link-watch.ts';
import { createReport, type TailReport } from './report.ts';

export interface RotatedLogOptions {
  path: string;
  /** As in `createScanner`. Undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  saved: Position | undefined;
  /** Where reading begins without a saved position. A file that appears later is read from its start. */
  from: 'start' | 'end';
  /** Lines are numbered in their file, from where reading began. */
  lines: Omit<LineSink, 'tooLong'>;
  listener: Pick<SourceListener, 'lost' | 'notice'>;
  timing?: Timing;
  openContent?: OpenContent;
}

/** Follows a path through all files that get its name one after the other. */
export interface RotatedLog extends Source {
  readonly atEnd: boolean;
}

/** How often the path and its folder are checked, and files that failed are tried again. */
const lookInterval: Millis = 1000;
/** How often files are read that the kernel does not watch. */
const pollInterval: Millis = 100;
/** How often a path that cannot be read at the start is tried again. */
const retryInterval: Millis = 10_000;
/** How long a file is still read after the next one was begun, and after each write to it. */
const linger: Millis = 60_000;
/** The same for a deleted file, which takes disk space for as long, and while there are more than `manyFiles` or too few descriptors. */
const lingerShort: Millis = 5000;
const manyFiles = 32;

/**
 * Files are kept open from the moment they are found, and are read to their ends, the oldest first. The next file is begun when it has
 * content and the one before it is at its end. The older one is read for a while longer, because not all writers switch at once. If a file
 * was cut off, the missing content is searched in a copy of it. Content is lost only if a file comes and goes between two scans (a second
 * apart, or at once if the kernel reports a renaming), or if it is written and cut off before it was read. Such a loss is reported if it
 * can be noticed.
 */
export function createRotatedLog(options: RotatedLogOptions): RotatedLog {
  const { path, timing = systemTiming, openContent = openPinnedTail } = options;
  const { now, wall, schedule } = timing;
  const order = createReadingOrder();
  const report = createReport(path, options.listener, wall);
  let { from, saved: lastPosition } = options;
  const beginnings = createTimer(schedule, now, begin);
  const turns = createTimer(schedule, now, turn);
  const looks = createTimer(schedule, now, look);
  const replacement = createReplacementLooks(path, order, timing, () => {
    search.discover();
    if (!report.isStopped) turns.setEarliest(0);
  });
  const insert = createFileInserter({
    ...options,
    openContent,
    order,
    report,
    now,
    turns,
    lines: untilStopped(options.lines, report),
    moved: replacement.begin,
    begun: () => looks.setEarliest(0),
  });
  const search = createFileSearch({ path, order, report, wall, insert });

  return {
    name: path,
    get state() {
      return report.state;
    },
    get position() {
      return (lastPosition = order.all.length > 0 ? order.position : lastPosition);
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
      // From now on, a file that appears is new from its first line.
      if (beginning.kind !== 'unreadable') from = 'start';
      beginnings.set(beginning.kind === 'missing' ? lookInterval : retryInterval);
      return report.waiting(beginning);
    }
    search.begin(beginning);
    turns.set(0);
    looks.set(lookInterval);
    if (order.all.length > 0) report.well();
  }

  function turn(): void {
    for (const file of order.readable) file.pump();
    if (report.isStopped) return;
    replacement.checkFiles();
    if (order.goOn(now())) turns.set(0);
    else if (order.readable.some(({ content }) => !content.isWatched)) turns.setEarliest(pollInterval);
  }

  function look(): void {
    looks.set(lookInterval);
    search.discover();
    search.reportMissing();
    for (const file of order.all) file.retry();
    release(order, search, now());
    if (!report.isStopped) turn();
  }
}

function untilStopped(lines: RotatedLogOptions['lines'], report: TailReport): RotatedLogOptions['lines'] {
  return {
    take(text, number, cut) {
      if (!report.isStopped) lines.take(text, number, cut);
    },
    takeBytes: (...line) => !report.isStopped && lines.takeBytes?.(...line) === true,
    turnEnded: lines.turnEnded,
  };
}

function release(order: ReadingOrder, { live, isShort: isScarce }: FileSearch, now: Millis): void {
  for (const file of order.past) {
    const isLive = live !== undefined && !('kind' in live) && isSame(file.log.identity, live);
    if (isLive || !isAtEnd(file)) continue;
    const isShort = isScarce || order.all.length > manyFiles || isDeleted(file.log);
    // Nobody appends to a packed file.
    if (!file.isPacked && now - file.lastNeeded < (isShort ? lingerShort : linger)) continue;
    file.reader.end();
    // The caller may have stopped the log during its last line.
    if (!order.all.includes(file)) return;
    order.finished = file.position;
    order.finish(file);
  }
}

const replacementInterval: Millis = 10;
/** The most scans for a replacement: for a second, because a writer may need that long. */
const maxReplacementLooks = 100;

/** Scans often for a while after a file was renamed or deleted, because another one replaces it about then, and when a link is turned. */
function createReplacementLooks(path: string, order: ReadingOrder, { now, schedule }: Timing, look: () => void) {
  const timer = createTimer(schedule, now, next);
  const links = createLinkWatch(path, look);
  let nextLinks: Millis = -Infinity;
  let looks = 0;
  let lastDeleted: LogFile | undefined;
  let isCancelled = false;

  return {
    begin,
    /** Begins if the newest file was deleted. The kernel reports the deletion of an open file like any other change. */
    checkFiles(): void {
      if (now() >= nextLinks) {
        links.update();
        nextLinks = now() + lookInterval;
      }
      const newest = order.all.at(-1);
      if (newest === undefined || newest === lastDeleted || !isDeleted(newest.log)) return;
      lastDeleted = newest;
      begin();
    },
    cancel(): void {
      isCancelled = true;
      links.cancel();
      timer.cancel();
    },
  };

  function begin(): void {
    looks = 0;
    timer.setEarliest(0);
  }

  function next(): void {
    const known = order.all.length;
    look();
    if (!isCancelled && order.all.length === known && ++looks < maxReplacementLooks) timer.set(replacementInterval);
  }
}
