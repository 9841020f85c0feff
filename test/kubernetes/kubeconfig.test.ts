import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const within = temporaryFolder();

test.each([
  ['nowhere', undefined],
  ['empty', ''],
  ['broken', 'not: [yaml'],
  ['vacant', 'apiVersion: v1\nkind: Config\n'],
])('a kubeconfig that is %s is named, in one line', (name, text) => {
  if (text !== undefined) writeFileSync(within(name), text);
  expect(() => readKubeconfig(within(name))).toThrow(/^\S+: .+$/);
  expect(() => readKubeconfig(within(name))).toThrow(`${within(name)}: `);
});

test('a folder in its place is an error', () => {
  mkdirSync(within('folder'));
  expect(() => readKubeconfig(within('folder'))).toThrow(`${within('folder')}: `);
});
