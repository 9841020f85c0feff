import type { Millis } from '../../model/log-line.ts';
import { distinct, type Entry, openCandidate, placeAfter } from './candidate.ts';
import { type FilePosition, type Place, startOfFile } from './file-position.ts';
import type { DoneFiles } from './finished-files.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, type Identity, isSame, lookAt, type Obstacle } from './open-log.ts';
import { type Candidate, isCopy, isCopyInMaking, isUndecided } from './relation.ts';
import { type Sibling, siblingsOf } from './siblings.ts';

export interface Found {
  /** The file at the path now, or the reason why there is none. */
  live: Identity | Obstacle;
  /** Files that were not known, each with the file that it is to be read before; undefined: after all others. */
  entries: { entry: Entry; before: LogFile | undefined }[];
  /** Places past the end of files that had not been found before, and were cut off since. */
  cut: FilePosition[];
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
  /** Files that are known, and siblings that were opened, as they may be new; the oldest first. */
  there: (LogFile | Opened)[];
  /** The file at the path, if it is not known yet. */
  live: Candidate | undefined;
  /** New files since the last known one: they come before the next known one. */
  between: Entry[];
}

interface Opened {
  candidate: Candidate;
  /** Another one whenever something was written to it. */
  key: string;
}

/**
 * Looks for files that are not known yet, under all the names that a file of this log gets. Undefined if one that is known was cut
 * off: it is to be looked again, as that one goes on in a copy. Never throws.
 */
export function discoverRotated(options: DiscoverOptions): Found | undefined {
  const { path, files, done, passed } = options;
  const found: Found = { live: { kind: 'missing', text: '' }, entries: [], cut: [], isUndecided: false };
  const look: Look = { ...options, found, seen: [], stillPassed: new Map(), there: [], live: undefined, between: [] };
  for (const sibling of siblingsOf(path)) openSibling(look, sibling);
  openLive(look);
  // All must be open before: they are compared with the first bytes of the known ones, and one of them may be a copy.
  if (haveBeenCut(files)) {
    for (const each of look.there) if ('candidate' in each) closeLog(each.candidate.log);
    if (look.live !== undefined) closeLog(look.live.log);
    return undefined;
  }
  for (const each of look.there)
    if ('candidate' in each) takeSibling(look, each);
    else {
      look.seen.push(each.reader.head);
      placeBefore(look, each);
    }
  placeBefore(look, undefined);
  if (look.live !== undefined) takeLive(look, look.live);
  done.keepOnly(look.seen);
  passed.clear();
  for (const [key, head] of look.stillPassed) passed.set(key, head);
  return found;
}

function openSibling(look: Look, sibling: Sibling): void {
  const there = lookAt(sibling.path);
  if ('kind' in there) return;
  const known = fileOf(look.files, there);
  if (known !== undefined) return void look.there.push(known);
  const key = `${there.device}.${there.inode}.${there.version}`;
  const passedHead = look.passed.get(key);
  if (passedHead !== undefined) {
    look.seen.push(passedHead);
    return void look.stillPassed.set(key, passedHead);
  }
  const candidate = openCandidate(sibling.path, sibling.isPacked);
  if ('kind' in candidate) return void (look.found.isUndecided = true);
  look.there.push({ candidate, key });
}

function haveBeenCut(files: readonly LogFile[]): boolean {
  const known = files.slice();
  for (const file of known) file.verify();
  return files.length !== known.length || known.some((file, index) => file !== files[index]);
}

function openLive(look: Look): void {
  const { path, files, found } = look;
  found.live = lookAt(path);
  if ('kind' in found.live) return;
  const known = fileOf(files, found.live);
  if (known !== undefined) return void look.there.push(known);
  const candidate = openCandidate(path, false);
  if ('kind' in candidate) return void (found.live = candidate);
  // Between the two looks another one may have come.
  found.live = candidate.log.identity;
  look.live = candidate;
}

function takeSibling(look: Look, { candidate, key }: Opened): void {
  const { found, seen, stillPassed, now } = look;
  seen.push(candidate.head);
  if (isKnown(look, candidate)) {
    closeLog(candidate.log);
    stillPassed.set(key, candidate.head);
  } else if (isUndecided(candidate, openingsOf(look), now)) {
    closeLog(candidate.log);
    found.isUndecided = true;
  } else look.between.push({ ...candidate, place: placeIn(look, candidate) });
}

function openingsOf({ files, live }: Look): Buffer[] {
  const openings = files.map(({ reader }) => reader.head);
  return live === undefined ? openings : [...openings, live.head];
}

function placeBefore(look: Look, before: LogFile | undefined): void {
  for (const entry of distinct(look.between)) look.found.entries.push({ entry, before });
  look.between = [];
}

function takeLive({ files, done, found, seen }: Look, candidate: Candidate): void {
  const { identity } = candidate.log;
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
function placeIn({ missing, found }: Look, candidate: Candidate): Place {
  for (const [index, saved] of missing.entries()) {
    const place = placeAfter(candidate, saved);
    if (place === undefined) continue;
    missing.splice(index, 1);
    if (place.offset < saved.offset) found.cut.push(saved);
    return place;
  }
  return startOfFile;
}

function fileOf(files: readonly LogFile[], identity: Identity): LogFile | undefined {
  return files.find(({ log }) => isSame(log.identity, identity));
}

function isKnown({ files, done }: Look, { log, head }: Candidate): boolean {
  if (done.find(log.identity, head) !== undefined || done.hasCopyOf(head)) return true;
  return files.some(({ reader }) => isCopy(reader.head, head));
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
