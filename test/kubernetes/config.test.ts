import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/kubernetes/config.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const within = temporaryFolder();

test.each([
  ['nowhere', undefined, 'cannot be used: no such file'],
  ['empty', '', 'cannot be used: expected a document, but the input is empty'],
  ['broken', 'not: [yaml', 'cannot be used: unexpected end of the stream within a flow collection (1:11)'],
  ['vacant', 'apiVersion: v1\nkind: Config\n', 'its current context names no cluster'],
])('a kubeconfig that is %s is named, in one line', (name, text, reason) => {
  if (text !== undefined) writeFileSync(within(name), text);
  expect(() => loadConfig(within(name))).toThrow(new Error(`${within(name)}: ${reason}`));
});

test('a folder in its place', () => {
  mkdirSync(within('folder'));
  expect(() => loadConfig(within('folder'))).toThrow(`${within('folder')}: cannot be used: is a folder`);
});
