import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../platform/system-error.ts';
import { writeAll } from '../platform/write-all.ts';
import { ReportError } from './model.ts';

const prefix = 'kube-netfilter-tailer-report-';

/** Makes a folder for temporary files of this run. Removes the folders of killed runs, because each may have gigabytes. Throws a `ReportError`. */
export function createWorkFolder(parent = tmpdir()): { path: string; remove: () => void } {
  removeLeftOver(parent);
  const path = makeFolder(join(parent, `${prefix}${pidNamespace()}-${process.pid}-`));
  const remove = (): void => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true });
  };
  // An interrupted report calls `process.exit`, so the folder is removed here.
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

/** Throws a `ReportError`, so that a full disk for temporary files is not taken for a failure of the output. */
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

/** Removes this user's folders of ended processes, but only of its own PID namespace, because another container may share the parent folder. */
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
      // Another run has removed the folder meanwhile.
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

/** Identifies the PID namespace, because process ids are valid only within it. macOS has no namespaces. */
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
