import { reasonOf } from '../../system-error.ts';
import type { Position } from '../source.ts';
import {
  atEnd,
  type Candidate,
  distinct,
  type Entry,
  isCopyOf,
  isFileOf,
  openCandidate,
  passOver,
} from './candidate.ts';
import { type FilePosition, type LogPosition, readLogPosition, startOfFile } from './file-position.ts';
import type { DoneFile } from './heads.ts';
import { closeLog, type Obstacle } from './open-log.ts';
import { siblingsOf } from './siblings.ts';

/** Where to begin with a log. */
export interface Beginning {
  /** The oldest first. */
  entries: Entry[];
  done: DoneFile[];
  /** Of the files that were being read, the newest is not there any more. */
  isReplaced: boolean;
}

/** Goes on at `saved`, with all that came after it; without a usable one at `from`. Never throws. */
export function beginLog(path: string, saved: Position | undefined, from: 'start' | 'end'): Beginning | Obstacle {
  const live = openCandidate(path, false);
  const position = readLogPosition(saved);
  if (position === undefined && 'kind' in live) return live;
  const rotated = siblingsOf(path)
    .map(({ path: file, isPacked }) => openCandidate(file, isPacked))
    .filter((found): found is Candidate => !('kind' in found));
  const there = distinct('kind' in live ? rotated : [...rotated, live]);
  try {
    const beginning = position === undefined ? afresh(there, from) : goingOn(there, position);
    if (beginning.entries.length > 0 || !('kind' in live)) return beginning;
    return live;
  } catch (error) {
    for (const { log } of there) closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

/** Only the file that stands there now. */
function afresh(there: readonly Candidate[], from: 'start' | 'end'): Beginning {
  const live = there.at(-1) as Candidate;
  const entry = from === 'end' ? atEnd(live) : { ...live, place: startOfFile };
  return { entries: [entry], done: there.slice(0, -1).map(passOver), isReplaced: false };
}

function goingOn(there: readonly Candidate[], { files: saved, modified }: LogPosition): Beginning {
  // An empty file may be any: it says only that nothing of it was read.
  const files = saved.filter(({ offset, headLength }) => offset > 0 || headLength > 0);
  const places = new Map<Candidate, FilePosition>();
  for (const isOne of [isFileOf, isCopyOf]) {
    for (const file of files) {
      if ([...places.values()].includes(file)) continue;
      const found = there.find((each) => !places.has(each) && isOne(each, file));
      if (found !== undefined) places.set(found, file);
    }
  }
  const newest = there.findLastIndex((each) => places.has(each));
  const beginning: Beginning = { entries: [], done: [], isReplaced: false };
  // Rotated files go from the oldest on: if not even the newest is left, all others came after it.
  beginning.isReplaced = files.length > 0 && ![...places.values()].includes(files.at(-1) as FilePosition);
  for (const [index, each] of there.entries()) {
    const file = places.get(each);
    const isNew = newest >= 0 ? index > newest : each.modified > modified || index === there.length - 1;
    if (file !== undefined)
      beginning.entries.push({ ...each, place: { offset: file.offset, skipping: file.skipping } });
    else if (isNew) beginning.entries.push({ ...each, place: startOfFile });
    else beginning.done.push(passOver(each));
  }
  return beginning;
}
