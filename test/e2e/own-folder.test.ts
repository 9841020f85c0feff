import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createOwnFolder } from './own-folder.ts';

const parent = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-folders-'));
afterAll(() => rmSync(parent, { recursive: true }));

test('what a killed process left is removed, with all that is in it; what others have stays', () => {
  const { pid: ended } = spawnSync('true');
  const named = (name: string): string => join(parent, `kube-netfilter-tailer-${name}`);
  const left = named(`helm-${ended}-abc`);
  const others = [named(`helm-${process.ppid}-abc`), named(`docs-${ended}-abc`), named('helm-abc'), named('helm')];
  for (const folder of [left, ...others]) mkdirSync(folder);
  writeFileSync(join(left, 'file'), '');

  const folder = createOwnFolder('helm', parent);

  expect(existsSync(left)).toBe(false);
  for (const other of others) expect(existsSync(other)).toBe(true);
  expect(basename(folder)).toMatch(new RegExp(`^kube-netfilter-tailer-helm-${process.pid}-`));
  expect(createOwnFolder('helm', parent)).not.toBe(folder);
  expect(existsSync(folder)).toBe(true);
});
