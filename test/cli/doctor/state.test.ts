import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lookAtFolder, readKeptState } from '../../../src/cli/doctor/machine.ts';
import { encodeBatch, segmentFile } from '../../../src/publish/state/segments.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { createOpenSegments } from '../../publish/state/open-segments.ts';

const within = temporaryFolder();
const openSegment = createOpenSegments();

/** Writes a log with these values by key. */
async function log(folder: string, values: Readonly<Record<string, unknown>>): Promise<void> {
  const segment = await openSegment(within(folder), 1);
  await segment.append(encodeBatch(Object.entries(values).map(([key, value]) => ['set', key, value])));
}

test('reads a real state', async () => {
  const finding = { details: { kind: 'flow' } };
  const incident = { details: { kind: 'incident' } };
  await log('state', {
    agent: { id: 'x', node: 'node-a' },
    positions: {},
    once: {},
    budget: { left: 1, at: 1 },
    series: { reports: [], counts: {} },
    'series 1': { finding, last: 7, published: { writes: 1, at: 9 }, isPast: false },
    'series 2': { finding, last: 8, published: { writes: 0, at: null }, isPast: true },
    'series 3': { finding: incident, last: 99, published: { writes: 0, at: null }, isPast: false },
  });
  expect(readKeptState(within('state'))).toMatchObject({ kind: 'kept', node: 'node-a', lastDrop: 8, lastEvent: 9 });
});

test('state: an unusable one stays unchanged', () => {
  mkdirSync(within('bad'));
  const file = segmentFile(within('bad'), 1);
  writeFileSync(file, 'nonsense\nnonsense\n');
  expect(readKeptState(within('bad'))).toMatchObject({ kind: 'unusable' });
  expect(readFileSync(file, 'utf8')).toBe('nonsense\nnonsense\n');
});

test('state: a pipe in its place is not waited for', () => {
  mkdirSync(within('pipe'));
  execFileSync('mkfifo', [segmentFile(within('pipe'), 1)]);
  expect(readKeptState(within('pipe'))).toEqual({
    kind: 'unusable',
    reason: expect.stringContaining('regular file'),
  });
});

test('state: one that lacks required parts is unusable', async () => {
  await log('odd', { agent: { node: 'node-a' } });
  expect(readKeptState(within('odd'))).toEqual({ kind: 'unusable', reason: expect.stringContaining('not the state') });
});

test('a missing state or folder is reported', () => {
  expect(readKeptState(within('nowhere'))).toEqual({ kind: 'none' });
  expect(lookAtFolder(within('nowhere/at/all'))).toMatchObject({ kind: 'missing' });
  expect(lookAtFolder(within())).toMatchObject({ kind: 'writable' });
});

test('a folder without write permission is reported', () => {
  writeFileSync(within('file'), '');
  expect(lookAtFolder(within('file'))).toEqual({ kind: 'refused', reason: `${within('file')}: is not a folder` });
  expect(lookAtFolder(within('file/state'))).toEqual({
    kind: 'refused',
    reason: expect.stringMatching(new RegExp(`^${RegExp.escape(within('file/state'))}: `)),
  });
});
