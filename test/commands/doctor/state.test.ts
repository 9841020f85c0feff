import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkState } from '../../../src/commands/doctor/checks/state.ts';
import { lookAtFolder, readKeptState } from '../../../src/commands/doctor/kept-state.ts';
import { nine } from '../../builders.ts';
import { temporaryFolder } from '../../sources/temporary-folder.ts';
import { writeOldState } from '../../state/old-state.ts';
import { fakeSystem } from './fake.ts';

const within = temporaryFolder();

const stateOf = (given: Parameters<typeof fakeSystem>[0]): Check =>
  checkState({ ...fakeSystem(given), folder: '/state', node: 'node-a' });

describe('state', () => {
  const kept = {
    kind: 'kept',
    saved: nine - 90_000,
    node: 'node-a',
    lastDrop: nine - 3000,
    lastEvent: undefined,
  } as const;

  test.each([
    [{}, 'ok', /^\/state /],
    [{ readKeptState: () => kept }, 'ok', / 90s ago; .* 3s ago, .* none$/],
    [{ readKeptState: () => ({ ...kept, node: 'b' }) }, 'warning', / b, .* node-a$/],
    [{ readKeptState: () => ({ kind: 'unusable', reason: 'x' }) as const }, 'warning', /: x$/],
    [{ readKeptState: () => ({ kind: 'unreadable', reason: 'x' }) as const }, 'problem', /: x$/],
    [{ lookAtFolder: () => ({ kind: 'missing', free: 1e9 }) as const }, 'ok', /^\/state /],
    [{ lookAtFolder: () => ({ kind: 'writable', free: 2e6 }) as const }, 'problem', / 2 MB .*\/state$/],
    [
      { lookAtFolder: () => ({ kind: 'refused', reason: '/state: it is mounted read-only' }) as const },
      'problem',
      /^\/state: it is mounted read-only$/,
    ],
  ] as const)('%j is %s', (given, status, finding) => {
    expect(stateOf(given)).toMatchObject({ name: 'state', status, finding: expect.stringMatching(finding) as string });
  });

  test('a real one', () => {
    mkdirSync(within('state'));
    const finding = { details: { kind: 'flow' } };
    const series = [
      { finding, last: 7, published: { writes: 1, at: 9 } },
      { finding, last: 8, published: { writes: 0, at: null } },
      { finding: { details: { kind: 'incident' } }, last: 99, published: { writes: 0, at: null } },
    ];
    const table = { series, past: [], objects: [], reports: [], counts: {} };
    writeOldState(within('state/state.json'), {
      id: 'x',
      node: 'node-a',
      positions: {},
      once: {},
      waiting: [],
      series: table,
    });
    expect(readKeptState(within('state'))).toMatchObject({
      kind: 'kept',
      node: 'node-a',
      lastDrop: 8,
      lastEvent: 9,
    });
  });

  test('one that cannot be used stays as it is', () => {
    mkdirSync(within('bad'));
    writeFileSync(within('bad/state.json'), 'nonsense\n');
    expect(readKeptState(within('bad'))).toEqual({
      kind: 'unusable',
      reason: expect.stringContaining('no state file'),
    });
    expect(readdirSync(within('bad'))).toEqual(['state.json']);
    expect(readFileSync(within('bad/state.json'), 'utf8')).toBe('nonsense\n');
  });

  test('one that is no file is not waited for', () => {
    mkdirSync(within('pipe'));
    execFileSync('mkfifo', [within('pipe/state.json')]);
    expect(readKeptState(within('pipe'))).toEqual({
      kind: 'unusable',
      reason: expect.stringContaining('regular file'),
    });
  });

  test('one that lacks what every state has', () => {
    mkdirSync(within('odd'));
    writeOldState(within('odd/state.json'), { node: 'node-a', series: { series: [null] } });
    expect(readKeptState(within('odd'))).toEqual({ kind: 'unusable', reason: expect.stringContaining('no state') });
  });

  test('none, and a folder that is not there', () => {
    expect(readKeptState(within('nowhere'))).toEqual({ kind: 'none' });
    expect(lookAtFolder(within('nowhere/at/all'))).toMatchObject({ kind: 'missing' });
    expect(lookAtFolder(within())).toMatchObject({ kind: 'writable' });
  });

  test('a folder that may not be written to', () => {
    writeFileSync(within('file'), '');
    expect(lookAtFolder(within('file'))).toEqual({ kind: 'refused', reason: `${within('file')}: is no folder` });
    expect(lookAtFolder(within('file/state'))).toEqual({
      kind: 'refused',
      reason: expect.stringMatching(new RegExp(`^${RegExp.escape(within('file/state'))}: `)),
    });
  });
});
