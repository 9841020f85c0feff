import { fstatSync, readSync } from 'node:fs';
import type { Identity, OpenLog } from './open-log.ts';
import type { Position } from '../source.ts';

export interface Place {
  offset: number;
  /** The offset is within a line that is too long: its rest is passed over. */
  skipping: boolean;
}

/** Where reading goes on, and in which file. A type, because an interface is not assignable to `Position`. */
export type FilePosition = Pick<Identity, 'device' | 'inode'> &
  Pick<Place, 'offset' | 'skipping'> & {
    head: string;
    headLength: number;
    /** Digest of the first `partLength` bytes; null: it had fewer. */
    part: string | null;
    /** Bytes that it had at the last look; null for a packed file that was not read to its end. */
    size: number | null;
  };

export const startOfFile: Place = { offset: 0, skipping: false };

function readFilePosition(saved: Position | null | undefined): FilePosition | undefined {
  const { device, inode, offset, head, headLength, skipping, part, size } = saved ?? {};
  if (typeof device !== 'string' || typeof inode !== 'string' || typeof head !== 'string') return undefined;
  if (!isCount(offset) || !isCount(headLength) || typeof skipping !== 'boolean') return undefined;
  const optional = { part: typeof part === 'string' ? part : null, size: isCount(size) ? size : null };
  return { device, inode, offset, head, headLength, skipping, ...optional };
}

export interface LogPosition {
  /** The files that are not finished, the oldest first. */
  files: FilePosition[];
  /** The time of the last write to the last of them, in milliseconds since 1970. */
  modified: number;
  /** The file that was read to its end last. Those before it need not be read either, though they may look new once they are packed. */
  finished: FilePosition | undefined;
}

export function readLogPosition(saved: Position | undefined): LogPosition | undefined {
  const { files, modified, finished } = saved ?? {};
  if (!Array.isArray(files) || typeof modified !== 'number') return undefined;
  const read = files.map((file) => readFilePosition(file as Position));
  const whole = read.filter((file) => file !== undefined);
  return whole.length > 0 && whole.length === read.length
    ? { files: whole, modified, finished: readFilePosition(finished as Position | undefined) }
    : undefined;
}

/** The place in a file that was cut off: what is left of it was read, and its writer begins a line there. */
export function endOfCut(size: number): Place {
  return { offset: size, skipping: false };
}

/** A line that has begun at the end is skipped. Throws the system's error. */
export function endOfFile({ fd }: OpenLog): Place {
  const offset = fstatSync(fd).size;
  const last = Buffer.alloc(1);
  return { offset, skipping: offset > 0 && readSync(fd, last, 0, 1, offset - 1) === 1 && last.toString() !== '\n' };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
