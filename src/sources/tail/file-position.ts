import type { Identity } from './open-log.ts';
import type { Position } from '../source.ts';

export interface Place {
  offset: number;
  /** The offset is inside a line that is too long, so its rest is skipped. */
  skipping: boolean;
}

/** Where reading continues, and in which file. A type, because an interface is not assignable to `Position`. */
export type FilePosition = Pick<Identity, 'device' | 'inode'> &
  Pick<Place, 'offset' | 'skipping'> & {
    head: string;
    headLength: number;
    /** The digest of the first `partLength` bytes; null if the file had fewer. */
    part: string | null;
    /** The size in bytes at the last scan; null for a packed file that was not read to its end. */
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
  /** The files that are not read to their ends, the oldest first. */
  files: FilePosition[];
  /** When the last of these files was last written, in milliseconds since 1970. */
  modified: number;
  /** The last file that was read to its end. Older files need not be read either, even if they look new after they are packed. */
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

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
