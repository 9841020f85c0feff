import type { Millis } from '../../model.ts';
import { reasonOf } from '../../system-error.ts';
import { type Schedule, schedule as inTime } from '../schedule.ts';
import type { Notice, Position } from '../source.ts';
import { beginLog } from './begin-log.ts';
import { type Entry, passOver } from './candidate.ts';
import type { OpenContent } from './content.ts';
import { type FilePosition, startOfFile } from './file-position.ts';
import { createDoneFiles } from './heads.ts';
import { createLogFile, type LogFile } from './log-file.ts';
import { closeLog, isDeleted, isSame, lookAt } from './open-log.ts';
import { openPinnedTail } from './pinned-tail.ts';
import { createReadingOrder, isAtEnd } from './reading-order.ts';
import { createReport } from './report.ts';
import { findCopy, type Found, seekFiles } from './seek.ts';
import { stampOf } from './siblings.ts';
import { createTimer, type Timer } from './timer.ts';

/** Where a line begins. */
export interface LinePlace {
  /** Number of the file, in the order in which this log began to read its files. */
  file: number;
  /** In bytes. */
  offset: number;
}

export interface RotatedLogOptions {
  path: string;
  /** As in `createScanner`; undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  /** `position` of an earlier log of this path. */
  saved: Position | undefined;
  /** Where to begin when there is no such position. A file that comes into being later is read from its start. */
  from: 'start' | 'end';
  /**
   * `text` is latin1, one character a byte, without its newline. `cut`: its end was never written. `number`: of the line in its
   * file, counted from where reading began.
   */
  onLine: (text: string, place: LinePlace, cut: boolean, number: number) => void;
  /** Bytes that were lost before they could be read; undefined when only the fact is known. `reason` begins with the path. */
  onLost: (bytes: number | undefined, reason: string) => void;
  onNotice: (notice: Notice) => void;
  /**
   * Lines that were handed over but are not taken yet, because they wait for others: `position` stays before them, and after
   * a restart they are handed over again, with all that came after them in their file.
   */
  undelivered?: () => Iterable<LinePlace>;
  now?: () => Millis;
  schedule?: Schedule;
  openContent?: OpenContent;
}

/** Follows one path through all the files that stand there one after the other. */
export interface RotatedLog {
  readonly state: 'waiting' | 'reading' | 'failed' | 'stopped';
  readonly position: Position | undefined;
  readonly counts: Readonly<{ lines: number; bytes: number; tooLong: number }>;
  /** Everything that is there has been read. */
  readonly atEnd: boolean;
  start: () => void;
  stop: () => void;
}

