import type { RotatedLog, RotatedLogOptions } from './followed-log.ts';
import type { Millis } from '../../model/log-line.ts';
import { systemTiming } from '../source.ts';
import { beginLog } from './begin-log.ts';
import type { FilePosition } from './file-position.ts';
import { createFilesRead, maxFiles } from './files-read.ts';
import { createFinishedFiles } from './finished-files.ts';
import type { LogFile } from './log-file.ts';
import { isDeleted, isSame, lookAt } from './open-log.ts';
import { openPinnedTail } from './pinned-tail.ts';
import { createReadingOrder, isAtEnd } from './reading-order.ts';
import { createReport } from './report.ts';
import { type Found, discoverRotated } from './discover-rotated.ts';
import { stampOf } from './siblings.ts';
import { createTimer, type Timer } from '../../platform/timer.ts';

/** Between looks at what stands at the path and beside it, and between attempts to read what could not be read. */
const lookInterval: Millis = 1000;
/** Between looks while a file is being replaced; a writer may take so many of them for it. */
const soon: Millis = 10;
const maxSoon = 100;
/** Between looks at a file whose changes nobody tells of. */
const pollInterval: Millis = 100;
/** Between attempts to open what could not be opened. */
const patience: Millis = 10_000;
/** How long a file is still read after the next one was begun; a deleted one takes space on disk that long. */
const linger: Millis = 60_000;
const lingerShort: Millis = 5000;
/** With more than that, those that were read to their end are let go earlier. */
const manyFiles = 32;

/**
 * Files are held open from when they are seen, and read to their end in the order of their making, whatever becomes of their
 * names. The next one is begun when it has content and the one before it is at its end; that one is read on for a while,
 * because writers do not change over all at once. What a file held when it was cut off is sought in a copy of it.
 *
 * Lost is only what comes and goes unseen between two looks (a second, or at once where the kernel tells of renaming), and
 * what is written and cut off before it was read; where that can be noticed it is told.
 */
export function createRotatedLog(options: RotatedLogOptions): RotatedLog {
  const { path, saved, timing = systemTiming, openContent = openPinnedTail } = options;
  const { now, wall, schedule } = timing;
  const order = createReadingOrder();
  const files = order.all;
  const report = createReport(options);
  const done = createFinishedFiles();
  const passed = new Map<string, Buffer>();

  let { from } = options;
  let live: Found['live'] | undefined;
  let stamp: string | undefined;
  /** Looks in a row at which nothing could be opened at the path. */
  let obstructed = 0;
  let looksInARow = 0;
  let lastDeleted: LogFile | undefined;
  /** Places of an earlier run in files that were not found. */
  let sought: FilePosition[] = [];
  let looksForSought = 0;
  let lastPosition = saved;
  const [beginnings, turns, looks, looksSoon] = [begin, turn, look, lookSoon].map((task) =>
    createTimer(schedule, now, task),
  ) as [Timer, Timer, Timer, Timer];

  const { insert, retry } = createFilesRead({
    ...options,
    now,
    openContent,
    order,
    report,
    done,
    turns,
    onMoved: lookAtOnce,
  });

  return {
    get state() {
      return report.state;
    },
    get position() {
      return files.length > 0 ? order.position : lastPosition;
    },
    get counts() {
      return order.counts;
    },
    get atEnd() {
      return files.length > 0 && files.every(isAtEnd);
    },
    start: begin,
    stop() {
      if (files.length > 0) lastPosition = order.position;
      report.state = 'stopped';
      for (const timer of [beginnings, turns, looks, looksSoon]) timer.cancel();
      for (const file of files.slice()) order.remove(file);
    },
  };

  function begin(): void {
    const beginning = beginLog(path, lastPosition, from);
    if ('kind' in beginning) {
      // What comes into being from here on is news from its first line.
      if (beginning.kind !== 'unreadable') from = 'start';
      beginnings.set(beginning.kind === 'missing' ? lookInterval : patience);
      return report.waiting(beginning);
    }
    for (const file of beginning.done) done.add(file);
    sought = beginning.sought;
    for (const entry of beginning.entries) insert(entry, undefined);
    if (beginning.isReplaced) report.replaced();
    stamp = stampOf(path, wall());
    turns.set(0);
    looks.set(lookInterval);
    report.well();
  }

  /** Reads a block of each file that has more. */
  function turn(): void {
    for (const file of order.readable) file.pump();
    if (report.isStopped) return;
    const newest = files.at(-1);
    // The kernel tells of it as of any other change, as long as the file is held open.
    if (newest !== undefined && newest !== lastDeleted && isDeleted(newest.log)) {
      lastDeleted = newest;
      lookAtOnce();
    }
    if (order.goOn()) turns.set(0);
    else if (order.readable.some(({ isWatched }) => !isWatched)) turns.setEarliest(pollInterval);
  }

  function look(): void {
    looks.set(lookInterval);
    seek();
    giveUpSeeking();
    // Between renaming a log and beginning the next one there is none, for a moment.
    if (live === undefined || !('kind' in live)) obstructed = 0;
    else if (++obstructed === 2) report.obstructed(live);
    retry();
    release();
    if (!report.isStopped) turn();
  }

  function seek(): void {
    const before = stamp;
    stamp = stampOf(path, wall());
    const isAsBefore = stamp !== undefined && stamp === before && live !== undefined && !('kind' in live);
    const there = isAsBefore ? lookAt(path) : undefined;
    if (there !== undefined && !('kind' in there) && files.some(({ log }) => isSame(log.identity, there))) {
      live = there;
      return;
    }
    // What was cut off goes on in a copy, which must come before other files that are found.
    for (const file of files.slice()) file.verify();
    for (let again = true; again && !report.isStopped;) {
      const found = discoverRotated({ path, files, done, passed, sought, now: wall() });
      if (found.isUndecided) stamp = undefined;
      live = found.live;
      const known = files.length;
      const hasRoom = known + found.entries.length <= maxFiles;
      for (const { entry, before: next } of found.entries) insert(entry, next);
      // One that could not be opened is tried again at the next look.
      again = hasRoom && files.length > known;
    }
  }

  /** Files that an earlier run had begun to read are not there any more. */
  function giveUpSeeking(): void {
    if (sought.length === 0 || ++looksForSought < 2) return;
    const unread = sought.map(({ size, offset }) => (size === null ? undefined : Math.max(0, size - offset)));
    sought = [];
    const known = unread.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
    if (known > 0)
      report.lost(known, `was rotated away while nobody read it: ${known} bytes or more had not been read`);
    else if (unread.includes(undefined)) report.lost(undefined, 'was rotated away while nobody read it');
  }

  /** A file was renamed or deleted: another one takes its place about now. */
  function lookAtOnce(): void {
    looksInARow = 0;
    looksSoon.setEarliest(0);
  }

  function lookSoon(): void {
    const known = files.length;
    seek();
    if (report.isStopped) return;
    turns.setEarliest(0);
    if (files.length === known && ++looksInARow < maxSoon) looksSoon.set(soon);
  }

  /** Lets files go that were read to their end, after a while. */
  function release(): void {
    for (const file of order.past) {
      if (!isAtEnd(file) || (live !== undefined && !('kind' in live) && isSame(file.log.identity, live))) continue;
      const isShort = files.length > manyFiles || isDeleted(file.log);
      // Nobody writes to a file any more that was packed.
      if (!file.isPacked && now() - file.lastNews < (isShort ? lingerShort : linger)) continue;
      const { log, reader } = file;
      reader.end();
      if (report.isStopped) return;
      done.add({ identity: log.identity, head: reader.head, place: reader.position });
      order.remove(file);
    }
  }
}
