import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StateChange as Change } from '../../../src/base/platform/keyed-changes.ts';
import { readSegments } from '../../../src/publish/state/read-segments.ts';
import { createSegment, encodeBatch, segmentFile } from '../../../src/publish/state/segments.ts';
import { systemError } from '../../read/sources/fake-ring.ts';
import { descriptorsOf } from '../../read/sources/following.ts';
import { appendingBy, createOpenSegments } from './open-segments.ts';
import { createStateLog, type StateLogOptions } from '../../../src/publish/state/state-log.ts';
import { forAllAsync } from '../../for-all.ts';

type Value = { n: number; text: string };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'state-log-'));
});
afterEach(() => {
  for (const each of [folder, `${folder}-moved`]) rmSync(each, { recursive: true, force: true });
});

const openSegment = createOpenSegments();

/** A map that records its changes, as the tables of the agent do. */
function createMap(values = new Map<string, Value>()) {
  let changes: Change[] = [];
  let revision = 0;
  const taken: Map<string, Value>[] = [];
  return {
    values,
    /** The map as it was at each call of `takeChanges`. */
    taken,
    set(key: string, value: Value) {
      revision++;
      values.set(key, value);
      changes.push(['set', key, { ...value }]);
    },
    merge(key: string, n: number) {
      const known = values.get(key);
      if (known === undefined) return;
      revision++;
      known.n = n;
      changes.push(['merge', key, { n }]);
    },
    remove(key: string) {
      revision++;
      if (values.delete(key)) changes.push(['remove', key]);
    },
    state: {
      revision: () => revision,
      takeChanges() {
        const all = changes;
        changes = [];
        taken.push(new Map([...values].map(([key, value]) => [key, { ...value }])));
        return all;
      },
      *all(): Generator<Change> {
        for (const [key, value] of values) yield ['set', key, { ...value }];
      },
    },
  };
}

function open(map: ReturnType<typeof createMap>, options: Partial<StateLogOptions> = {}) {
  const failures: unknown[] = [];
  const losses: string[] = [];
  const sizes: number[] = [];
  const { segments } = readSegments(folder);
  const log = createStateLog({
    folder,
    state: map.state,
    segments,
    report: {
      saved: (bytes) => void sizes.push(bytes),
      failed: (error) => void failures.push(error),
      lost: (reason) => void losses.push(reason),
    },
    segmentSize: 512,
    create: openSegment,
    ...options,
  });
  return { log, failures, losses, sizes };
}

test('a state log stays below a few times the size of its content', async () => {
  const map = createMap();
  const { log } = open(map, { segmentSize: 16 * 1024 });
  for (let i = 0; i < 100; i++) map.set(`key ${i}`, { n: i, text: 'x'.repeat(200) });
  let largest = 0;
  for (let i = 0; i < 1000; i++) {
    map.merge(`key ${i % 100}`, i);
    await log.keep();
    if (i % 50 === 0) largest = Math.max(largest, sizeOf(folder));
  }
  const whole = JSON.stringify([...map.values]).length;
  expect(largest).toBeLessThan(8 * whole);
});

test('a state log writes nothing if nothing has changed', async () => {
  const map = createMap();
  const { log } = open(map);
  map.set('a', { n: 1, text: '' });
  await log.keep();
  await log.keep();
  const before = sizeOf(folder);
  await log.keep();
  expect(sizeOf(folder)).toBe(before);
  expect(map.taken).toHaveLength(1);
  await log.keepPositions();
  expect(map.taken).toHaveLength(2);
  expect(sizeOf(folder)).toBe(before);
});

test('a state log: one write serves all callers during an earlier write', async () => {
  const map = createMap();
  const { log } = open(map);
  map.set('a', { n: 1, text: '' });
  const asked = Array.from({ length: 20 }, () => log.keep());
  await Promise.all(asked);
  expect(map.taken).toHaveLength(2);
});

test('callers that ask right after the end of a write share the next one, and two writes never overlap', async () => {
  const map = createMap();
  const { log } = open(map);
  map.set('a', { n: 1, text: '' });
  const askAgain = async (): Promise<void> => {
    await log.keep();
    map.set('b', { n: 2, text: '' });
    await log.keep();
  };
  await Promise.all([askAgain(), log.keep()]);
  expect(map.taken).toHaveLength(2);
  expect(readSegments(folder).values).toEqual(map.values);
});

