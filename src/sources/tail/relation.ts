/** How a file of a log is recognised after it was rotated: by its inode, and by the first bytes of its content. */
import { createHash } from 'node:crypto';
import type { Millis } from '../../model/log-line.ts';
import type { FilePosition } from './file-position.ts';
import type { OpenLog } from './open-log.ts';

/** Content of this length distinguishes files by itself: it holds a time stamp and more. */
export const partLength = 64;

/** A file that was found and is held open. */
export interface Candidate {
  log: OpenLog;
  isPacked: boolean;
  /** The first bytes, up to 1 KiB; of a packed file, those of what was packed. */
  head: Buffer;
  /** In bytes; of a packed file, of what was packed: infinite if that is more than `head`, because then it is not known. */
  size: number;
  modified: Millis;
}

/** In the order in which they are believed. */
export const relations = ['same', 'copy', 'cut', 'copy of cut'] as const;
export type Relation = (typeof relations)[number] | 'other';

/**
 * Says what a file is to the one that a position was saved of. The first row that fits decides:
 *
 *     relation      inode   size       content
 *     same          same    ≥ offset   begins with the saved head; the head is long, or the device is the same, too
 *     copy          any     ≥ offset   begins with the saved head, which is long
 *     cut           same    < offset   has what is left of the saved head, which is long
 *     copy of cut   any     < offset   has what is left of the saved head, which is long
 *     other         every other file: nothing says that it was read
 *
 * `offset` is how many bytes had been read. A head is the first 1 KiB, or less; it is long from 64 bytes on, because a time stamp makes
 * so much text unique. The device is not enough by itself, because its number may change when the node boots. A packed file is a copy,
 * whatever its inode is.
 */
export function relationOf({ log, isPacked, head, size }: Candidate, saved: FilePosition): Relation {
  const isSameInode = !isPacked && log.identity.inode === saved.inode;
  const isLong = saved.headLength >= partLength;
  if (size < saved.offset) {
    if (!hasRest(head, saved)) return 'other';
    return isSameInode ? 'cut' : 'copy of cut';
  }
  if (!hasHead(head, saved)) return 'other';
  if (isSameInode && (isLong || log.identity.device === saved.device)) return 'same';
  return isLong ? 'copy' : 'other';
}

function hasHead(head: Buffer, saved: FilePosition): boolean {
  return head.length >= saved.headLength && digestOf(head.subarray(0, saved.headLength)) === saved.head;
}

/** A file of which less is left than is known of it is compared by its first 64 bytes. */
function hasRest(head: Buffer, saved: FilePosition): boolean {
  if (head.length < partLength) return false;
  if (head.length >= saved.headLength) return saved.headLength >= partLength && hasHead(head, saved);
  return digestOf(head.subarray(0, partLength)) === saved.part;
}

/** Returns what is saved of the first bytes of a file. */
export function fingerprintOf(head: Buffer): Pick<FilePosition, 'head' | 'headLength' | 'part'> {
  const part = head.length < partLength ? null : digestOf(head.subarray(0, partLength));
  return { head: digestOf(head), headLength: head.length, part };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** Whether one of two files is (a copy of) the other as it was earlier or later, going by their first bytes. */
export function isCopy(a: Buffer, b: Buffer): boolean {
  const common = Math.min(a.length, b.length);
  if (common < partLength && a.length !== b.length) return false;
  return common > 0 && a.compare(b, 0, common, 0, common) === 0;
}

/** Whether a file that begins with `head` may be the one that began with `earlier`. */
export function begins(head: Buffer, earlier: Buffer): boolean {
  return head.length >= earlier.length && head.compare(earlier, 0, earlier.length, 0, earlier.length) === 0;
}

/** Whether `original` is being copied to `copy`, before it is cut off. The original alone is read then. */
export function isCopyInMaking(copy: Candidate, original: Candidate): boolean {
  return !copy.isPacked && !original.isPacked && copy.size <= original.size && isCopy(copy.head, original.head);
}

/** A short file that was written to within this time may be a copy in the making: disks may halt. */
const copying: Millis = 60_000;

/** Whether a short file may become a copy of one that begins with one of `openings`: it has to be looked at again. */
export function isUndecided({ head, modified }: Candidate, openings: readonly Buffer[], now: Millis): boolean {
  // A stamp in the far future must not keep a file young for long.
  const isYoung = Math.abs(now - modified) < copying;
  return (head.length === 0 || (head.length < partLength && isYoung)) && openings.some((other) => begins(other, head));
}
