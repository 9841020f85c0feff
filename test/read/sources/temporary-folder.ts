import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** A folder for the tests of one file, removed afterwards; returns a function that makes paths in it. */
export function temporaryFolder(): (...parts: string[]) => string {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  return (...parts) => join(folder, ...parts);
}
