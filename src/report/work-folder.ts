import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../platform/system-error.ts';
import { writeAll } from '../platform/write-all.ts';
import { ReportError } from './model.ts';

/** Makes a folder for temporary files of this run. Throws a `ReportError`. */
export function createWorkFolder(parent = tmpdir()): { path: string; remove: () => void } {
  const path = makeFolder(join(parent, 'kube-netfilter-tailer-report-'));
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
