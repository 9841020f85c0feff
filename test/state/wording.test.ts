/** The wording of why a state is not gone on with. The other tests assert what is restored, files and versions only. */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSegments } from '../../src/state/read-segments.ts';
import { checksum, segmentFile } from '../../src/state/segments.ts';
import { restoreState } from '../../src/state/agent-state.ts';
import { nine } from '../builders.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { writeOldState } from './old-state.ts';

const path = temporaryFolder();
const now = new Date(nine);
const whole = {
  id: 'x',
  node: 'node-b',
  positions: {},
  once: { sources: [], awaited: [], left: 0 },
  series: { series: [], past: [], objects: [], reports: [], counts: {} },
  waiting: [],
};

test.each<[string, (file: string) => void, string]>([
  ['damaged', (file) => writeFileSync(file, 'damaged'), 'it is no state file of this program'],
  ['other', (file) => writeOldState(file, { id: 'x' }), 'it is no state of an agent'],
  ['too large', largeFile, 'it is larger than 64 MiB'],
  ['of node-b', (file) => writeOldState(file, whole), 'it is of node node-b, this is node-a'],
])('a state file that is %s cannot be used', (name, write, reason) => {
  mkdirSync(path(name));
  write(path(name, 'state.json'));
  expect(restoreState(path(name), 'node-a', now).problem).toContain(`state.json cannot be used: ${reason}`);
});

test('a file that cannot be moved away stays', () => {
  mkdirSync(path('stays', 'state.json.unusable-2026-11-21T090000Z'), { recursive: true });
  writeFileSync(path('stays', 'state.json'), 'damaged');
  expect(restoreState(path('stays'), 'node-a', now).problem).toContain(
    'It could not be moved away; starting with nothing counted',
  );
});

test('a folder in the place of the state', () => {
  mkdirSync(path('folder', 'state.json'), { recursive: true });
  expect(restoreState(path('folder'), 'node-a', now).problem).toBe(
    `${path('folder')}: the state cannot be read (it is a folder): starting with nothing counted`,
  );
});

test.each([
  [{ format: 'something else', version: 2 }, 'is no state log of this program'],
  [{ format: 'kube-netfilter-tailer state log', version: 3 }, 'has version 3, this program reads 1, 2'],
])('a segment with the header %j is damage', (header, reason) => {
  const name = `version ${header.version} of ${header.format}`;
  mkdirSync(path(name));
  const body = JSON.stringify(header);
  writeFileSync(segmentFile(path(name), 1), `${checksum(body)} ${body}\n`);
  expect(readSegments(path(name)).damage).toBe(`state-0000000001.log ${reason}`);
});

function largeFile(file: string): void {
  writeFileSync(file, '');
  truncateSync(file, 3 * 1024 ** 3);
}
