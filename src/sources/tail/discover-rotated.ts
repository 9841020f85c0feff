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
import { type Sibling, siblingsOf } from './siblings.ts';

export interface Found {
  /** What stands at the path now, or why nothing does. */
  live: Identity | Obstacle;
  /** Files that were not known, each with the file that it is to be read before; undefined: after all others. */
  entries: { entry: Entry; before: LogFile | undefined }[];
  /** There is a file that may still be a copy in the making: it is to be looked at again soon. */
  isUndecided: boolean;
}

export interface DiscoverOptions {
  path: string;
  files: readonly LogFile[];
  done: DoneFiles;
  /** First bytes of files that are known and not to be read, from the look before; those of this look afterwards. */
  passed: Map<string, Buffer>;
  /** Places in files that had not been found; those that are, are taken out. */
  missing: FilePosition[];
  now: Millis;
}

interface Look extends DiscoverOptions {
  found: Found;
  seen: Buffer[];
  stillPassed: Map<string, Buffer>;
  /** Files found since the last known one: they come before the next known one. */
  between: Entry[];
}

/** A file younger than that may be a copy in the making, as long as it is short. */
const copying: Millis = 1000;

/** Looks for files that are not known yet, under all the names that a file of this log gets. Never throws. */
export function discoverRotated(options: DiscoverOptions): Found {
  const { path, files, done, passed } = options;
  const found: Found = { live: { kind: 'missing', text: '' }, entries: [], isUndecided: false };
  const look: Look = { ...options, found, seen: [], stillPassed: new Map(), between: [] };
  for (const sibling of siblingsOf(path)) takeSibling(look, sibling);

  found.live = lookAt(path);
  const known = 'kind' in found.live ? undefined : fileOf(files, found.live);
  if (known !== undefined) look.seen.push(known.reader.head);
  placeBefore(look, known);
  if (known === undefined && !('kind' in found.live)) takeLive(look);
  done.keepOnly(look.seen);
  passed.clear();
  for (const [key, head] of look.stillPassed) passed.set(key, head);
  return found;
}

function takeSibling(look: Look, sibling: Sibling): void {
  const there = lookAt(sibling.path);
  if ('kind' in there) return;
  const { found, seen, stillPassed } = look;
  const known = fileOf(look.files, there);
  if (known !== undefined) {
    seen.push(known.reader.head);
    return placeBefore(look, known);
  }
  const key = `${there.device}.${there.inode}.${there.version}`;
  const passedHead = look.passed.get(key);
  if (passedHead !== undefined) {
    seen.push(passedHead);
    return void stillPassed.set(key, passedHead);
  }
  const candidate = openCandidate(sibling.path, sibling.isPacked);
  if ('kind' in candidate) return void (found.isUndecided = true);
  seen.push(candidate.head);
  if (isKnown(look, candidate)) {
    closeLog(candidate.log);
    stillPassed.set(key, candidate.head);
  } else if (candidate.head.length < partLength && isYoung(candidate, look.now)) {
    closeLog(candidate.log);
    found.isUndecided = true;
  } else look.between.push({ ...candidate, place: placeIn(look, candidate) });
}

function placeBefore(look: Look, before: LogFile | undefined): void {
  for (const entry of distinct(look.between)) look.found.entries.push({ entry, before });
  look.between = [];
}

function takeLive({ path, files, done, found, seen }: Look): void {
  const candidate = openCandidate(path, false);
  if ('kind' in candidate) return void (found.live = candidate);
  const { identity } = candidate.log;
  // Between the two looks another one may have come.
  found.live = identity;
  seen.push(candidate.head);
  const isAgain = found.entries.some(({ entry }) => isSame(entry.log.identity, identity));
  if (isAgain || fileOf(files, identity) !== undefined) return closeLog(candidate.log);
  for (const each of found.entries.filter(({ entry }) => isCopyInMaking(entry, candidate))) {
    closeLog(each.entry.log);
    found.entries.splice(found.entries.indexOf(each), 1);
  }
  const earlier = done.find(identity, candidate.head);
  const isBack = earlier !== undefined && candidate.size >= earlier.place.offset;
  found.entries.push({ entry: { ...candidate, place: isBack ? earlier.place : startOfFile }, before: undefined });
}

/** Where an earlier run had stopped, if it had read this file. */
function placeIn({ missing }: Look, candidate: Candidate): Place {
  const index = missing.findIndex((saved) => isCopyOf(candidate, saved) || isPlaceIn(candidate, saved));
  const [{ offset, skipping } = startOfFile] = index < 0 ? [] : missing.splice(index, 1);
  return { offset, skipping };
}

function fileOf(files: readonly LogFile[], identity: Identity): LogFile | undefined {
  return files.find(({ log }) => isSame(log.identity, identity));
}

function isKnown({ files, done }: Look, { log, head }: Candidate): boolean {
  if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
  return files.some(({ reader }) => isCopy(reader.head, head));
}

function isYoung({ modified }: Candidate, now: Millis): boolean {
  // One that is stamped in the future would be young for long.
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
