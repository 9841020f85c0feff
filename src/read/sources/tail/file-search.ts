import type { Millis } from '../../../base/model/log-line.ts';
import type { LogBeginning } from './begin-log.ts';
import { distinctCandidates, type LogEntry, placeOf, scanFiles } from './candidate.ts';
import {
  type Candidate,
  type FilePosition,
  isCopy,
  isCopyInMaking,
  isUndecided,
  type Place,
  relationOf,
  startOfFile,
} from './relation.ts';
import type { LogFile } from './log-file.ts';
import { type InsertFile, maxFiles, type OpenFilesOptions, type ReadingOrder } from './open-files.ts';
import { closeLog, type Identity, isSame, lookAt, type Obstacle, type OpenLog } from './open-log.ts';
import type { TailReport } from './report.ts';
import { changeStampOf } from './siblings.ts';

/** The most scans in a row that may find a file cut off. */
const maxCuts = 10;

export interface FileSearchOptions extends Pick<OpenFilesOptions, 'path' | 'order' | 'report'> {
  insert: InsertFile;
  wall: () => Millis;
}

export interface FileSearch {
  /** The file at the path, or the reason why there is none; undefined before the first scan. */
  readonly live: Identity | Obstacle | undefined;
  /** Whether the last scan had too few file descriptors. */
  readonly isShort: boolean;
  begin(beginning: LogBeginning): void;
  discover(): void;
  /** Call it once a second. A missing file is reported the second time, because a log that is being renamed is missing for a moment. */
  reportMissing(): void;
}

/** Finds new files under all names that a file of this log may get, and starts to read them in order. */
export function createFileSearch({ path, order, report, insert, wall }: FileSearchOptions): FileSearch {
  let live: ScanResult['live'] | undefined;
  let stamp: string | undefined;
  /** The number of scans in a row that could open nothing at the path. */
  let obstructed = 0;
  let missing: FilePosition[] = [];
  let since: Millis | undefined;
  /** The file that was at the path when an earlier run stopped, if it was not found. */
  let newest: FilePosition | undefined;
  let looksForMissing = 0;
  let isShort = false;

  return {
    get live() {
      return live;
    },
    get isShort() {
      return isShort;
    },
    begin(beginning: LogBeginning): void {
      for (const file of beginning.done) order.done.add(file);
      ({ missing, since } = beginning);
      newest = beginning.isReplaced ? missing.at(-1) : undefined;
      order.finished = beginning.finished;
      for (const entry of beginning.entries) insert(entry, undefined);
      if (beginning.isReplaced) report.replaced();
      reportCut(beginning.cut, report);
      stamp = changeStampOf(path, wall());
    },
    discover(): void {
      if (isAsBefore()) return;
      for (let again = true, cuts = 0; again && !report.isStopped;) {
        const found = discoverFiles(path, order, missing, wall());
        if (found === undefined) {
          stamp = undefined;
          again = ++cuts < maxCuts;
          continue;
        }
        if (found.isUndecided) stamp = undefined;
        ({ live, isShort } = found);
        const known = order.all.length;
        const hasRoom = known + found.entries.length <= maxFiles;
        for (const { entry, before } of found.entries) insert(entry, before);
        reportCut(found.cut, report);
        // Scan again after files were added, because more may have come. A file that could not be opened waits for the next call.
        again = hasRoom && order.all.length > known;
      }
    },
    reportMissing(): void {
      if (live === undefined || !('kind' in live)) {
        obstructed = 0;
        report.unobstructed();
      } else if (++obstructed === 2) report.obstructed(live);
      if (missing.length === 0 || isShort || ++looksForMissing < 2) return;
      reportLoss(missing, newest, (bytes, what) => report.lost(bytes, what, since));
      missing = [];
    },
  };

  function isAsBefore(): boolean {
    const before = stamp;
    stamp = changeStampOf(path, wall());
    if (stamp === undefined || stamp !== before || live === undefined || 'kind' in live) return false;
    const there = lookAt(path);
    if ('kind' in there || !order.all.some(({ log }) => isSame(log.identity, there))) return false;
    live = there;
    return true;
  }
}

function reportCut(cut: readonly FilePosition[], report: TailReport): void {
  for (const { size, offset } of cut) report.cut(Math.max(0, (size ?? 0) - offset));
}

/** Reports files that an earlier run had begun to read, and that no longer exist. */
function reportLoss(
  missing: readonly FilePosition[],
  newest: FilePosition | undefined,
  lost: (bytes: number | undefined, what: string) => void,
): void {
  const unread = missing.map(({ size, offset }) => (size === null ? undefined : Math.max(0, size - offset)));
  const known = unread.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  if (known > 0) lost(known, `was rotated away while no agent was running: ${known} bytes or more had not been read`);
  else if (unread.includes(undefined)) lost(undefined, 'was rotated away while no agent was running');
  // However much of it was read before, more may have been written since.
  else if (newest !== undefined && missing.includes(newest))
    lost(
      undefined,
      'was emptied, deleted or rotated away while no agent was running: what was written since is missing',
    );
}

