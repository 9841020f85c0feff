import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { reasonOf } from '../../../base/platform/system-error.ts';

/** Identifies a file as long as it exists. The numbers are texts, because they may have 64 bits. */
export interface Identity {
  device: string;
  inode: string;
}

/** A file that is held open. Its content stays readable even if it is renamed or deleted. */
export interface OpenLog {
  fd: number;
  identity: Identity;
}

/** The reason why nothing can be read at a path. `text` names the path and says what to do. */
export interface Obstacle {
  kind: 'missing' | 'not-a-file' | 'unreadable';
  text: string;
  /** The process, or the node, has no file descriptor left. */
  isLimit?: boolean;
}

export function lookAt(path: string): Identity | Obstacle {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? missing(path) : identityOf(path, stat);
  } catch (error) {
    return obstacle(path, error);
  }
}

/** Opens regular files only, because opening a device or a pipe can change it, or block. Never throws. */
export function openLog(path: string): OpenLog | Obstacle {
  const there = lookAt(path);
  if ('kind' in there) return there;
  let fd: number | undefined;
  let identity: Identity | Obstacle;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    identity = identityOf(path, fstatSync(fd, { bigint: true }));
    if (!('kind' in identity)) return { fd, identity };
  } catch (error) {
    identity = obstacle(path, error);
  }
  if (fd !== undefined) closeSync(fd);
  return identity;
}

/** The number of bytes at the start of a file that identify it. An inode number is not enough, because it is reused at once. */
export const headLength = 1024;

/** Returns the first bytes of a file, up to `headLength`. Throws the system's error. */
export function readHead(fd: number): Buffer {
  const head = Buffer.alloc(headLength);
  return head.subarray(0, readSync(fd, head, 0, headLength, 0));
}

/** Copies bytes that are kept for long: a part of a larger buffer, as the 64 KiB of Node.js' pool, would keep all of it in memory. */
export function ownCopy(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

export function isDeleted({ fd }: OpenLog): boolean {
  try {
    return fstatSync(fd).nlink === 0;
  } catch {
    return false;
  }
}

export function closeLog({ fd }: OpenLog): void {
  try {
    closeSync(fd);
  } catch {
    // Some file systems report earlier errors here, but the descriptor is closed in any case (close(2)).
  }
}

export function isSame(a: Identity, b: Identity): boolean {
  return a.inode === b.inode && a.device === b.device;
}

function identityOf(path: string, stat: BigIntStats): Identity | Obstacle {
  if (stat.isFile()) return { device: String(stat.dev), inode: String(stat.ino) };
  if (stat.isDirectory()) return { kind: 'not-a-file', text: `${path} is a folder: name a file in it` };
  const what = stat.isFIFO() ? 'named pipe' : stat.isSocket() ? 'socket' : 'device';
  return { kind: 'not-a-file', text: `${path} is a ${what}: only a regular file can be followed` };
}

function obstacle(path: string, error: unknown): Obstacle {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return missing(path);
  const isLimit = ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '');
  return { kind: 'unreadable', text: `${path} cannot be read: ${readingAdviceOn(error)}`, isLimit };
}

export function readingAdviceOn(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM') return reasonOf(error);
  return 'permission denied. Run the container as a user who may read it (root may, but for SELinux; privileged in any case)';
}

function missing(path: string): Obstacle {
  return { kind: 'missing', text: `${path} is not there; it is read as soon as it is` };
}
