import { fstatSync, readSync } from 'node:fs';
import type { Identity, OpenLog } from './open-log.ts';
import type { Position } from '../source.ts';

export interface Place {
  /** The offset in bytes: the start of a line, or within one that is skipped. */
  offset: number;
  /** Within a line that is too long: its rest is to be passed over. */
  skipping: boolean;
}

/** Where reading goes on, and in which file: a `Position`, which an interface would not be. */
export type FilePosition = Pick<Identity, 'device' | 'inode'> &
  Pick<Place, 'offset' | 'skipping'> & {
    /** Digest of the first `headLength` bytes. */
    head: string;
    headLength: number;
    /** Digest of the first `partLength` bytes; null: it had fewer, or an older version wrote this. */
    part: string | null;
    /** Bytes it had at the last look, or null: of a packed file. */
    size: number | null;
  };

export const startOfFile: Place = { offset: 0, skipping: false };

/** Undefined if it is none, or was written by another kind of source. */
function readFilePosition(saved: Position | null | undefined): FilePosition | undefined {
  const { device, inode, offset, head, headLength, skipping, part = null, size = null } = saved ?? {};
  if (typeof device !== 'string' || typeof inode !== 'string' || typeof head !== 'string') return undefined;
  if (!isCount(offset) || !isCount(headLength) || typeof skipping !== 'boolean') return undefined;
  const optional = { part: typeof part === 'string' ? part : null, size: isCount(size) ? size : null };
  return { device, inode, offset, head, headLength, skipping, ...optional };
}

/** The positions of all files of a log that are not finished, the oldest first. */
export interface LogPosition {
  files: FilePosition[];
  /** The time of the last write to the last of them, in milliseconds since 1970. */
  modified: number;
  /** The file that was done with last: those before it are done with, too, though they may look new once they are packed. */
  finished: FilePosition | undefined;
}

/** Undefined if it is none, or was written by another kind of source. */
export function readLogPosition(saved: Position | undefined): LogPosition | undefined {
  const { files, modified, finished } = saved ?? {};
  if (!Array.isArray(files) || typeof modified !== 'number') return undefined;
  const read = files.map((file) => readFilePosition(file as Position));
  const whole = read.filter((file) => file !== undefined);
  return whole.length > 0 && whole.length === read.length
    ? { files: whole, modified, finished: readFilePosition(finished as Position | undefined) }
    : undefined;
}

/** The position in a file that was cut off: the rest of it was read, and its writer begins a line there. */
export function endOfCut(size: number): Place {
  return { offset: size, skipping: false };
}

/** Skips the rest of a line that has begun but not ended there. Throws the system's error. */
export function endOfFile({ fd }: OpenLog): Place {
  const offset = fstatSync(fd).size;
  const last = Buffer.alloc(1);
  return { offset, skipping: offset > 0 && readSync(fd, last, 0, 1, offset - 1) === 1 && last.toString() !== '\n' };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