/** Between looks at what stands at the path and beside it, and between attempts to read what could not be read. */
const lookInterval: Millis = 1000;
/** Between looks while a file is being replaced; a writer may take so many of them for it. */
const soon: Millis = 10;
const maxSoon = 100;
/** Between looks at a file whose changes nobody tells of. */
const pollInterval: Millis = 100;
/** What is written within that time is read together. */
const coalescing: Millis = 20;
/** Between attempts to open what could not be opened. */
const patience: Millis = 10_000;
/** How long a file is still read after the next one was begun; a deleted one takes space on disk that long. */
const linger: Millis = 60_000;
const lingerShort: Millis = 5000;
/** Each is a descriptor, and perhaps space on disk that is not given back. */
const maxFiles = 256;
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
  const { path, needles, saved, now = Date.now, schedule = inTime, openContent = openPinnedTail } = options;
  const order = createReadingOrder();
  const files = order.all;
  const report = createReport(options);
  const done = createDoneFiles();
  const passed = new Map<string, Buffer>();

  let { from } = options;
  let begun = 0;
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
  /** Could be read no further at the last attempt. */
  const failed = new Set<LogFile>();
  const [beginnings, turns, looks, looksSoon] = [begin, turn, look, lookSoon].map((task) =>
    createTimer(schedule, now, task),
  ) as [Timer, Timer, Timer, Timer];

  return {
    get state() {
      return report.state;
    },
    get position() {
      return files.length > 0 ? positionNow() : lastPosition;
    },
    get counts() {
      return order.counts;
    },
    get atEnd() {
      return files.length > 0 && files.every(isAtEnd);
    },
    start: begin,
    stop() {
      if (files.length > 0) lastPosition = positionNow();
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
    stamp = stampOf(path, now());
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
    stamp = stampOf(path, now());
    const isAsBefore = stamp !== undefined && stamp === before && live !== undefined && !('kind' in live);
    const there = isAsBefore ? lookAt(path) : undefined;
    if (there !== undefined && !('kind' in there) && files.some(({ log }) => isSame(log.identity, there))) {
      live = there;
      return;
    }
    // What was cut off goes on in a copy, which must come before other files that are found.
    for (const file of files.slice()) file.verify();
    for (let again = true; again && !report.isStopped;) {
      const found = seekFiles({ path, files, done, passed, sought, now: now() });
      if (found.isUndecided) stamp = undefined;
      live = found.live;
      const known = files.length;
      const hasRoom = known + found.entries.length <= maxFiles;
      for (const { entry, before: next } of found.entries) insert(entry, next);
      // One that could not be opened is tried again at the next look.
      again = hasRoom && files.length > known;
    }
  }

  function insert(entry: Entry, next: LogFile | undefined, number = begun++): void {
    if (files.length >= maxFiles) {
      // Not later either, now that it is told.
      done.add(passOver(entry));
      const bytes = Number.isFinite(entry.size) ? entry.size : undefined;
      return report.lost(bytes, 'was replaced more often than it could be read');
    }
    try {
      order.insert(open(entry, number), next);
    } catch (error) {
      closeLog(entry.log);
      report.failed(`: ${reasonOf(error)}`);
    }
  }

  /** Throws the system's error. */
  function open({ log, isPacked, head, place }: Start, number: number): LogFile {
    return createLogFile({
      log,
      isPacked,
      head,
      place,
      number,
      needles,
      openContent,
      now,
      onLine(file, text, cut, line) {
        if (!report.isStopped) options.onLine(text, { file: file.number, offset: file.reader.lineStart }, cut, line);
      },
      onTooLong: (_, line) => report.tooLong(line, order.counts.tooLong),
      onRead() {
        report.well();
        turns.set(0);
      },
      onChange: () => turns.setEarliest(coalescing),
      onMoved: lookAtOnce,
      onOverwritten: startOver,
      onError: fail,
    });
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

  /** A file was cut off, or written anew. */
  function startOver(file: LogFile, lastSize: number): void {
    const { log, reader, number } = file;
    // What had not been read may be in a copy.
    const copy = findCopy(path, reader.head, reader.offset, files);
    if (copy === undefined) reader.end();
    if (report.isStopped) return;
    done.add({ identity: undefined, head: reader.head, place: reader.position });
    replace(file, { log, isPacked: false, head: Buffer.alloc(0), place: startOfFile }, begun++);
    const unread = Math.max(0, lastSize - (copy?.size ?? reader.offset));
    if (copy !== undefined) {
      const { offset, skipping } = reader.position;
      insert(
        { ...copy, place: { offset, skipping } },
        files.find((each) => each.log === log),
        number,
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
      replace(file, { ...file, head: file.reader.head, place: { offset, skipping } }, file.number);
    }
  }

  function replace(file: LogFile, by: Start, number: number): void {
    try {
      order.replace(file, open(by, number));
      turns.setEarliest(0);
    } catch (error) {
      fail(file, error);
    }
  }

  /** Lets files go that were read to their end, after a while. */
  function release(): void {
    const needed = new Set(Array.from(options.undelivered?.() ?? [], ({ file }) => file));
    for (const file of order.past) {
      if (needed.has(file.number)) continue;
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

  function positionNow(): Position {
    return order.position(options.undelivered?.() ?? []);
  }
}

type Start = Pick<Entry, 'log' | 'isPacked' | 'head' | 'place'>;
