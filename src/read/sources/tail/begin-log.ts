import type { Millis } from '../../../base/model/log-line.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';
import type { Position } from '../source.ts';
import {
  entryAtEnd,
  distinctCandidates,
  type FinishedFile,
  type LogEntry,
  movedPathsOf,
  closeAsRead,
  placeOf,
  positionAtEnd,
  refresh,
  scanFiles,
} from './candidate.ts';
import {
  type Candidate,
  type FilePosition,
  isCopy,
  isUndecided,
  type LogPosition,
  readLogPosition,
  relationOf,
  relations,
  startOfFile,
} from './relation.ts';
import { closeLog, isSame, type Identity, type Obstacle } from './open-log.ts';

export interface LogBeginning {
  entries: LogEntry[];
  done: FinishedFile[];
  isReplaced: boolean;
  /** When the files read before were last written. */
  since: Millis | undefined;
  /** Positions in files that were not found, but still may be. */
  missing: FilePosition[];
  /** Positions past the end of files that have been cut off. */
  cut: FilePosition[];
  finished: FilePosition | undefined;
}

/** The most scans. Two scans in a row must agree, because while files are being renamed one may miss a file or find it by its old name. */
const maxLooks = 10;

/** Continues at `last` with everything that came after it; without a usable position, begins at `from`. Never throws. */
export function beginLog(
  path: string,
  last: Position | undefined,
  from: 'start' | 'end',
  now: Millis,
): LogBeginning | Obstacle {
  const position = readLogPosition(last);
  const saved = position === undefined ? [] : [...position.files, ...(position.finished ? [position.finished] : [])];
  let there: Candidate[] = [];
  let live: Identity | Obstacle;
  try {
    for (let looks = 0; ; looks++) {
      const opened = there;
      const scan = scanFiles(path, opened, undefined, movedPathsOf(path, saved));
      there = keepOpened(scan.there, opened);
      ({ live } = scan);
      if (position === undefined && 'kind' in live) {
        for (const { log } of there) closeLog(log);
        return live;
      }
      if (looks === maxLooks || (looks > 0 && isUnchanged(there, opened))) break;
    }
    there = distinctCandidates(there);
    const beginning = position === undefined ? afresh(there, from) : goingOn(there, position, now);
    if (beginning.entries.length > 0 || !('kind' in live)) return beginning;
    return live;
  } catch (error) {
    for (const { log } of there) closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

/** Adds the files of the previous scan that have since lost their names, each at its place. */
function keepOpened(there: readonly Candidate[], opened: readonly Candidate[]): Candidate[] {
  const files = [...new Set(there)];
  for (const [index, each] of opened.entries()) {
    if (files.includes(each)) continue;
    const packed = files.findIndex((file) => file.isPacked && isCopy(file.head, each.head));
    const before = new Set(opened.slice(0, index));
    files.splice(packed < 0 ? files.findLastIndex((file) => before.has(file)) + 1 : packed, 0, each);
  }
  return files;
}

/** A copy comes before its original, so its size is read first: an unfinished copy then never looks longer. Throws the system's error. */
function isUnchanged(there: readonly Candidate[], opened: readonly Candidate[]): boolean {
  const isSameOrder = there.length === opened.length && there.every((each, index) => each === opened[index]);
  return isSameOrder && there.map(refresh).every(Boolean);
}

function afresh(there: readonly Candidate[], from: 'start' | 'end'): LogBeginning {
  const live = there.at(-1) as Candidate;
  const entry = from === 'end' ? entryAtEnd(live) : { ...live, place: startOfFile };
  const earlier = there.slice(0, -1);
  const finished = earlier.slice(-1).map(positionAtEnd)[0];
  const done = earlier.map(closeAsRead);
  return { entries: [entry], done, isReplaced: false, since: undefined, missing: [], cut: [], finished };
}

/**
 * Decides about each file. The first row that matches decides:
 *
 *     file      how it is known                                                      is read
 *     packed    it was the last one that was read to its end, and is packed by now   not again, because nobody appends to it
 *     goes on   its position was saved, whatever its name is now (`relationOf`)      from its saved place
 *     old       it has no inode of a saved file, and is not newer                    not at all
 *     unknown   it may become a copy of a file after it (`isUndecided`)              not yet: the next scan finds it again
 *     new       every other file                                                     from its start
 */
function goingOn(there: readonly Candidate[], position: LogPosition, now: Millis): LogBeginning {
  const files = position.files.filter(hasContent);
  const finished = position.finished && hasContent(position.finished) ? position.finished : undefined;
  const places = recognised(there, finished === undefined ? files : [...files, finished]);
  const found = new Set(places.values());
  const missing = files.filter((file) => !found.has(file));
  const isReplaced = missing.includes(files.at(-1) as FilePosition);
  const newest = there.findLastIndex((each) => places.has(each));
  const heads = there.map(({ head }) => head);
  const [entries, done, cut]: [LogEntry[], FinishedFile[], FilePosition[]] = [[], [], []];
  for (const [index, each] of there.entries()) {
    const file = places.get(each);
    const isPacked = file !== undefined && file === finished && each.isPacked;
    // The file was empty when the position was saved, or is written again, or another file has its inode now.
    const hasSavedInode = !each.isPacked && position.files.some((saved) => isSame(saved, each.log.identity));
    // If none of the unfinished files is left, the order does not show what came after them.
    const isSince = missing.length < files.length || each.modified > position.modified || each === there.at(-1);
    const isOld = file === undefined && !hasSavedInode && !(index > newest && isSince);
    if (isPacked || isOld) done.push(closeAsRead(each));
    else if (file !== undefined) entries.push({ ...each, place: placeOf(each, file, cut) });
    else if (isUndecided(each, heads.slice(index + 1), now)) closeLog(each.log);
    else entries.push({ ...each, place: startOfFile });
  }
  return { entries, done, isReplaced, since: position.modified, missing, cut, finished };
}

/** Assigns saved positions to files, each once. The most certain relation is tried first for all of them. */
function recognised(there: readonly Candidate[], saved: readonly FilePosition[]): Map<Candidate, FilePosition> {
  const places = new Map<Candidate, FilePosition>();
  for (const relation of relations) {
    for (const file of saved) {
      if ([...places.values()].includes(file)) continue;
      const found = there.find((each) => !places.has(each) && relationOf(each, file) === relation);
      if (found !== undefined) places.set(found, file);
    }
  }
  return places;
}

/** A position in an empty file matches any file, and says only that nothing was read. */
function hasContent({ offset, headLength }: FilePosition): boolean {
  return offset > 0 || headLength > 0;
}
