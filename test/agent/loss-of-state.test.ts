import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Config } from '../../src/agent/config/config.ts';
import { lossOfState } from '../../src/agent/ingest.ts';
import { restoreState } from '../../src/publish/state/state.ts';

let folder: string;
let sinks: Record<string, Config['audit']>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'knt-loss-'));
  const file = (name: string) => ({ kind: 'file', name, path: join(folder, name) });
  writeFileSync(join(folder, 'written'), '{}\n');
  sinks = {
    none: [],
    'a file that is there': [file('written')],
    'a file that is not there': [file('new')],
    stdout: [{ kind: 'stdout', name: 'stdout' }],
    'two files, of which one is there': [file('new'), file('written')],
  } as unknown as Record<string, Config['audit']>;
});

afterAll(() => rmSync(folder, { recursive: true }));

const unusable = expect.stringMatching(/^The state of an earlier run cannot be used/) as unknown;
const deleted = expect.stringMatching(/^There are flow records of an earlier run, but no state of it/) as unknown;

test.each([
  ['none', undefined],
  ['a file that is there', { of: 'everything', reason: deleted }],
  ['a file that is not there', { of: 'audit' }],
  ['stdout', { of: 'audit' }],
  ['two files, of which one is there', { of: 'everything', reason: deleted }],
])('after a start without a state and with %s as audit, the agent knows the possible losses', (audit, loss) => {
  const first = restoreState(join(folder, 'no-state'), 'node-a', new Date());
  expect(lossOfState(first, sinks[audit] ?? [])).toEqual(loss);
});

test('after a start with an unusable state, everything may be missing, whatever the audit', () => {
  for (const audit of Object.values(sinks))
    expect(lossOfState({ first: false, problem: 'it is damaged' }, audit)).toEqual({
      of: 'everything',
      reason: unusable,
    });
});

test('after a start with a state, nothing is missing, whatever the audit', () => {
  for (const audit of Object.values(sinks))
    expect(lossOfState({ first: false, problem: undefined }, audit)).toBeUndefined();
});
