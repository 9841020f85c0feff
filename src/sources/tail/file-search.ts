import type { Millis } from '../../model/log-line.ts';
import type { Beginning } from './begin-log.ts';
import { distinct, type Entry, openCandidate, placeOf } from './candidate.ts';
import { type FilePosition, type Place, startOfFile } from './file-position.ts';
import type { LogFile } from './log-file.ts';
import { maxFiles, type OpenFiles, type OpenFilesOptions } from './open-files.ts';
import { closeLog, type Identity, isSame, lookAt, type Obstacle } from './open-log.ts';
import type { ReadingOrder } from './reading-order.ts';
import { type Candidate, isCopy, isCopyInMaking, isUndecided, relationOf } from './relation.ts';
import type { Report } from './report.ts';
import { type Sibling, siblingsOf, changeStampOf } from './siblings.ts';

/** The number of scans in a row that found a file cut off. */
const maxCuts = 10;

export interface FileSearchOptions extends Pick<OpenFilesOptions, 'path' | 'order' | 'report'> {
  insert: OpenFiles['insert'];
  wall: () => Millis;
}

export type FileSearch = ReturnType<typeof createFileSearch>;

/** Finds new files under all names that a file of this log may get, and has them read in order. */
export function createFileSearch({ path, order, report, insert, wall }: FileSearchOptions) {
  let live: Look['live'] | undefined;
  let stamp: string | undefined;
  /** The number of scans in a row that could open nothing at the path. */
  let obstructed = 0;
  let missing: FilePosition[] = [];
  let looksForMissing = 0;

  return {
    /** The file at the path, or the reason why there is none; undefined before the first scan. */
    get live() {
      return live;
    },
    begin(beginning: Beginning): void {
      for (const file of beginning.done) order.done.add(file);
      ({ missing } = beginning);
      order.finished = beginning.finished;
      for (const entry of beginning.entries) insert(entry, undefined);
      if (beginning.isReplaced) report.replaced();
      reportCut(beginning.cut, report);
      stamp = changeStampOf(path, wall());
    },
    discover(): void {
      if (isAsBefore()) return;
      for (let again = true, cuts = 0; again && !report.isStopped;) {
        const found = discoverFiles({ path, order, missing, now: wall() });
        if (found === undefined) {
          stamp = undefined;
          again = ++cuts < maxCuts;
          continue;
        }
        if (found.isUndecided) stamp = undefined;
        live = found.live;
        const known = order.all.length;
        const hasRoom = known + found.entries.length <= maxFiles;
        for (const { entry, before } of found.entries) insert(entry, before);
        reportCut(found.cut, report);
        // A file that could not be opened is tried again at the next scan.
        again = hasRoom && order.all.length > known;
      }
    },
    /** Call it once a second. A missing file is reported the second time, because a log that is being renamed is missing for a moment. */
    reportMissing(): void {
      if (live === undefined || !('kind' in live)) {
        obstructed = 0;
        report.unobstructed();
      } else if (++obstructed === 2) report.obstructed(live);
      if (missing.length === 0 || ++looksForMissing < 2) return;
      reportLoss(missing, report);
      missing = [];
    },
  };

  /** Returns whether no file was added, removed or renamed since the last scan, and the file at the path is already being read. */
  function isAsBefore(): boolean {
    const before = stamp;
    stamp = changeStampOf(path, wall());
    if (stamp === undefined || stamp !== before || live === undefined || 'kind' in live) return false;
    const there = lookAt(path);
    if ('kind' in there || fileOf(order, there) === undefined) return false;
    live = there;
    return true;
  }
}

function reportCut(cut: readonly FilePosition[], report: Report): void {
  for (const { size, offset } of cut) report.cut(Math.max(0, (size ?? 0) - offset));
}

/** Reports files that an earlier run had begun to read, and that no longer exist. */
function reportLoss(missing: readonly FilePosition[], report: Report): void {
  const unread = missing.map(({ size, offset }) => (size === null ? undefined : Math.max(0, size - offset)));
  const known = unread.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
  if (known > 0)
    report.lost(known, `was rotated away while no agent was running: ${known} bytes or more had not been read`);
  else if (unread.includes(undefined)) report.lost(undefined, 'was rotated away while no agent was running');
}

interface Look {
  path: string;
  order: ReadingOrder;
  /** Positions in files that were not found. A position is removed when its file is found. */
  missing: FilePosition[];
  now: Millis;
  /** The file at the path now, or the reason why there is none. */
  live: Identity | Obstacle;
  atPath: Candidate | undefined;
  seen: Buffer[];
  /** Known files, and opened siblings that may be new; the oldest first. */
  there: (LogFile | Candidate)[];
  /** New files after the last known one. They come before the next known one. */
  between: Entry[];
  /** New files, each with the file before which it is read; undefined means at the end. */
  entries: { entry: Entry; before: LogFile | undefined }[];
  /** Positions past the end of files that were missing, and have been cut off. */
  cut: FilePosition[];
  /** Whether a file could not be opened, so that it is not known what exists. */
  hasUnopened: boolean;
  /** Whether a file may be a copy that is still being written, and must be checked again soon. */
  isUndecided: boolean;
}

