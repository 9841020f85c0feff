import type { Millis } from '../../model/log-line.ts';
import {
  type Candidate,
  distinct,
  type Entry,
  isCopyInMaking,
  isCopyOf,
  isFileOf,
  openCandidate,
} from './candidate.ts';
import { type FilePosition, type Place, startOfFile, partLength } from './file-position.ts';
import { type DoneFiles, isCopy } from './finished-files.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, type Identity, isSame, lookAt, type Obstacle } from './open-log.ts';
import { siblingsOf } from './siblings.ts';

/** What a look at the files of a log has found. */
export interface Found {
  /** What stands at the path now, or why nothing does. */
  live: Identity | Obstacle;
  /** Files that were not known, each with the file that it is to be read before; undefined: after all others. */
  entries: { entry: Entry; before: LogFile | undefined }[];
  /** There is a file that cannot be told yet from a copy: it is to be looked at again soon. */
  isUndecided: boolean;
}

export interface SeekOptions {
  path: string;
  files: readonly LogFile[];
  done: DoneFiles;
  /** First bytes of files that are known and not to be read, from the look before; those of this look afterwards. */
  passed: Map<string, Buffer>;
  /** Places in files that had not been found; those that are, are taken out. */
  sought: FilePosition[];
  now: Millis;
}

/** A file younger than that may be a copy in the making, as long as it is short. */
const copying: Millis = 1000;

/** Looks for files that are not known yet, under all the names that a file of this log gets. Never throws. */
export function discoverRotated({ path, files, done, passed, sought, now }: SeekOptions): Found {
  const found: Found = { live: { kind: 'missing', text: '' }, entries: [], isUndecided: false };
  const seen: Buffer[] = [];
  const stillPassed = new Map<string, Buffer>();
  /** Without a known file behind them yet. */
  let waiting: Entry[] = [];
  const place = (before: LogFile | undefined): void => {
    for (const entry of distinct(waiting)) found.entries.push({ entry, before });
    waiting = [];
  };

  for (const sibling of siblingsOf(path)) {
    const there = lookAt(sibling.path);
    if ('kind' in there) continue;
    const known = fileOf(there);
    if (known !== undefined) {
      seen.push(known.reader.head);
      place(known);
      continue;
    }
    const key = `${there.device}.${there.inode}.${there.version}`;
    const passedHead = passed.get(key);
    if (passedHead !== undefined) {
      seen.push(passedHead);
      stillPassed.set(key, passedHead);
      continue;
    }
    const candidate = openCandidate(sibling.path, sibling.isPacked);
    if ('kind' in candidate) {
      found.isUndecided = true;
      continue;
    }
    seen.push(candidate.head);
    if (isKnown(candidate)) {
      closeLog(candidate.log);
      stillPassed.set(key, candidate.head);
    } else if (candidate.head.length < partLength && isYoung(candidate, now)) {
      closeLog(candidate.log);
      found.isUndecided = true;
    } else waiting.push({ ...candidate, place: placeIn(candidate) });
  }

  found.live = lookAt(path);
  const known = 'kind' in found.live ? undefined : fileOf(found.live);
  if (known !== undefined) {
    seen.push(known.reader.head);
    place(known);
  } else {
    place(undefined);
    if (!('kind' in found.live)) openLive();
  }
  done.keepOnly(seen);
  passed.clear();
  for (const [key, head] of stillPassed) passed.set(key, head);
  return found;

  function openLive(): void {
    const candidate = openCandidate(path, false);
    if ('kind' in candidate) return void (found.live = candidate);
    // Between the two looks another one may have come.
    found.live = candidate.log.identity;
    seen.push(candidate.head);
    const isAgain = found.entries.some(({ entry }) => isSame(entry.log.identity, candidate.log.identity));
    if (isAgain || fileOf(candidate.log.identity) !== undefined) return closeLog(candidate.log);
    for (const each of found.entries.filter(({ entry }) => isCopyInMaking(entry, candidate))) {
      closeLog(each.entry.log);
      found.entries.splice(found.entries.indexOf(each), 1);
    }
    const earlier = done.find(candidate.log.identity, candidate.head);
    const isBack = earlier !== undefined && candidate.size >= earlier.place.offset;
    found.entries.push({ entry: { ...candidate, place: isBack ? earlier.place : startOfFile }, before: undefined });
  }

  /** Where an earlier run had stopped, if it had read this file. */
  function placeIn(candidate: Candidate): Place {
    const index = sought.findIndex((saved) => isCopyOf(candidate, saved) || isPlaceIn(candidate, saved));
    const [{ offset, skipping } = startOfFile] = index < 0 ? [] : sought.splice(index, 1);
    return { offset, skipping };
  }

  function fileOf(identity: Identity): LogFile | undefined {
    return files.find(({ log }) => isSame(log.identity, identity));
  }

  function isKnown({ log, head }: Candidate): boolean {
    if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
    return files.some(({ reader }) => isCopy(reader.head, head));
  }
}

function isYoung({ modified }: Candidate, now: Millis): boolean {
  // One from the future, by a clock that was set back, would be so for long.
  return modified <= now && now - modified < copying;
}

function isPlaceIn(candidate: Candidate, place: FilePosition): boolean {
  try {
    return isFileOf(candidate, place);
  } catch {
    // Then reading it fails too, and says so.
    return false;
  }
}

/** A copy of what is not there any more, that goes on past `offset`; the caller owns it. */
export function findCopy(path: string, head: Buffer, offset: number, files: readonly LogFile[]): Candidate | undefined {
  // Twice, as files may be renamed meanwhile. The newest first: an older one may be from a time before.
  for (let looks = 0; looks < 2; looks++) {
    for (const { path: file, isPacked } of siblingsOf(path).toReversed()) {
      const candidate = openCandidate(file, isPacked);
      if ('kind' in candidate) continue;
      const isOpen = files.some(({ log }) => isSame(log.identity, candidate.log.identity));
      if (!isOpen && candidate.size >= offset && isCopy(head, candidate.head)) return candidate;
      closeLog(candidate.log);
    }
  }
  return undefined;
}
