import { closeSync, constants, fstatSync, openSync, statSync, type BigIntStats } from 'node:fs';
import { reasonOf } from '../../platform/system-error.ts';

/** The identity of a file, for as long as it exists. Decimal, because a number cannot hold 64 bits exactly. */
export interface Identity {
  device: string;
  inode: string;
}

export interface Seen extends Identity {
  /** Another one whenever something was written to it. */
  version: string;
}

/** A log that is held open: its content stays, whatever becomes of its name. */
export interface OpenLog {
  fd: number;
  identity: Identity;
}

/** Why there is nothing to read at a path; `text` names it and says what to do. */
export interface Obstacle {
  kind: 'missing' | 'not-a-file' | 'unreadable';
  text: string;
}

/** Looks at what stands at a path, without opening it. Never throws. */
export function lookAt(path: string): Seen | Obstacle {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return missing(path);
    const identity = identityOf(path, stat);
    return 'kind' in identity ? identity : { ...identity, version: `${stat.size}.${stat.mtimeNs}` };
  } catch (error) {
    return obstacle(path, error);
  }
}

/** Opens a regular file, nothing else: to open a device or a pipe can change it, or wait. Never throws. */
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
    // Some file systems report earlier errors here. The descriptor is free in any case (close(2)).
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
  return { kind: 'unreadable', text: `${path} cannot be read: ${readingAdviceOn(error)}` };
}

/** Why a file or folder of the node cannot be read, and what to do. */
export function readingAdviceOn(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' && code !== 'EPERM') return reasonOf(error);
  return 'permission denied. Run the container as a user who may read it (root may, but for SELinux; privileged in any case)';
}

function missing(path: string): Obstacle {
  return { kind: 'missing', text: `${path} is not there; it is read as soon as it is` };
}
