import type { Millis } from '../../model.ts';
import { type Candidate, distinct, type Entry, openCandidate, passOver } from './candidate.ts';
import { startOfFile, tellingLength } from './file-position.ts';
import { type DoneFiles, isCopy } from './heads.ts';
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
  now: Millis;
}

/** A file younger than that may be a copy in the making, as long as it is short. */
const copying: Millis = 1000;

/** Looks for files that are not known yet, under all the names that a file of this log gets. Never throws. */
export function seekFiles({ path, files, done, now }: SeekOptions): Found {
  const found: Found = { live: { kind: 'missing', text: '' }, entries: [], isUndecided: false };
  const seen: Buffer[] = [];
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
    const candidate = openCandidate(sibling.path, sibling.isPacked);
    if ('kind' in candidate) {
      found.isUndecided = true;
      continue;
    }
    seen.push(candidate.head);
    if (isKnown(candidate)) closeLog(candidate.log);
    else if (candidate.head.length < tellingLength && now - candidate.modified < copying) {
      closeLog(candidate.log);
      found.isUndecided = true;
    } else waiting.push({ ...candidate, place: startOfFile });
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
  return found;

  function openLive(): void {
    const candidate = openCandidate(path, false);
    if ('kind' in candidate) return void (found.live = candidate);
    // Between the two looks another one may have come.
    found.live = candidate.log.identity;
    seen.push(candidate.head);
    const isAgain = found.entries.some(({ entry }) => isSame(entry.log.identity, candidate.log.identity));
    if (isAgain || fileOf(candidate.log.identity) !== undefined) return closeLog(candidate.log);
    const earlier = done.find(candidate.log.identity, candidate.head);
    const isBack = earlier !== undefined && candidate.size >= earlier.place.offset;
    found.entries.push({ entry: { ...candidate, place: isBack ? earlier.place : startOfFile }, before: undefined });
  }

  function fileOf(identity: Identity): LogFile | undefined {
    return files.find(({ log }) => isSame(log.identity, identity));
  }

  function isKnown({ log, head }: Candidate): boolean {
    if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
    return files.some(({ reader }) => isCopy(reader.head, head));
  }
}

/** A copy of what is not there any more, that goes on past `offset`; the caller owns it. */
export function findCopy(path: string, head: Buffer, offset: number, files: readonly LogFile[]): Candidate | undefined {
  // The newest first: an older one may be from a time before.
  for (const { path: file, isPacked } of siblingsOf(path).toReversed()) {
    const candidate = openCandidate(file, isPacked);
    if ('kind' in candidate) continue;
    const isOpen = files.some(({ log }) => isSame(log.identity, candidate.log.identity));
    if (!isOpen && candidate.size >= offset && isCopy(head, candidate.head)) return candidate;
    passOver(candidate);
  }
  return undefined;
}