test('a state log returns its number of bytes on disk', async () => {
  const map = createMap();
  const { log, sizes } = open(map);
  const measured: number[] = [];
  for (let n = 0; n < 5; n++) {
    map.set(`key ${n}`, { n, text: 'x'.repeat(300) });
    await log.keep();
    measured.push(sizeOf(folder));
  }
  expect(sizes).toEqual(measured);
});

test('other users cannot read a state log', async () => {
  const map = createMap();
  const { log } = open(map);
  map.set('a', { n: 1, text: '' });
  await log.keep();
  expect(readdirSync(folder).map((file) => statSync(join(folder, file)).mode & 0o777)).toEqual([0o600]);
});

const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('set' as const), key: fc.nat(9), n: fc.nat(), text: fc.string() }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('merge' as const), key: fc.nat(9), n: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), key: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('keep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('crash' as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
);

test('the state that is read is that of one moment, at the last successful write or later', async () => {
  await forAllAsync([fc.array(operation, { maxLength: 60 })], { numRuns: 60 }, async (operations) => {
    rmSync(folder, { recursive: true, force: true });
    let map = createMap();
    let failing = false;
    let acknowledged = new Map<string, Value>();
    let { log, failures } = openFailing();
    for (const each of operations) {
      const key = 'key' in each ? `key ${each.key}` : '';
      if (each.kind === 'set') map.set(key, { n: each.n, text: each.text });
      else if (each.kind === 'merge') map.merge(key, each.n);
      else if (each.kind === 'remove') map.remove(key);
      else if (each.kind === 'crash') await crash(each.part);
      else {
        failing = each.kind === 'fail';
        const before = failures.length;
        await log.keep();
        failing = false;
        if (failures.length === before) acknowledged = copy(map.values);
      }
    }

    function openFailing() {
      return open(map, {
        async create(where, number, writer) {
          const segment = await openSegment(where, number, writer);
          return appendingBy(segment, async (batch) => {
            if (failing) throw new Error('no space left on device');
            return await segment.append(batch);
          });
        },
      });
    }

    /** Cuts a write under way anywhere. */
    async function crash(part: number): Promise<void> {
      const cut = [...readSegments(folder).segments.keys()].at(-1);
      if (cut !== undefined) {
        const file = join(folder, `state-${String(cut).padStart(10, '0')}.log`);
        const size = statSync(file).size;
        const number = await createSegment(folder, cut + 1);
        await number.append(encodeBatch([['set', 'lost', { n: 0, text: 'x'.repeat(100) }]]));
        await number.close();
        const next = join(folder, `state-${String(cut + 1).padStart(10, '0')}.log`);
        const text = readFileSync(next, 'utf8').split('\n')[1] ?? '';
        rmSync(next);
        writeFileSync(file, text.slice(0, Math.floor(part * text.length)), { flag: 'a' });
        expect(statSync(file).size).toBeGreaterThanOrEqual(size);
      }
      const kept = readSegments(folder);
      expect(kept.damage).toBeUndefined();
      expect([acknowledged, ...map.taken.slice(-2)]).toContainEqual(kept.values);
      map = createMap(kept.values as Map<string, Value>);
      acknowledged = copy(map.values);
      ({ log, failures } = openFailing());
    }
  });
});

test('a batch of several lines that is cut off anywhere is left out completely', async () => {
  const segment = await openSegment(folder, 1);
  await segment.append(encodeBatch([['set', 'a', { n: 1 }]]));
  const before = segment.size;
  const all = Array.from({ length: 20 }, (_, n): Change => ['set', `key ${n}`, { n, text: 'é' }]);
  expect([...encodeBatch(all, 60)].length).toBeGreaterThan(5);
  await segment.append(encodeBatch([['remove', 'a'], ...all], 60));
  const whole = readSegments(folder).values;
  expect(whole).toEqual(new Map(all.map(([, key, value]) => [key, value])));
  for (let cut = segment.size - 1; cut >= before; cut--) {
    truncateSync(segmentFile(folder, 1), cut);
    expect(readSegments(folder)).toMatchObject({ values: new Map([['a', { n: 1 }]]), damage: undefined });
  }
});

test('a batch with changed bytes ends the reading, and counts as damage if another batch follows', async () => {
  const map = createMap();
  const { log } = open(map, { segmentSize: 1e9 });
  for (let n = 0; n < 5; n++) {
    map.set('a', { n, text: 'text' });
    await log.keep();
  }
  const file = join(folder, 'state-0000000001.log');
  const lines = readFileSync(file, 'utf8').split('\n');
  lines[3] = lines[3]?.replace('text', 'tixt') ?? '';
  writeFileSync(file, lines.join('\n'));
  const kept = readSegments(folder);
  expect(kept.values.get('a')).toMatchObject({ n: 1 });
  expect(kept.damage).toContain('state-0000000001.log');
  writeFileSync(file, `${lines.slice(0, 4).join('\n')}\n`);
  expect(readSegments(folder).damage).toBeUndefined();
});

