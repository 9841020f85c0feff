import { appendFileSync, chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOpenSegments } from './open-segments.ts';
import { createLookupQueue } from '../../../src/count/pipeline/lookup-queue.ts';
import { createKeptPods } from '../../../src/explain/resolving/kept-pods.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { type RestoredState, restoreState } from '../../../src/publish/state/state.ts';
import { createKeptState } from '../../../src/publish/state/kept-state.ts';
import { checksum, encodeBatch } from '../../../src/publish/state/segments.ts';
import { createStateLog } from '../../../src/publish/state/state-log.ts';
import { finding, line, nine, observation, pod } from '../../builders.ts';
import { stateOf } from '../../count/series/state-of.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';

const path = temporaryFolder();
const now = new Date(nine);
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const position = { inode: 12, offset: 345, head: 'abc', end: false };
const once = { sources: [], awaited: [], left: 0 };
const budget = { left: 118.5, at: 7_200_000 };
const incidents = { table: [], reasons: {} };

let folders = 0;
function fresh(): string {
  const folder = path(`${++folders}`);
  mkdirSync(folder);
  return folder;
}

const openSegment = createOpenSegments();

/** An agent that has counted three packets of one problem, and has one flow waiting. */
function agent(restored?: RestoredState) {
  const table = createSeriesTable({ restored: restored?.state?.series });
  const queue = createLookupQueue(10, restored?.state?.waiting);
  if (restored === undefined) {
    table.count(finding(), nine, 3);
    queue.admit(line(), observation(), nine);
  }
  return { table, queue };
}

interface KeptAs {
  node?: string;
  id?: string;
  restored?: RestoredState;
  pods?: Parameters<typeof createKeptState>[0]['pods'];
}

/** Writes all of an agent's state to a folder. */
async function keep(folder: string, parts: ReturnType<typeof agent>, as: KeptAs = {}): Promise<unknown[]> {
  const failures: unknown[] = [];
  await logOf(folder, parts, as, failures).keepPositions();
  return failures;
}

function logOf(
  folder: string,
  { table, queue }: ReturnType<typeof agent>,
  { node = 'node-a', id = 'the id', restored, pods }: KeptAs = {},
  failures: unknown[] = [],
) {
  return createStateLog({
    folder,
    state: createKeptState({
      agent: { id, node },
      sources: [{ name: '/var/log/kern.log', position }],
      dedupe: { state: () => once },
      incidents: { revision: 0, state: () => incidents as never },
      budget: { revision: 0, state: () => budget },
      table,
      queue,
      pods,
    }),
    segments: restored?.segments ?? new Map(),
    report: {
      saved: () => {},
      failed: (error) => void failures.push(error),
      lost: (reason) => void failures.push(reason),
    },
    create: openSegment,
  });
}

test('saved state is restored, and continues under its id', async () => {
  const folder = fresh();
  const before = agent();
  expect(await keep(folder, before)).toEqual([]);
  const restored = restoreState(folder, 'node-a', now);
  expect(restored).toMatchObject({ id: 'the id', first: false, problem: undefined });
  expect(restored.state).toEqual({
    id: 'the id',
    node: 'node-a',
    positions: { '/var/log/kern.log': position },
    once,
    incidents,
    budget,
    series: stateOf(before.table),
    waiting: JSON.parse(JSON.stringify(before.queue.flows)),
    pods: { records: [], alive: undefined },
  });
  const { table, queue } = agent(restored);
  expect(table.due(Infinity)).toMatchObject([{ count: 3, published: { writes: 0, at: null } }]);
  expect(queue.has(line(), observation())).toBe(true);
});

test("a packet that waits for the cluster's lists is saved with the next look, like a counted one", async () => {
  const folder = fresh();
  const running = agent();
  const log = logOf(folder, running);
  await log.keep();
  running.queue.admit(line(), observation(), nine);
  await log.keep();
  expect(restoreState(folder, 'node-a', now).state?.waiting).toMatchObject([{ weight: 2 }]);
});

test('a Pod of the node that came, changed or went is saved with the next look, together with the time when the agent was alive', async () => {
  const folder = fresh();
  const clock = { now: () => nine, wall: () => nine, fromWall: (time: number) => time, toWall: (time: number) => time };
  const pods = createKeptPods('node-a', undefined, clock);
  const log = logOf(folder, agent(), { pods });
  pods.set(pod({ name: 'web' }));
  pods.set(pod({ name: 'db', addresses: [] }));
  await log.keep();
  pods.set(pod({ name: 'db', addresses: ['10.65.1.9'] }));
  pods.remove('shop', 'web');
  await log.keep();
  expect(restoreState(folder, 'node-a', now).state?.pods).toMatchObject({
    records: [{ name: 'db', addresses: ['10.65.1.9'] }],
    alive: nine,
  });
});

test('a run that continues saved state rewrites it, and removes the older segments', async () => {
  const folder = fresh();
  await keep(folder, agent());
  const restored = restoreState(folder, 'node-a', now);
  expect(await keep(folder, agent(restored), { restored })).toEqual([]);
  expect(readdirSync(folder)).toEqual(['state-0000000002.log']);
  expect(restoreState(folder, 'node-a', now).state).toEqual(restored.state);
});