/**
 * Scans all files. Returns undefined if a known file was cut off, because its rest is in a copy and everything must be scanned again. Never
 * throws.
 */
function discoverFiles(search: Pick<Look, 'path' | 'order' | 'missing' | 'now'>): Look | undefined {
  const live = { kind: 'missing', text: '' } as const;
  const lists = { seen: [], there: [], between: [], entries: [], cut: [] };
  const look: Look = { ...search, ...lists, live, atPath: undefined, hasUnopened: false, isUndecided: false };
  for (const sibling of siblingsOf(look.path)) openSibling(look, sibling);
  openLive(look);
  // Open all files first: they are compared with the first bytes of known files, and one of them may be a copy.
  if (haveBeenCut(look.order)) {
    for (const each of look.there) if (!('reader' in each)) closeLog(each.log);
    if (look.atPath !== undefined) closeLog(look.atPath.log);
    return undefined;
  }
  for (const each of look.there)
    if ('reader' in each) {
      look.seen.push(each.reader.head);
      placeBefore(look, each);
    } else takeSibling(look, each);
  placeBefore(look, undefined);
  if (look.atPath !== undefined) takeLive(look, look.atPath);
  if (!look.hasUnopened) look.order.done.keepOnly(look.seen);
  return look;
}

function openSibling(look: Look, sibling: Sibling): void {
  const there = lookAt(sibling.path);
  if ('kind' in there) return;
  const known = fileOf(look.order, there);
  if (known !== undefined) return void look.there.push(known);
  const candidate = openCandidate(sibling.path, sibling.isPacked);
  if ('kind' in candidate) {
    look.hasUnopened = true;
    look.isUndecided = true;
    return;
  }
  look.there.push(candidate);
}

function haveBeenCut({ all }: ReadingOrder): boolean {
  const known = all.slice();
  for (const file of known) file.verify();
  return all.length !== known.length || known.some((file, index) => file !== all[index]);
}

function openLive(look: Look): void {
  look.live = lookAt(look.path);
  if ('kind' in look.live) return;
  const known = fileOf(look.order, look.live);
  if (known !== undefined) return void look.there.push(known);
  const candidate = openCandidate(look.path, false);
  if ('kind' in candidate) return void (look.live = candidate);
  // Another file may have appeared between the two scans.
  look.live = candidate.log.identity;
  look.atPath = candidate;
}

function takeSibling(look: Look, candidate: Candidate): void {
  look.seen.push(candidate.head);
  const openings = look.order.all.map(({ reader }) => reader.head);
  if (look.atPath !== undefined) openings.push(look.atPath.head);
  if (isKnown(look.order, candidate)) closeLog(candidate.log);
  else if (isUndecided(candidate, openings, look.now)) {
    closeLog(candidate.log);
    look.isUndecided = true;
  } else look.between.push({ ...candidate, place: placeIn(look, candidate) });
}

function placeBefore(look: Look, before: LogFile | undefined): void {
  for (const entry of distinct(look.between)) look.entries.push({ entry, before });
  look.between = [];
}

function takeLive({ order, entries, seen }: Look, candidate: Candidate): void {
  const { identity } = candidate.log;
  seen.push(candidate.head);
  const isAgain = entries.some(({ entry }) => isSame(entry.log.identity, identity));
  if (isAgain || fileOf(order, identity) !== undefined) return closeLog(candidate.log);
  for (const each of entries.filter(({ entry }) => isCopyInMaking(entry, candidate))) {
    closeLog(each.entry.log);
    entries.splice(entries.indexOf(each), 1);
  }
  const earlier = order.done.find(identity, candidate.head);
  const isBack = earlier !== undefined && candidate.size >= earlier.place.offset;
  entries.push({ entry: { ...candidate, place: isBack ? earlier.place : startOfFile }, before: undefined });
}

/** Returns where an earlier run stopped, if it had read this file. */
function placeIn({ missing, cut }: Look, candidate: Candidate): Place {
  for (const [index, saved] of missing.entries()) {
    if (relationOf(candidate, saved) === 'other') continue;
    const place = placeOf(candidate, saved);
    missing.splice(index, 1);
    if (place.offset < saved.offset) cut.push(saved);
    return place;
  }
  return startOfFile;
}

function fileOf({ all }: ReadingOrder, identity: Identity): LogFile | undefined {
  return all.find(({ log }) => isSame(log.identity, identity));
}

function isKnown({ all, done }: ReadingOrder, { log, head }: Candidate): boolean {
  if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
  return all.some(({ reader }) => isCopy(reader.head, head));
}