interface ScanResult {
  live: Identity | Obstacle;
  /** New files, each with the file before which it is read; undefined means at the end. */
  entries: { entry: LogEntry; before: LogFile | undefined }[];
  /** Positions past the end of files that were missing, and have been cut off. */
  cut: FilePosition[];
  /** Whether a file could not be opened, or may be a copy that is still being written, so that it must be checked again soon. */
  isUndecided: boolean;
  isShort: boolean;
}

/**
 * Scans all files, and decides about each. The first row that matches decides:
 *
 *     file      how it is known                                                is read
 *     open      it is being read, whatever its name is now                     on; new files that are older are read before it
 *     live      it is at the path                                              from its start, or on if it was finished and is back,
 *                                                                              instead of new files that are copies of it in the making
 *     known     it was finished, or is a copy of a finished or an open file    not again
 *     unknown   it may become a copy of an open or the live file               not yet: the next scan finds it again
 *     new       every other file                                               from its saved place if it was missing, else from its start
 *
 * Returns undefined if a known file was cut off, because its rest is in a copy and everything must be scanned again. Never throws. `missing`:
 * positions in files that were not found. A position is removed when its file is found.
 */
function discoverFiles(
  path: string,
  order: ReadingOrder,
  missing: FilePosition[],
  now: Millis,
): ScanResult | undefined {
  // Open all files first: they are compared with the first bytes of known files, and one of them may be a copy.
  const { there, live, hasUnopened, isShort } = scanFiles(path, order.all, (each) => isKnown(order, each));
  if (haveBeenCut(order)) {
    for (const each of there) if (!isOpen(each)) closeLog(each.log);
    return undefined;
  }
  const atPath = 'kind' in live ? undefined : there.at(-1);
  const openings = [...order.all, ...(atPath === undefined ? [] : [atPath])].map(headOf);
  const found: ScanResult = { live, entries: [], cut: [], isUndecided: hasUnopened, isShort };
  /** New files since the last known one. They are read before the next known one. */
  let between: LogEntry[] = [];
  for (const each of there) {
    if (isOpen(each)) placeBefore(each);
    else if (each === atPath) {
      placeBefore(undefined);
      takeLive(found, order, each);
    } else if (isKnown(order, each)) closeLog(each.log);
    else if (isUndecided(each, openings, now)) {
      closeLog(each.log);
      found.isUndecided = true;
    } else between.push({ ...each, place: placeIn(missing, found, each) });
  }
  placeBefore(undefined);
  if (!hasUnopened) order.done.keepOnly(there.map(headOf));
  return found;

  function placeBefore(before: LogFile | undefined): void {
    for (const entry of distinctCandidates(between)) found.entries.push({ entry, before });
    between = [];
  }
}

function isOpen(file: LogFile | Candidate): file is LogFile {
  return 'reader' in file;
}

function headOf(file: LogFile | Candidate): Buffer {
  return isOpen(file) ? file.reader.head : file.head;
}

function haveBeenCut({ all }: ReadingOrder): boolean {
  const known = all.slice();
  for (const file of known) file.verify();
  return all.length !== known.length || known.some((file, index) => file !== all[index]);
}

/** Adds the file at the path as the newest, instead of unfinished copies of it. */
function takeLive(found: ScanResult, { all, done }: ReadingOrder, candidate: Candidate): void {
  const { log, head, size } = candidate;
  const isIt = (other: { log: OpenLog }): boolean => isSame(other.log.identity, log.identity);
  if (all.some(isIt) || found.entries.some(({ entry }) => isIt(entry))) return closeLog(log);
  const copies = found.entries.filter(({ entry }) => isCopyInMaking(entry, candidate));
  for (const { entry } of copies) closeLog(entry.log);
  const earlier = done.find(log.identity, head);
  const isBack = earlier !== undefined && size >= earlier.place.offset;
  found.entries = found.entries.filter((each) => !copies.includes(each));
  found.entries.push({ entry: { ...candidate, place: isBack ? earlier.place : startOfFile }, before: undefined });
}

/** Returns where an earlier run stopped, if it had read this file. */
function placeIn(missing: FilePosition[], { cut }: ScanResult, candidate: Candidate): Place {
  const index = missing.findIndex((saved) => relationOf(candidate, saved) !== 'other');
  const [saved] = index < 0 ? [] : missing.splice(index, 1);
  return saved === undefined ? startOfFile : placeOf(candidate, saved, cut);
}

function isKnown({ all, done }: ReadingOrder, { log, head }: Candidate): boolean {
  if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
  return all.some(({ reader }) => isCopy(reader.head, head));
}