test('without saved state, it is the first run, with its own id', () => {
  const folder = fresh();
  const restored = restoreState(folder, 'node-a', now);
  expect(restored).toMatchObject({
    state: undefined,
    id: expect.stringMatching(uuid),
    problem: undefined,
    first: true,
  });
  expect(restoreState(folder, 'node-a', now).id).not.toBe(restored.id);
  expect(restoreState(join(folder, 'none'), 'node-a', now)).toMatchObject({ first: true, problem: undefined });
});

/**
 * Expects that nothing is restored, that a sentence names the file and contains `part`, and that all files are set
 * aside.
 */
function expectSetAside(folder: string, part = ''): void {
  const files = readdirSync(folder);
  const restored = restoreState(folder, 'node-a', now);
  expect(restored).toMatchObject({ state: undefined, first: false, id: expect.stringMatching(uuid) });
  expect(restored.problem).toContain(`${join(folder, files[0] ?? '')} `);
  expect(restored.problem).toContain(part);
  expect(readdirSync(folder)).toEqual(files.map((file) => `${file}.unusable-2026-11-21T090000Z`));
  expect(restoreState(folder, 'node-a', now)).toMatchObject({ first: true });
}

test('the state of another node is set aside', async () => {
  const folder = fresh();
  await keep(folder, agent(), { node: 'node-b' });
  expectSetAside(folder, 'node-b');
});

test('a log of another version is set aside, and both versions are named', async () => {
  const folder = fresh();
  await keep(folder, agent());
  const file = join(folder, 'state-0000000001.log');
  // The CRC-32 of `{"format":"kube-netfilter-tailer state log","version":3}`.
  const header = '86c1bce2 {"format":"kube-netfilter-tailer state log","version":3}';
  writeFileSync(file, [header, ...readFileSync(file, 'utf8').split('\n').slice(1)].join('\n'));
  expectSetAside(folder, 'version 3');
});

test('a file that is not a state log is set aside', () => {
  const folder = fresh();
  writeFileSync(join(folder, 'state-0000000001.log'), 'damaged\ndamaged\n');
  expectSetAside(folder);
});

test.each([
  ['has no agent', ['set', 'series', {}]],
  ['has no budget', ['set', 'agent', { id: 'x', node: 'node-a' }]],
])('a complete log that %s is set aside', async (_, change) => {
  const folder = fresh();
  const segment = await openSegment(folder, 1);
  await segment.append(encodeBatch([JSON.stringify(change)]));
  expectSetAside(folder);
});

test('after a damaged batch, the state before it continues, and a sentence says so', async () => {
  const folder = fresh();
  await keep(folder, agent());
  const file = join(folder, 'state-0000000001.log');
  const [before, whole] = [readFileSync(file, 'utf8'), '[["remove","once"]]'];
  writeFileSync(file, `${before}00000000 [["remove","agent"]]\n${checksum(whole)} ${whole}\n`);
  const restored = restoreState(folder, 'node-a', now);
  expect(restored).toMatchObject({
    id: 'the id',
    first: false,
    problem: expect.stringContaining('state-0000000001.log'),
  });
  expect(agent(restored).table.due(Infinity)).toMatchObject([{ count: 3 }]);
});

test.each([
  ['zeros', Buffer.alloc(5000)],
  ['zeros and other bytes', Buffer.concat([Buffer.alloc(500), Buffer.from('\nold\nbytes\n\0')])],
  ['lines of another file', Buffer.from('00000000 []\n00000000 []\n')],
])('after a power cut, %s after the last batch do not count as damage', async (_, end) => {
  const folder = fresh();
  await keep(folder, agent());
  appendFileSync(join(folder, 'state-0000000001.log'), end);
  const restored = restoreState(folder, 'node-a', now);
  expect(restored).toMatchObject({ id: 'the id', first: false, problem: undefined });
  expect(agent(restored).table.due(Infinity)).toMatchObject([{ count: 3 }]);
});

test.each(['alone', 'after a whole segment'])(
  'a folder in place of a segment is set aside with its content: %s',
  async (where) => {
    const folder = fresh();
    const isAlone = where === 'alone';
    if (!isAlone) await keep(folder, agent());
    mkdirSync(join(folder, 'state-0000000009.log', 'sub'), { recursive: true });
    const restored = restoreState(folder, 'node-a', now);
    expect(restored).toMatchObject({ first: false, problem: expect.stringContaining('state') });
    expect(restored.state === undefined).toBe(isAlone);
    expect(readdirSync(folder, { recursive: true })).toContainEqual(
      expect.stringMatching(/^state-0000000009\.log\.unusable-.*\/sub$/),
    );
    expect(await keep(folder, agent(restored))).toEqual([]);
    expect(restoreState(folder, 'node-a', now)).toMatchObject({ problem: undefined });
  },
);

test('a folder that cannot be written to only makes each write fail', async () => {
  const folder = fresh();
  const file = join(folder, 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o400);
  expect(await keep(join(file, 'below'), agent())).toHaveLength(1);
});
