import { fstatSync, readSync } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';
import { unpackedHead } from './content.ts';
import type { FilePosition, Place } from './file-position.ts';
import type { LogFile } from './log-file.ts';
import { closeLog, headLength, isSame, type Obstacle, openLog, readHead } from './open-log.ts';
import type { FinishedFile } from './reading-order.ts';
import { begins, type Candidate, fingerprintOf, isCopy, isCopyInMaking, partLength } from './relation.ts';
import { siblingsOf } from './siblings.ts';

export interface Entry extends Candidate {
  place: Place;
}

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
 * Reads the file's present size and first bytes. Returns false if it was cut off since it was opened, begins otherwise, or was still being
 * packed: it may have been taken for another file. Throws the system's error.
 */
export function refresh(candidate: Candidate): boolean {
  const { log, isPacked, head, size } = candidate;
  if (isPacked) {
    if (head.length === headLength) return true;
    candidate.head = unpackedHead(log.fd) ?? head;
    candidate.size = sizeOfPacked(candidate.head);
    return candidate.head.length === head.length;
  }
  candidate.head = readHead(log.fd);
  ({ size: candidate.size, mtimeMs: candidate.modified } = fstatSync(log.fd));
  return candidate.size >= size && begins(candidate.head, head);
}

/**
 * Returns where to continue in the file of the position `saved`. One that was cut off goes on at its end: the rest was read before, and the
 * writer begins a new line there.
 */
export function placeOf({ size }: Candidate, { offset, skipping }: FilePosition): Place {
  return size < offset ? { offset: size, skipping: false } : { offset, skipping };
}

/** Closes files that are also there under a later name: behind a symbolic link, or while they are being packed or copied. */
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

/** Finds a copy of content that is gone, with at least `offset` bytes. The caller closes it. */
export function findCopy(path: string, head: Buffer, offset: number, files: readonly LogFile[]): Candidate | undefined {
  // Try twice, because files may be renamed meanwhile. Begin with the newest, because an older one may have the same beginning.
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

/** Returns the rest of a file that was cut off but not emptied; undefined if it is, or may be, another file by now. */
export function restOf({ log, reader }: LogFile): Pick<Entry, 'head' | 'place'> | undefined {
  try {
    const head = readHead(log.fd);
    // Read the size after the head. If the file is written meanwhile, its size then no longer fits.
    const { size } = fstatSync(log.fd);
    const isRest =
      head.length >= partLength && size >= head.length && size < reader.offset && isCopy(head, reader.head);
    return isRest ? { head, place: { offset: size, skipping: false } } : undefined;
  } catch {
    return undefined;
  }
}

export function passOver({ log, head, size, isPacked }: Candidate): FinishedFile {
  closeLog(log);
  return { identity: log.identity, head, place: { offset: isPacked ? 0 : size, skipping: false } };
}

export function positionAtEnd({ log, isPacked, head, size }: Candidate): FilePosition {
  const whole = isPacked ? { offset: 0, size: null } : { offset: size, size };
  return { ...log.identity, ...whole, skipping: false, ...fingerprintOf(head) };
}

/** Begins at the end. A line that has already begun there is skipped. Throws the system's error. */
export function atEnd(candidate: Candidate): Entry {
  const { fd } = candidate.log;
  const offset = fstatSync(fd).size;
  const last = Buffer.alloc(1);
  const skipping = offset > 0 && readSync(fd, last, 0, 1, offset - 1) === 1 && last.toString() !== '\n';
  return { ...candidate, place: { offset, skipping } };
}
