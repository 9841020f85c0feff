import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../platform/system-error.ts';
import { writeAll } from '../platform/write-all.ts';
import { ReportError } from './model.ts';

const prefix = 'kube-netfilter-tailer-report-';

/** A folder for this run alone. */
export interface WorkFolder {
  path: string;
  remove: () => void;
}

/**
 * Makes a folder in the system's one for temporary files, and removes those of runs that were killed (SIGKILL, out of memory): each may
 * have gigabytes. Throws a `ReportError` where none can be made.
 */
export function createWorkFolder(parent = tmpdir()): WorkFolder {
  removeLeftOver(parent);
  const path = makeFolder(join(parent, `${prefix}${pidNamespace()}-${process.pid}-`));
  const remove = (): void => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  // A report that is interrupted ends by `process.exit`.
  process.once('exit', remove);
  return { path, remove };
}

function makeFolder(start: string): string {
  try {
    return mkdtempSync(start);
  } catch (error) {
    throw inOtherPlace('no folder for temporary files can be made', error);
  }
}

/** Writes as `writeAll` does. A full disk of temporary files is not a fault of the output, so it is a `ReportError`. */
export function writeTemporary(fd: number, text: string | Buffer): void {
  try {
    writeAll(fd, text);
  } catch (error) {
    throw inOtherPlace('temporary files cannot be written', error);
  }
}

function inOtherPlace(what: string, cause: unknown): ReportError {
  return new ReportError(`${what} (TMPDIR names another place): ${reasonOf(cause)}`, { cause });
}

/** Removes what this user owns, of processes that this one would see: a container that shares the folder may have others. */
function removeLeftOver(parent: string): void {
  const own = new RegExp(`^${prefix}${pidNamespace()}-(\\d{1,10})-`);
  for (const name of namesIn(parent)) {
    const pid = own.exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(parent, name);
    try {
      const found = lstatSync(path);
      if (found.isDirectory() && found.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another run removes it, too; or the next one does.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Process ids mean nothing in another one. `0` where the system has none (macOS). */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