test('a segment cut off within its header is empty', async () => {
  await (await createSegment(folder, 1)).close();
  truncateSync(join(folder, 'state-0000000001.log'), 10);
  expect(readSegments(folder)).toMatchObject({ values: new Map(), segments: new Map([[1, 10]]), damage: undefined });
});

const first = (): string => segmentFile(folder, 1);

const hand: [string, () => void][] = [
  ['its folder was deleted', () => rmSync(folder, { recursive: true })],
  ['its folder was moved', () => renameSync(folder, `${folder}-moved`)],
  ['its folder was replaced by a copy', replaceFolder],
  ['its file was deleted', () => rmSync(first())],
  ['its file was emptied', () => truncateSync(first(), 0)],
  ['its file was cut in half', () => truncateSync(first(), Math.floor(statSync(first()).size / 2))],
  ['its file was appended to', () => writeFileSync(first(), 'text\n', { flag: 'a' })],
  ['its file was replaced by an older one', () => writeFileSync(first(), readFileSync(first()).subarray(0, 200))],
  ['there are segments with later numbers', () => (rmSync(first()), writeFileSync(segmentFile(folder, 7), 'text'))],
];

test.each(hand)(
  'a state that another process changes while it is in use: %s: it is reported once, and everything is written again with the next batch',
  async (_, change) => {
    const map = createMap();
    const { log, failures, losses } = open(map, { segmentSize: 1e9 });
    for (let n = 0; n < 30; n++) map.set(`key ${n}`, { n, text: 'text' });
    await log.keep();
    for (let n = 0; n < 10; n++) map.remove(`key ${n}`);
    await log.keep();
    change();
    map.merge('key 20', 99);
    await log.keep();
    expect(losses).toHaveLength(1);
    expect(readSegments(folder)).toMatchObject({ values: map.values, damage: undefined });
    map.merge('key 21', 98);
    await log.keep();
    expect(readSegments(folder).values).toEqual(map.values);
    expect(losses).toHaveLength(1);
    expect(failures).toEqual([]);
  },
);

test('a state that another process changes while it is in use is noticed even if nothing was counted', async () => {
  const map = createMap();
  const { log, losses } = open(map);
  map.set('a', { n: 1, text: '' });
  await log.keep();
  rmSync(folder, { recursive: true });
  await log.keepPositions();
  expect(losses).toHaveLength(1);
  expect(readSegments(folder).values).toEqual(map.values);
});

test('a state that cannot be rewritten at once is written completely as soon as it can be', async () => {
  const map = createMap();
  const { log, failures } = open(map);
  map.set('a', { n: 1, text: '' });
  await log.keep();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'no folder');
  map.set('b', { n: 2, text: '' });
  await log.keep();
  expect(failures).toHaveLength(1);
  rmSync(folder);
  await log.keep();
  expect(failures).toHaveLength(1);
  expect(readSegments(folder).values).toEqual(map.values);
});

test('two logs in one folder: the state that is read is that of one of them', async () => {
  const [one, other] = [createMap(), createMap()];
  const logs = [open(one, { segmentSize: 2000 }), open(other, { segmentSize: 2000 })];
  for (let n = 0; n < 300; n++) {
    one.set(`key ${n % 20}`, { n, text: 'one' });
    other.set(`key ${n % 20}`, { n, text: 'other' });
    for (const { log } of logs) await log.keep();
    const { values } = readSegments(folder);
    expect([one.values, other.values]).toContainEqual(values);
  }
  expect(logs.flatMap(({ failures }) => failures)).toEqual([]);
  expect(logs.flatMap(({ losses }) => losses).length).toBeGreaterThan(2);
});

test('a log with damage in the middle is not continued by the next run', async () => {
  const segment = await openSegment(folder, 1);
  for (const n of [1, 2, 3]) await segment.append(encodeBatch([['set', `key ${n}`, { n }]]));
  writeFileSync(segmentFile(folder, 1), readFileSync(segmentFile(folder, 1), 'utf8').replace('key 2', 'key x'));
  const kept = readSegments(folder);
  expect(kept).toMatchObject({ values: new Map([['key 1', { n: 1 }]]), damage: expect.stringContaining('log') });
  const map = createMap(kept.values as Map<string, Value>);
  const { log } = open(map);
  map.set('key 4', { n: 4, text: '' });
  await log.keep();
  expect(readSegments(folder)).toMatchObject({ values: map.values, damage: undefined });
});

