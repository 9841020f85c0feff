import { fstatSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { type FinishedFile, isCopy } from './finished-files.ts';
import { endOfFile, fits, fitsContent, type FilePosition, type Place } from './file-position.ts';
import { readHead } from './fingerprint.ts';
import { closeLog, isSame, type Obstacle, openLog, type OpenLog } from './open-log.ts';
import { unpackedHead } from './packed-content.ts';

export interface Candidate {
  log: OpenLog;
  isPacked: boolean;
  head: Buffer;
  /** Bytes; of a packed file, of what was packed: not known. */
  size: number;
  modified: Millis;
}

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
    if (head !== undefined) return { log, isPacked, head, size: isPacked ? Infinity : size, modified };
    closeLog(log);
    return { kind: 'unreadable', text: `${path} is not packed as its name says, or not wholly yet` };
  } catch (error) {
    closeLog(log);
    return { kind: 'unreadable', text: `${path} cannot be read: ${reasonOf(error)}` };
  }
}

/** Whether `saved` was a place in this very file. Throws the system's error. */
export function isFileOf({ log, isPacked, head }: Candidate, saved: FilePosition): boolean {
  return !isPacked && fits(log, head, saved);
}

/** Whether `saved` was a place in a file that this one is a copy of. */
export function isCopyOf({ head, size }: Candidate, saved: FilePosition): boolean {
  return size >= saved.offset && fitsContent(head, saved);
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

/** Whether a file is copied there, before it is cut off: then it is read itself. */
export function isCopyInMaking(copy: Candidate, original: Candidate): boolean {
  return !copy.isPacked && !original.isPacked && copy.size <= original.size && isCopy(copy.head, original.head);
}

export function passOver({ log, head, size, isPacked }: Candidate): FinishedFile {
  closeLog(log);
  return { identity: log.identity, head, place: { offset: isPacked ? 0 : size, skipping: false } };
}

/** Throws the system's error. */
export function atEnd(candidate: Candidate): Entry {
  return { ...candidate, place: endOfFile(candidate.log) };
}
