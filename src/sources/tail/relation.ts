/** Recognises files of a log after it was rotated: by their inode, and by the first bytes of their content. */
import type { Millis } from '../../model/log-line.ts';
import type { FilePosition } from './file-position.ts';
import { digestOf, partLength } from './fingerprint.ts';
import type { OpenLog } from './open-log.ts';

/** A file that was found and is held open. */
export interface Candidate {
  log: OpenLog;
  isPacked: boolean;
  head: Buffer;
  /** Bytes; of a packed file, of what was packed, and infinite if that is more than `head`: then it is not known. */
  size: number;
  modified: Millis;
}

/** In the order in which they are believed; `other`: nothing says that it was read. */
export const relations = ['same', 'copy', 'cut', 'copy of cut'] as const;
export type Relation = (typeof relations)[number] | 'other';

/**
 * Returns what a file is to the one that a position was saved of. The first row that fits:
 *
 *     relation      inode   size       content
 *     same          same    ≥ offset   begins with the saved head; the device is the same, or the head is long
 *     copy          any     ≥ offset   begins with the saved head, which is long
 *     cut           same    < offset   has what is left of the saved head, which is long
 *     copy of cut   any     < offset   the same
 *     other         anything else
 *
 * `offset`: bytes that had been read. Long: 64 bytes or more, which a time stamp makes unique. The head of a file has up to 1 KiB. The number of
 * a device may change when the node boots. A packed file is a copy, whatever its inode is.
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

/** Whether one of two files is (a copy of) the other as it was earlier or later, going by their first bytes. */
export function isCopy(a: Buffer, b: Buffer): boolean {
  const common = Math.min(a.length, b.length);
  if (common < partLength && a.length !== b.length) return false;
  return common > 0 && a.compare(b, 0, common, 0, common) === 0;
}

/** Whether a file that begins with `head` is one that began with `earlier`. */
export function begins(head: Buffer, earlier: Buffer): boolean {
  return head.length >= earlier.length && head.compare(earlier, 0, earlier.length, 0, earlier.length) === 0;
}

/** Whether a file is copied there, before it is cut off: then it is read itself. */
export function isCopyInMaking(copy: Candidate, original: Candidate): boolean {
  return !copy.isPacked && !original.isPacked && copy.size <= original.size && isCopy(copy.head, original.head);
}

/** A file that was written to within that time may be a copy in the making, as long as it is short: disks may halt. */
const copying: Millis = 60_000;

/** Whether it may become a copy of a file that begins with one of `openings`: it has to be looked at again. */
export function isUndecided({ head, modified }: Candidate, openings: readonly Buffer[], now: Millis): boolean {
  // A file that is stamped in the far future would be young for long.
  const isYoung = Math.abs(now - modified) < copying;
  return (head.length === 0 || (head.length < partLength && isYoung)) && openings.some((other) => begins(other, head));
}
