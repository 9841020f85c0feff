/** The saved data of a log's files, and the recognition of a file after rotation by its inode and its first bytes. */
import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import type { Millis } from '../../../base/model/log-line.ts';
import type { Position } from '../source.ts';
import type { OpenLog } from './open-log.ts';

export interface Place {
  offset: number;
  /** The offset is inside a line that is too long, so its rest is skipped. */
  skipping: boolean;
}

export const startOfFile: Place = { offset: 0, skipping: false };

const count = z.int().check(z.nonnegative());

/** The file in which reading continues, and the place in it. */
const filePosition = z.object({
  device: z.string(),
  inode: z.string(),
  offset: count,
  skipping: z.boolean(),
  /** The digest of the first `headLength` bytes. */
  head: z.string(),
  headLength: count,
  /** The digest of the first `partLength` bytes; null if the file had fewer. */
  part: z.catch(z.nullable(z.string()), null),
  /** The size in bytes at the last scan; null for a packed file that was not read to its end. */
  size: z.catch(z.nullable(count), null),
});

const logPosition = z.object({
  /** The files that are not read to their ends, the oldest first. */
  files: z.array(filePosition).check(z.minLength(1)),
  /** When the last of these files was last written, in milliseconds since 1970. */
  modified: z.number(),
  /** The last file that was read to its end. Older files need not be read either, even if they look new after they are packed. */
  finished: z.catch(z.optional(filePosition), undefined),
});

export type FilePosition = z.infer<typeof filePosition>;
export type LogPosition = z.infer<typeof logPosition>;

export function readLogPosition(saved: Position | undefined): LogPosition | undefined {
  return logPosition.safeParse(saved).data;
}

/** Content of this many bytes identifies a file: it contains a time stamp and more. */
export const partLength = 64;

/** A file that was found and is held open. */
export interface Candidate {
  log: OpenLog;
  isPacked: boolean;
  /** The first bytes, up to 1 KiB. For a packed file, the first unpacked bytes. */
  head: Buffer;
  /** The size in bytes. For a packed file, the unpacked size; Infinity if that is more than `head`, because it is then unknown. */
  size: number;
  modified: Millis;
}

/** In the order of trust, the most certain first. */
export const relations = ['same', 'copy', 'cut', 'copy of cut'] as const;
export type Relation = (typeof relations)[number] | 'other';

/**
 * Compares a file with the one whose position was saved. The first row that matches decides:
 *
 *     relation      inode   size       content
 *     same          same    ≥ offset   begins with the saved head; the head is long, or the device is the same, too
 *     copy          any     ≥ offset   begins with the saved head, which is long
 *     cut           same    < offset   has the rest of the saved head, which is long
 *     copy of cut   any     < offset   has the rest of the saved head, which is long
 *     other         every other file; nothing shows that it was read
 *
 * `offset` is how many bytes had been read. A head is the first 1 KiB, or less. From 64 bytes on it counts as long, because so much text
 * contains a time stamp and is unique. The device alone is not enough, because its number may change when the node boots. A packed file
 * counts as a copy, whatever its inode is.
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

/** If less of a file is left than its saved head, only its first 64 bytes are compared. */
function hasRest(head: Buffer, saved: FilePosition): boolean {
  if (head.length < partLength) return false;
  if (head.length >= saved.headLength) return saved.headLength >= partLength && hasHead(head, saved);
  return digestOf(head.subarray(0, partLength)) === saved.part;
}

export function fingerprintOf(head: Buffer): Pick<FilePosition, 'head' | 'headLength' | 'part'> {
  const part = head.length < partLength ? null : digestOf(head.subarray(0, partLength));
  return { head: digestOf(head), headLength: head.length, part };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** Returns whether the two files are the same or copies of each other, perhaps at different times. Only their first bytes are compared. */
export function isCopy(a: Buffer, b: Buffer): boolean {
  const common = Math.min(a.length, b.length);
  if (common < partLength && a.length !== b.length) return false;
  return common > 0 && a.compare(b, 0, common, 0, common) === 0;
}

/** Returns whether a file that begins with `head` may be the one that began with `earlier`. */
export function mayBeginAs(head: Buffer, earlier: Buffer): boolean {
  return head.length >= earlier.length && head.compare(earlier, 0, earlier.length, 0, earlier.length) === 0;
}

/** Returns whether `copy` is a copy of `original`, perhaps unfinished. Only the original is read until it is cut off. */
export function isCopyInMaking(copy: Candidate, original: Candidate): boolean {
  return !copy.isPacked && !original.isPacked && copy.size <= original.size && isCopy(copy.head, original.head);
}

/** A short file that was written within this time may be an unfinished copy, because disks may pause. */
const copying: Millis = 60_000;

/** Returns whether a short file may become a copy of one that begins with one of `openings`, so that it must be checked again. */
export function isUndecided({ head, modified }: Candidate, openings: readonly Buffer[], now: Millis): boolean {
  // A stamp in the far future must not make a file look young for long.
  const isYoung = Math.abs(now - modified) < copying;
  return (
    (head.length === 0 || (head.length < partLength && isYoung)) && openings.some((other) => mayBeginAs(other, head))
  );
}
