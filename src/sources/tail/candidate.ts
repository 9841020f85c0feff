import { fstatSync } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';
import type { FinishedFile } from './finished-files.ts';
import { endOfCut, endOfFile, type FilePosition, type Place } from './file-position.ts';
import { digestOf, headLength, partLength, readHead } from './fingerprint.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, isSame, type Obstacle, openLog } from './open-log.ts';
import { unpackedHead } from './packed-content.ts';
import { begins, type Candidate, isCopy, isCopyInMaking, relationOf } from './relation.ts';

export interface Entry extends Candidate {
  place: Place;
}

/** Never throws. */
export function openCandidate(path: string, isPacked: boolean): Candidate | Obstacle {
  const log = openLog(path);
  if ('kind' in log) return log;
  try {
    const head = isPacked ? unpackedHead(log.fd) : readHead(log.fd);
    const { size, mtimeMs: modified } = fstatSync(log.fd);
    if (head !== undefined) return { log, isPacked, head, size: isPacked ? sizeOfPacked(head) : size, modified };
    closeLog(log);
    return { kind: 'unreadable', text: `${path} is not packed as its name says, or not wholly yet` };
  } catch (error) {
    closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

function sizeOfPacked({ length }: Buffer): number {
  return length < headLength ? length : Infinity;
}

/**
 * Takes in what has come to it since it was opened. False if it was cut off meanwhile, or begins otherwise: then it holds what
 * the file is now. Throws the system's error.
 */
export function refresh(candidate: Candidate): boolean {
  const { log, isPacked, head, size } = candidate;
  if (isPacked) return refreshPacked(candidate);
  candidate.head = readHead(log.fd);
  ({ size: candidate.size, mtimeMs: candidate.modified } = fstatSync(log.fd));
  return candidate.size >= size && begins(candidate.head, head);
}

/** False if it was being packed when it was opened, and what its short beginning was taken for may be wrong. */
function refreshPacked(candidate: Candidate): boolean {
  const { log, head } = candidate;
  if (head.length === headLength) return true;
  candidate.head = unpackedHead(log.fd) ?? head;
  candidate.size = sizeOfPacked(candidate.head);
  return candidate.head.length === head.length;
}

/** Returns the position to go on from in the file that `saved` is of; undefined: this is another file. */
export function placeAfter(candidate: Candidate, saved: FilePosition): Place | undefined {
  return relationOf(candidate, saved) === 'other' ? undefined : placeOf(candidate, saved);
}

/** The same, of one that is known to hold it. */
export function placeOf({ size }: Candidate, { offset, skipping }: FilePosition): Place {
  return size < offset ? endOfCut(size) : { offset, skipping };
}

/** A file may be there under a later name too: behind a symbolic link, or while it is being packed. Such copies are closed. */
export function distinct<Each extends Candidate>(candidates: readonly Each[]): Each[] {
  return candidates.filter((each, index) => {
    const isAgain = candidates.some(
      (other, place) =>
        (place > index && isSame(each.log.identity, other.log.identity)) ||
        (each.isPacked && !other.isPacked && isCopy(each.head, other.head)) ||
        (place > index && isCopyInMaking(each, other)),
    );
    if (isAgain) closeLog(each.log);
    return !isAgain;
  });
}

/** Returns the rest of a file that was cut off but not emptied; undefined: it is another one by now, or may be any. */
export function restOf({ log, reader }: Pick<LogFile, 'log' | 'reader'>): Pick<Entry, 'head' | 'place'> | undefined {
  try {
    const head = readHead(log.fd);
    // The order matters: a file that is written again meanwhile is found shorter, or longer than what was read of it.
    const { size } = fstatSync(log.fd);
    const isRest =
      head.length >= partLength && size >= head.length && size < reader.offset && isCopy(head, reader.head);
    return isRest ? { head, place: endOfCut(size) } : undefined;
  } catch {
    return undefined;
  }
}

export function passOver({ log, head, size, isPacked }: Candidate): FinishedFile {
  closeLog(log);
  return { identity: log.identity, head, place: { offset: isPacked ? 0 : size, skipping: false } };
}

export function positionAtEnd({ log, isPacked, head, size }: Candidate): FilePosition {
  const part = head.length < partLength ? null : digestOf(head.subarray(0, partLength));
  const whole = isPacked ? { offset: 0, size: null } : { offset: size, size };
  return { ...log.identity, ...whole, skipping: false, head: digestOf(head), headLength: head.length, part };
}

/** Throws the system's error. */
export function atEnd(candidate: Candidate): Entry {
  return { ...candidate, place: endOfFile(candidate.log) };
}