test('a run that was killed before it removed older segments continues with its own state', async () => {
  const segment = await openSegment(folder, 1);
  await segment.append(encodeBatch(['a', 'b'].map((key): Change => ['set', key, { n: 1, text: 'older' }])));
  const older = readFileSync(segmentFile(folder, 1));
  const map = createMap();
  const { log } = open(map);
  map.set('a', { n: 2, text: 'newer' });
  await log.keep();
  writeFileSync(segmentFile(folder, 1), older);
  expect(readSegments(folder).values).toEqual(map.values);
});

test('a write that has ended leaves no timer', async () => {
  const map = createMap();
  const { log, failures } = open(map);
  const made = vi.spyOn(globalThis, 'setTimeout');
  const cleared = vi.spyOn(globalThis, 'clearTimeout');
  map.set('a', { n: 1, text: '' });
  await log.keep();
  expect(failures).toEqual([]);
  const timers = made.mock.results.map(({ value }: { value: unknown }) => value);
  expect(timers.length).toBeGreaterThan(0);
  expect(cleared.mock.calls.map(([timer]) => timer)).toEqual(timers);
  vi.restoreAllMocks();
});

test('a write without an answer from the disk fails after its time limit, delays no caller, and is the only one until it ends', async () => {
  const map = createMap();
  const answer = Promise.withResolvers<void>();
  let appended = 0;
  const { log, failures } = open(map, {
    timeout: 20,
    async create(where, number, writer) {
      const segment = await openSegment(where, number, writer);
      return appendingBy(segment, async (batch) => {
        appended++;
        await answer.promise;
        return await segment.append(batch);
      });
    },
  });
  map.set('a', { n: 1, text: '' });
  await log.keep();
  expect(failures).toHaveLength(1);
  map.set('b', { n: 2, text: '' });
  await log.keep();
  expect(failures).toHaveLength(2);
  await expect.poll(() => appended).toBe(1);
  answer.resolve();
  await expect.poll(async () => (await log.keep(), readSegments(folder).values.has('b'))).toBe(true);
  expect(readSegments(folder).values).toEqual(map.values);
});

test.each<[string, string, number[]]>([
  ['can only be read', 'EROFS', []],
  ['has an error', 'EIO', []],
  ['is full', 'ENOSPC', [1]],
])(
  'a disk that fails as it %s leaves the file open only if it can be appended to once there is room',
  async (_, code, opened) => {
    const map = createMap();
    let error: Error | undefined;
    const { log, failures } = open(map, {
      segmentSize: 1,
      async create(where, number, writer) {
        if (error !== undefined) throw error;
        return await openSegment(where, number, writer);
      },
    });
    for (const n of [1, 2]) {
      map.set('a', { n, text: 'x'.repeat(1000) });
      await log.keep();
    }
    expect(openNumbers()).toEqual([1]);
    // Then the segment is full: the next batch needs another one.
    error = systemError(code);
    map.set('a', { n: 3, text: '' });
    await log.keep();
    expect(failures).toEqual([error]);
    expect(openNumbers()).toEqual(opened);
    error = undefined;
    await log.keep();
    expect(readSegments(folder).values).toEqual(map.values);
  },
);

test('a folder in place of an older segment is set aside while the agent runs, and all state is kept', async () => {
  const map = createMap();
  const { log, failures } = open(map, { segmentSize: 1 });
  map.set('a', { n: 1, text: 'x'.repeat(1000) });
  await log.keep();
  rmSync(segmentFile(folder, 1));
  mkdirSync(segmentFile(folder, 1));
  map.set('a', { n: 2, text: '' });
  await log.keep();
  expect(failures).toEqual([]);
  expect(readSegments(folder)).toMatchObject({ values: map.values, noFiles: [] });
});

/** Numbers of the segments that this process has open. */
function openNumbers(): number[] {
  return [1, 2, 3].filter((number) => descriptorsOf(segmentFile(folder, number)).length > 0);
}

function copy(values: ReadonlyMap<string, Value>): Map<string, Value> {
  return new Map([...values].map(([key, value]) => [key, { ...value }]));
}

function replaceFolder(): void {
  cpSync(folder, `${folder}-copy`, { recursive: true });
  rmSync(folder, { recursive: true });
  renameSync(`${folder}-copy`, folder);
}

function sizeOf(where: string): number {
  return readdirSync(where).reduce((sum, file) => sum + statSync(join(where, file)).size, 0);
}
