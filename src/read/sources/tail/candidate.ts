import { fstatSync, readSync } from 'node:fs';
import { reasonOf } from '../../../base/platform/system-error.ts';
import { unpackedHead } from './content.ts';
import {
  mayBeginAs,
  type Candidate,
  type FilePosition,
  fingerprintOf,
  isCopy,
  isCopyInMaking,
  partLength,
  type Place,
  relationOf,
} from './relation.ts';
import type { LogFile } from './log-file.ts';
import {
  closeLog,
  headLength,
  type Identity,
  isSame,
  lookAt,
  type Obstacle,
  type OpenLog,
  openLog,
  readHead,
} from './open-log.ts';
import { pathsInFolders, type Sibling, siblingsOf } from './siblings.ts';

export interface LogEntry extends Candidate {
  place: Place;
}

interface Scan<Known> {
  /** The oldest file first, and the one at the path last, if it can be read. */
  there: (Known | Candidate)[];
  live: Identity | Obstacle;
  /** Whether a rotated file could not be opened, so that not all files are known. */
  hasUnopened: boolean;
  /** Whether there were not enough file descriptors. */
  isShort: boolean;
}

/**
 * Opens the files of a log, except those that are open already. The file at the path is looked at last: if it is copied and cut off
 * meanwhile, the copy is missing, but its content is not taken for that of another file. Without enough file descriptors for all, those
 * that `isDone` are closed at once, and the newest stay unopened. `earlier`: other paths that the log had.
 */
export function scanFiles<Known extends { log: OpenLog }>(
  path: string,
  known: readonly Known[],
  isDone: (candidate: Candidate) => boolean = () => false,
  earlier: readonly string[] = [],
): Scan<Known> {
  const there: (Known | Candidate)[] = [];
  let hasUnopened = false;
  let isShort = false;
  for (const sibling of siblingsOf(path, earlier)) {
    const found = lookAt(sibling.path);
    if ('kind' in found) continue;
    const file = knownOr(found, sibling.path, sibling.isPacked);
    if ('kind' in file) hasUnopened = true;
    else there.push(file);
  }
  const atPath = lookAt(path);
  const live = 'kind' in atPath ? atPath : knownOr(atPath, path, false);
  if ('kind' in live) return { there, live, hasUnopened, isShort };
  // Another file may have appeared between the two looks.
  return { there: [...there, live], live: live.log.identity, hasUnopened, isShort };

  function knownOr(identity: Identity, file: string, isPacked: boolean): Known | Candidate | Obstacle {
    return known.find(({ log }) => isSame(log.identity, identity)) ?? openOne(file, isPacked);
  }

  function openOne(file: string, isPacked: boolean): Candidate | Obstacle {
    for (;;) {
      const opened = openCandidate(file, isPacked);
      if (!('kind' in opened) || opened.isLimit !== true) return opened;
      isShort = true;
      const index = there.findIndex((each) => !known.includes(each as Known) && isDone(each as Candidate));
      const [done] = index < 0 ? [] : there.splice(index, 1);
      if (done === undefined) return opened;
      hasUnopened = true;
      closeLog(done.log);
    }
  }
}

function openCandidate(path: string, isPacked: boolean): Candidate | Obstacle {
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

/**
 * Returns the path that the log would have in each folder beside it to which a `saved` file was moved (logrotate's `olddir`). A name alone
 * does not show it, because another host's or program's log may have the same.
 */
export function movedPathsOf(path: string, saved: readonly FilePosition[]): string[] {
  return pathsInFolders(path).filter((moved) => siblingsOf(moved).some(isSaved));

  function isSaved(sibling: Sibling): boolean {
    const candidate = openCandidate(sibling.path, sibling.isPacked);
    if ('kind' in candidate) return false;
    closeLog(candidate.log);
    return saved.some((file) => relationOf(candidate, file) !== 'other');
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
  return candidate.size >= size && mayBeginAs(candidate.head, head);
}

/** A file that was cut off continues at its end, and `saved` is added to `cut`: the rest was read, and the writer begins a new line. */
export function placeOf({ size }: Candidate, saved: FilePosition, cut: FilePosition[]): Place {
  if (size >= saved.offset) return { offset: saved.offset, skipping: saved.skipping };
  cut.push(saved);
  return { offset: size, skipping: false };
}

/** Returns each file once, and closes the others that are the same: behind a symbolic link, or while a file is being packed or copied. */
export function distinctCandidates<Each extends Candidate>(candidates: readonly Each[]): Each[] {
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

/** Finds a copy of lost content, with at least `offset` bytes. The caller closes it. */
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
export function restOf({ log, reader }: LogFile): Pick<LogEntry, 'head' | 'place'> | undefined {
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

/** Closes a file, whose content then counts as read. */
export function closeAsRead({ log, head, size, isPacked }: Candidate): FinishedFile {
  closeLog(log);
  return { identity: log.identity, head, place: { offset: isPacked ? 0 : size, skipping: false } };
}

export function positionAtEnd({ log, isPacked, head, size }: Candidate): FilePosition {
  const whole = isPacked ? { offset: 0, size: null } : { offset: size, size };
  return { ...log.identity, ...whole, skipping: false, ...fingerprintOf(head) };
}

/** Begins at the end. A line that has already begun there is skipped. Throws the system's error. */
export function entryAtEnd(candidate: Candidate): LogEntry {
  const { fd } = candidate.log;
  const offset = fstatSync(fd).size;
  const last = Buffer.alloc(1);
  const skipping = offset > 0 && readSync(fd, last, 0, 1, offset - 1) === 1 && last.toString() !== '\n';
  return { ...candidate, place: { offset, skipping } };
}

/** A file that was read. Its content must not be read again, whatever its name becomes. */
export interface FinishedFile {
  /** Undefined if the file itself has other content now, so that only copies of it can be found. */
  identity: Identity | undefined;
  head: Buffer;
  place: Place;
}

/** The most files that are remembered, with up to 1 KiB each. If a log has more rotated files, the oldest would look new. */
const maxFinished = 4096;

export interface FinishedFiles {
  add(file: FinishedFile): void;
  /** Finds the file itself by its inode, if it still begins with the same bytes. */
  find(identity: Identity, head: Buffer): FinishedFile | undefined;
  hasCopyOf: (head: Buffer) => boolean;
  /** Forgets files that two scans in a row have not found. `seen`: the first bytes of all files that exist. */
  keepOnly(seen: readonly Buffer[]): void;
}

export function createFinishedFiles(): FinishedFiles {
  let files: { file: FinishedFile; missed: number }[] = [];
  return {
    add(file: FinishedFile): void {
      files = [...files.slice(1 - maxFinished), { file, missed: 0 }];
    },
    find(identity: Identity, head: Buffer): FinishedFile | undefined {
      const isOne = ({ identity: its, head: known }: FinishedFile): boolean =>
        // Nothing was read of an empty file. If it has content, the content is new, or another file has its inode.
        its !== undefined && isSame(its, identity) && (known.length > 0 ? mayBeginAs(head, known) : head.length === 0);
      return files.findLast(({ file }) => isOne(file))?.file;
    },
    hasCopyOf: (head: Buffer): boolean => files.some(({ file }) => isCopy(file.head, head)),
    keepOnly(seen: readonly Buffer[]): void {
      // A file that is being packed or renamed may be missing for a moment.
      for (const entry of files)
        entry.missed = seen.some((head) => isCopy(head, entry.file.head)) ? 0 : entry.missed + 1;
      files = files.filter(({ missed }) => missed < 2);
    },
  };
}
