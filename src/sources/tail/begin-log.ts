import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import type { Position } from '../source.ts';
import {
  atEnd,
  distinct,
  type Entry,
  type FinishedFile,
  passOver,
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

export interface Beginning {
  entries: Entry[];
  done: FinishedFile[];
  isReplaced: boolean;
  /** Positions in files that were not found, but still may be. */
  missing: FilePosition[];
  /** Positions past the end of files that have been cut off. */
  cut: FilePosition[];
  finished: FilePosition | undefined;
}

/** The most scans. Two scans in a row must agree, because while files are being renamed one may miss a file or find it by its old name. */
const maxLooks = 10;

/** Continues at `saved` with everything that came after it; without a usable position, begins at `from`. Never throws. */
export function beginLog(
  path: string,
  saved: Position | undefined,
  from: 'start' | 'end',
  now: Millis,
): Beginning | Obstacle {
  const position = readLogPosition(saved);
  let there: Candidate[] = [];
  let live: Identity | Obstacle;
  try {
    for (let looks = 0; ; looks++) {
      const opened = there;
      const scan = scanFiles(path, opened);
      there = keepOpened(scan.there, opened);
      ({ live } = scan);
      if (position === undefined && 'kind' in live) {
        for (const { log } of there) closeLog(log);
        return live;
      }
      if (looks === maxLooks || (looks > 0 && isSameOrder(there, opened) && areUncut(there))) break;
    }
    there = distinct(there);
    const beginning = position === undefined ? afresh(there, from) : goingOn(there, position, now);
    if (beginning.entries.length > 0 || !('kind' in live)) return beginning;
    return live;
  } catch (error) {
    for (const { log } of there) closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

/** Adds the files of the scan before that have lost their names since, each at its place. */
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

/**
 * Returns whether no file was cut off since it was opened. A copy comes before its original, so its size is read first: an unfinished copy
 * then never looks longer than the original. Throws the system's error.
 */
function areUncut(there: readonly Candidate[]): boolean {
  return there.map(refresh).every(Boolean);
}

function isSameOrder(one: readonly Candidate[], other: readonly Candidate[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

function afresh(there: readonly Candidate[], from: 'start' | 'end'): Beginning {
  const live = there.at(-1) as Candidate;
  const entry = from === 'end' ? atEnd(live) : { ...live, place: startOfFile };
  const earlier = there.slice(0, -1);
  const finished = earlier.slice(-1).map(positionAtEnd)[0];
  return { entries: [entry], done: earlier.map(passOver), isReplaced: false, missing: [], cut: [], finished };
}

function goingOn(there: readonly Candidate[], position: LogPosition, now: Millis): Beginning {
  const { files: saved, modified } = position;
  const files = saved.filter(hasContent);
  const finished = position.finished && hasContent(position.finished) ? position.finished : undefined;
  const places = recognised(there, finished === undefined ? files : [...files, finished]);
  const last = there.findLastIndex((each) => places.get(each) === finished && finished !== undefined);
  const newest = there.findLastIndex((each) => places.has(each) && places.get(each) !== finished);
  const found = new Set(places.values());
  const missing = files.filter((file) => !found.has(file));
  const isReplaced = missing.includes(files.at(-1) as FilePosition);
  const beginning: Beginning = { entries: [], done: [], isReplaced, missing, cut: [], finished };
  for (const [index, each] of there.entries()) {
    const file = places.get(each);
    // The file was empty when the position was saved, or is written again, or another file has its inode now.
    const isAgain = !each.isPacked && saved.some((earlier) => isSame(earlier, each.log.identity));
    const isLater = newest >= 0 ? index > newest : each.modified > modified || index === there.length - 1;
    const isNew = isAgain || (isLater && index > last);
    if (file !== undefined && file === finished && each.isPacked) beginning.done.push(passOver(each));
    else if (file !== undefined) {
      if (each.size < file.offset) beginning.cut.push(file);
      beginning.entries.push({ ...each, place: placeOf(each, file) });
    } else if (isNew && isUndecided(each, openingsAfter(there, index), now)) closeLog(each.log);
    else if (isNew) beginning.entries.push({ ...each, place: startOfFile });
    else beginning.done.push(passOver(each));
  }
  return beginning;
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

function openingsAfter(there: readonly Candidate[], index: number): Buffer[] {
  return there.slice(index + 1).map(({ head }) => head);
}
