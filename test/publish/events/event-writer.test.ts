import { describe, expect, test } from 'vitest';
import type { Series } from '../../../src/base/model/series.ts';
import { component, type CoreEvent, eventOf, timestamp } from '../../../src/publish/events/event.ts';
import {
  createEventWriter,
  type WriteOutcome,
  type Refusal,
  stateAnnotation,
} from '../../../src/publish/events/event-writer.ts';
import { finding, nine, series as seriesOf } from '../../builders.ts';
import { createMemoryStore, keyOf, type MemoryStore, type Mishap, refusal } from './memory-store.ts';

const second = 1000;
const minute = 60 * second;

interface Rig {
  store: MemoryStore;
  series: Series;
  /** Writes the series at `nine + offset`, and remembers the published counts. */
  write: (offset?: number) => Promise<WriteOutcome>;
  /** Counts packets at `nine + offset`. */
  count: (packets: number, offset?: number) => void;
  /** The Event as the store has it. */
  event: () => CoreEvent | undefined;
  key: string;
}

interface RigOptions {
  /** Mishaps of the requests, in order. Later requests succeed. */
  mishaps?: Mishap[];
  given?: Partial<Series>;
  stateId?: string;
  store?: MemoryStore;
  /** How far the wall clock is ahead of the series' own. */
  ahead?: number;
}

function rig({ mishaps = [], given = {}, stateId = 'ours', ahead = 0, ...rest }: RigOptions = {}): Rig {
  const series = seriesOf({ count: 3, ...given });
  const store = rest.store ?? createMemoryStore(() => mishaps.shift() ?? {});
  let time = nine;
  const write = createEventWriter({
    store,
    messageOf: () => 'a message',
    stateId,
    now: () => time,
    toWall: (at) => at + ahead,
  });
  const key = keyOf(eventOf(series, '', nine));
  return {
    store,
    series,
    key,
    event: () => store.events.get(key),
    async write(offset = second) {
      time = nine + offset;
      const outcome = await write(series);
      if (outcome.kind === 'written') series.published = outcome.published;
      return outcome;
    },
    count(packets, offset = 2 * second) {
      series.count += packets;
      series.last = Math.max(series.last, nine + offset);
    },
  };
}

/** An Event of the same name, written by another run or program. */
function theirs(series: Series, given: Partial<CoreEvent> & { owner?: string } = {}): CoreEvent {
  const { owner = 'theirs 0', ...rest } = given;
  const event = eventOf(series, 'an older message', nine);
  return { ...event, metadata: { ...event.metadata, annotations: { [stateAnnotation]: owner } }, ...rest };
}

const annotation = (event: CoreEvent | undefined): string | undefined => event?.metadata.annotations?.[stateAnnotation];

const at = (offset: number): string => timestamp(nine + offset);
/** Writes 3 packets, the first at `nine`, in addition to the present ones. */
async function adopt(given: Partial<CoreEvent> & { owner?: string }): Promise<Rig> {
  const one = rig();
  one.store.put(theirs(one.series, given));
  expect(await one.write()).toMatchObject({ kind: 'written', verb: 'update', packets: 3 });
  return one;
}

test('a series without an Event is created', async () => {
  const { store, series, write, event } = rig();
  expect(await write()).toEqual({
    kind: 'written',
    verb: 'create',
    packets: 3,
    published: { count: 3, writes: 1, at: nine + second, suppressed: false, base: 0, resourceVersion: '101' },
  });
  expect(store.requests).toEqual(['create']);
  const fresh = seriesOf({ count: series.count });
  const { metadata, ...expected } = eventOf(fresh, 'a message', nine + second);
  const annotations = { ...metadata.annotations, [stateAnnotation]: 'ours 0' };
  expect(event()).toEqual({ ...expected, metadata: { ...metadata, annotations } });
});

test('an Event that exists because the answer to the same write was lost is patched to the same content', async () => {
  const { store, write, count, event } = rig({ mishaps: [{ answer: refusal(0) }] });
  expect(await write()).toMatchObject({ kind: 'refused', verb: 'create', refusal: { status: 0 } });
  count(2);
  expect(await write()).toMatchObject({
    kind: 'written',
    verb: 'update',
    packets: 5,
    published: { count: 5, base: 0 },
  });
  expect(store.requests).toEqual(['create', 'create', 'read', 'update']);
  expect(event()).toMatchObject({ count: 5 });
  expect(annotation(event())).toBe('ours 0');
});

test('an Event that is deleted between the conflict and the reading is created whole', async () => {
  const mishaps: Mishap[] = [{}];
  const { store, series, key, write, event } = rig({ mishaps });
  store.put(theirs(series));
  mishaps.push({ before: () => store.remove(key) });
  expect(await write()).toMatchObject({ kind: 'written', verb: 'create', published: { count: 3 } });
  expect(store.requests).toEqual(['create', 'read', 'create']);
  expect(event()).toMatchObject({ count: 3, firstTimestamp: timestamp(nine) });
  expect(annotation(event())).toBe('ours 0');
});

test('an Event that can neither be created nor found is given up for now', async () => {
  // A quota in the namespace also answers a POST with 409. The last refusal ends the test if nothing else does.
  const endless = (): Mishap => ({ instead: refusal(store.requests.length > 30 ? 0 : answers[last()]) });
  const answers = { create: 409, read: 404, update: 404 };
  const store = createMemoryStore(endless);
  const last = (): 'create' | 'read' | 'update' => store.requests.at(-1) ?? 'create';
  const { write } = rig({ store });
  expect(await write()).toMatchObject({ kind: 'refused' });
  expect(store.requests.length).toBeLessThanOrEqual(10);
});

test('a published series is patched to its present count', async () => {
  const { store, write, count, event } = rig();
  await write();
  count(4, 20 * second);
  expect(await write(31 * second)).toEqual({
    kind: 'written',
    verb: 'update',
    packets: 4,
    published: { count: 7, writes: 2, at: nine + 31 * second, suppressed: false, base: 0, resourceVersion: '102' },
  });
  expect(store.requests).toEqual(['create', 'update']);
  expect(event()).toMatchObject({
    count: 7,
    firstTimestamp: timestamp(nine),
    lastTimestamp: timestamp(nine + 20 * second),
  });
});

test('an Event that a user has changed is read first', async () => {
  const { store, key, write, count, event } = rig();
  await write();
  store.touch(key);
  count(1);
  expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'update', packets: 1, published: { count: 4 } });
  expect(store.requests).toEqual(['create', 'update', 'read', 'update']);
  expect(event()).toMatchObject({ count: 4 });
});

test('an Event that is changed twice is written at the second reading', async () => {
  const mishaps: Mishap[] = [{}];
  const { store, key, write, count, event } = rig({ mishaps });
  await write();
  count(1);
  store.touch(key);
  mishaps.push({}, {}, { before: () => store.touch(key) });
  expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'update', published: { count: 4 } });
  expect(event()).toMatchObject({ count: 4 });
});

test('an Event that keeps changing is given up for now after three readings', async () => {
  const mishaps: Mishap[] = [{}];
  const { store, series, key, write, count, event } = rig({ mishaps });
  await write();
  count(1);
  mishaps.push(
    ...Array.from({ length: 9 }, () => ({
      before: () => {
        if (store.requests.at(-1) === 'update') store.touch(key);
      },
    })),
  );
  expect(await write(minute)).toMatchObject({ kind: 'refused', verb: 'update', refusal: { status: 409 } });
  expect(store.requests.slice(1)).toEqual(['update', 'read', 'update', 'read', 'update', 'read', 'update']);
  expect(series.published).toMatchObject({ count: 3, writes: 1 });
  expect(event()).toMatchObject({ count: 3 });
});

test('a deleted Event starts again with the packets that it had not counted', async () => {
  const { store, key, write, count, event } = rig();
  await write();
  store.remove(key);
  count(4, 40 * second);
  expect(await write(minute)).toMatchObject({
    kind: 'written',
    verb: 'create',
    packets: 4,
    published: { count: 7, writes: 2, base: -3 },
  });
  expect(store.requests).toEqual(['create', 'update', 'create']);
  expect(event()).toMatchObject({ count: 4, lastTimestamp: timestamp(nine + minute) });
  expect(annotation(event())).toBe('ours -3');
  count(2, 70 * second);
  await write(2 * minute);
  expect(event()).toMatchObject({ count: 6 });
  store.remove(key);
  count(1);
  await write(3 * minute);
  expect(event()).toMatchObject({ count: 1 });
});

test('an Event that is deleted between a conflict and the reading starts again', async () => {
  const mishaps: Mishap[] = [{}];
  const { store, key, write, count, event } = rig({ mishaps });
  await write();
  count(4);
  store.touch(key);
  mishaps.push({}, { before: () => store.remove(key) });
  expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'create', published: { count: 7, base: -3 } });
  expect(store.requests.slice(1)).toEqual(['update', 'read', 'create']);
  expect(event()).toMatchObject({ count: 4 });
});

test('an Event that was deleted and written again with the answer lost is not written twice', async () => {
  const mishaps: Mishap[] = [{}];
  const { store, key, write, count, event } = rig({ mishaps });
  await write();
  store.remove(key);
  count(4);
  mishaps.push({}, { answer: refusal(0) });
  expect(await write(minute)).toMatchObject({ kind: 'refused', verb: 'create' });
  expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'update', published: { count: 7, base: -3 } });
  expect(event()).toMatchObject({ count: 4 });
});

test('an Event that was deleted when only a loss of lines was unpublished starts again with the next packet', async () => {
  const { store, key, series, write, count, event } = rig();
  await write();
  store.remove(key);
  series.suppressed = true;
  await write(minute);
  expect(event()?.count).not.toBe(0);
  count(2, 70 * second);
  await write(2 * minute);
  // Exporters discard new Events that look old.
  expect(event()).toMatchObject({ count: 2, lastTimestamp: timestamp(nine + 2 * minute) });
  count(1, 130 * second);
  await write(3 * minute);
  expect(event()).toMatchObject({ count: 3 });
});

test('an Event that has started again keeps that time, even if a user changes it', async () => {
  const { store, key, write, count, event } = rig();
  await write(30 * second);
  store.remove(key);
  count(1, 40 * second);
  await write(minute);
  const began = event()?.firstTimestamp;
  expect(began).toBe(timestamp(nine + 30 * second));
  count(1, 70 * second);
  await write(2 * minute);
  expect(event()).toMatchObject({ count: 2, firstTimestamp: began });
  store.touch(key);
  count(1, 130 * second);
  await write(3 * minute);
  expect(event()).toMatchObject({ count: 3, firstTimestamp: began });
});

const [statuses, forItself] = [
  [0, 401, 403, 429, 500, 503],
  [400, 413, 422],
];

/** The requests before the refused one, which may find an Event of another run. */
test.each([
  { verb: 'create', before: [], found: false },
  { verb: 'update', before: ['create'], found: false },
  { verb: 'read', before: ['create'], found: true },
  { verb: 'update', before: ['create', 'read'], found: true },
])('a refused $verb after $before names the request', async ({ verb, before, found }) => {
  const isFound = before.includes('read');
  for (const status of [...statuses, ...(isFound ? [] : forItself), ...(isFound || verb === 'create' ? [404] : [])]) {
    const answer = refusal(status, 'Because', 5000);
    const { store, series, write } = rig({ mishaps: [...before.map(() => ({})), { instead: answer }] });
    if (found) store.put(theirs(series));
    else if (before.length > 0) await write();
    const { published } = series;
    expect(await write(minute)).toEqual({ kind: 'refused', verb, refusal: answer });
    expect(series.published).toEqual(published);
    expect(store.requests).toEqual([...before, verb]);
  }
});

describe('another object with the name of an Event', () => {
  const taken: [string, (event: CoreEvent) => object][] = [
    ['an Event of another program', () => ({ source: { component: 'kubelet' } })],
    ['of another reporting component', () => ({ reportingComponent: 'kubelet' })],
    ['of another node', ({ source }) => ({ source: { ...source, host: 'another' } })],
    ['of another reason', () => ({ reason: 'Pulled' })],
    ...(
      [
        ['another Pod', { name: 'other' }],
        ['a Pod of that name before', { uid: 'another' }],
        ['no uid', { uid: undefined }],
        ['an object of another kind', { kind: 'Service' }],
        ['an object of another API', { apiVersion: 'v2' }],
        ['a part of the Pod', { fieldPath: 'spec.containers{web}' }],
      ] as const
    ).map(([what, given]): (typeof taken)[number] => [
      `on ${what}`,
      ({ involvedObject }) => ({ involvedObject: { ...involvedObject, ...given } }),
    ]),
    [
      'with an owner, which the garbage collector misses',
      ({ metadata }) => ({ metadata: { ...metadata, ownerReferences: [{}] } }),
    ],
    ['with an action', () => ({ action: 'Pulling' })],
    ['with the time of a newer Event', () => ({ eventTime: '2026-11-28T15:00:00.000000Z' })],
    ['with a series', () => ({ series: { count: 9 } })],
  ];

  test.each(taken)('%s: it stays, and the Event is written whole under another name', async (_, change) => {
    const { store, series, write, event, count, key } = rig();
    const other = theirs(series, { count: 70 });
    const stranger = { ...other, ...change(other) };
    store.put(stranger);
    expect(await write()).toMatchObject({ kind: 'written', verb: 'create', packets: 3, published: { base: 0 } });
    expect(store.requests).toEqual(['create', 'read', 'create']);
    expect(event()).toEqual(stranger);
    count(2);
    expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'update', packets: 2 });
    const [, own] = [...store.events.values()];
    const { metadata, ...expected } = eventOf(series, 'a message', nine);
    expect(own).toMatchObject({ ...expected, count: 5 });
    expect(keyOf(own as CoreEvent)).not.toBe(key);
    expect(own?.metadata.name).toMatch(/^[a-z0-9.-]+[.][0-9a-f]{20}$/);
    expect(own?.metadata.name).toBe(metadata.name);
  });

  test('a deleted Event is created again under its own name, which is remembered across restarts', async () => {
    const { store, series, write, count } = rig();
    store.put(theirs(series, { reason: 'Pulled' }));
    await write();
    const [, own] = [...store.events.keys()] as [string, string];
    store.remove(own);
    series.published = structuredClone(series.published);
    count(2);
    expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'create', packets: 2 });
    expect([...store.events.keys()]).toContain(own);
  });

  test.each([
    [
      'a policy denies',
      422,
      "events \"a\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' denied request: label",
    ],
    ['is invalid', 422, 'metadata.annotations: Too long'],
    ['is too large', 413, 'too large'],
  ])('an Event whose change %s is written under another name', async (_, status, message) => {
    const instead: Refusal = { kind: 'refused', status, reason: '', message, retryAfter: undefined };
    const { store, series, write } = rig({ mishaps: [{}, {}, { instead }] });
    store.put(theirs(series));
    expect(await write()).toMatchObject({ kind: 'written', verb: 'create', packets: 3 });
    expect(store.requests).toEqual(['create', 'read', 'update', 'create']);
  });

  test.each([
    'Infinity',
    '-Infinity',
    '1e300',
    '-1e9',
    '-99',
    '0.5',
    'NaN',
    '0 Infinity 1',
    '0 1 Infinity',
    '0 -5 1',
    '0 NaN NaN',
  ])('a forged state of "%s" does not lead to an invalid count', async (forged) => {
    for (const count of [-1000, 0, 1, 7]) {
      const one = rig();
      one.store.put(theirs(one.series, { owner: `ours ${forged}`, count }));
      for (const offset of [second, minute]) {
        const outcome = await one.write(offset);
        if (outcome.kind !== 'written') throw new Error('not written');
        expect(JSON.parse(JSON.stringify(outcome.published))).toEqual(outcome.published);
        expect(one.event()?.count).toBeGreaterThanOrEqual(1);
        expect(one.event()?.count).toBeLessThanOrEqual(20);
        one.count(2, offset);
      }
    }
  });

  test('a wrong type of an Event is corrected', async () => {
    expect((await adopt({ type: 'Normal' })).event()).toMatchObject({ type: 'Warning' });
  });

  test.each([{ reason: 'Pulled' }, { type: 'Normal' } as const])(
    'an Event for all nodes is published by no other node with %j',
    async (given) => {
      const { store, series, write } = rig({ given: shared });
      store.put(theirs(series, { source: { component, host: 'node-b' }, ...given }));
      expect(await write()).toMatchObject({ kind: 'written', verb: 'create', packets: 3 });
      expect(store.events.size).toBe(2);
    },
  );
});

const shared = { finding: finding({ shared: true, node: 'node-a' }) };

test('an Event for all nodes has the same name whichever node publishes it', () => {
  const [here, there] = ['node-a', 'node-b'].map((node) => seriesOf({ finding: finding({ shared: true, node }) }));
  expect(keyOf(eventOf(here as Series, '', nine))).toBe(keyOf(eventOf(there as Series, '', nine)));
  expect(keyOf(eventOf(seriesOf({ finding: finding({ node: 'node-a' }) }), '', nine))).not.toBe(
    keyOf(eventOf(seriesOf({ finding: finding({ node: 'node-b' }) }), '', nine)),
  );
});

test("an Event for all nodes stays unchanged if another node's agent has published it", async () => {
  const { store, series, write, count, event } = rig({ given: shared });
  store.put(theirs(series, { count: 7 }));
  expect(await write()).toMatchObject({
    kind: 'written',
    verb: 'create',
    packets: 0,
    published: { count: 3, writes: 6 },
  });
  count(2);
  expect(await write(minute)).toMatchObject({ kind: 'written', packets: 0, published: { count: 5, writes: 7 } });
  expect(store.requests).toEqual(['create', 'read', 'create', 'read']);
  expect(event()).toMatchObject({ count: 7, message: 'an older message' });
});

test("an Event for all nodes is published with our whole count once the other node's is gone", async () => {
  const { store, series, write, count, event, key } = rig({ given: shared });
  store.put(theirs(series, { count: 7 }));
  await write();
  store.remove(key);
  count(2);
  expect(await write(minute)).toMatchObject({ kind: 'written', verb: 'create' });
  expect(event()?.count).toBe(5);
});

test('an Event for all nodes is still ours after a crash', async () => {
  const { store, series, write, event } = rig({ given: shared });
  store.put(theirs(series, { owner: 'ours 0', count: 2 }));
  expect(await write()).toMatchObject({ kind: 'written', verb: 'update', packets: 3 });
  expect(event()?.count).toBe(3);
});

describe('an Event of an earlier run whose state is lost', () => {
  test("is added to only up to the API's largest count", async () => {
    const { event } = await adopt({ count: 2_147_483_646, lastTimestamp: at(-minute) });
    expect(event()?.count).toBe(2_147_483_647);
  });

  test('is added to if our packets came after it', async () => {
    const first = at(-20 * minute);
    const { event, write, count } = await adopt({ count: 10, firstTimestamp: first, lastTimestamp: at(-1000) });
    expect(event()).toMatchObject({ count: 13, firstTimestamp: first });
    expect(annotation(event())).toBe('ours 10');
    count(2);
    expect(await write(minute)).toMatchObject({ packets: 2, published: { count: 5, base: 10 } });
    expect(event()).toMatchObject({ count: 15, firstTimestamp: first });
  });

  test.each([
    { count: 10, expected: 10 },
    { count: 3, expected: 3 },
    { count: 2, expected: 3 },
  ])('an Event with $count has $expected if our packets may be among them', async ({ count: before, expected }) => {
    const { event, write, count } = await adopt({ count: before, lastTimestamp: at(0) });
    expect(event()).toMatchObject({ count: expected });
    count(2, minute);
    await write(2 * minute);
    expect(event()?.count).toBeGreaterThanOrEqual(expected);
    expect(event()?.count).toBeLessThanOrEqual(expected + 2);
  });

  test('an Event that was partly read again never exceeds the sum of both counts after the rest arrives', async () => {
    // The other run counted 10 packets until 30 s past. Ours are the first 3 of these, then the other 7.
    const { event, write, count } = await adopt({ count: 10, lastTimestamp: at(30 * second) });
    count(7, 30 * second);
    await write(minute);
    expect(event()).toMatchObject({ count: 10 });
  });

  test('an Event that was partly read again, and that a user changes before the rest arrives, does not exceed the sum either', async () => {
    const { store, key, event, write, count } = await adopt({ count: 10, lastTimestamp: at(30 * second) });
    store.touch(key);
    // Times of Events have no milliseconds.
    count(4, 30 * second + 999);
    await write(minute);
    expect(event()).toMatchObject({ count: 10 });
    count(3, 30 * second);
    await write(2 * minute);
    expect(event()).toMatchObject({ count: 10 });
  });

  test('an Event that was partly read again does not exceed the sum even if the agent is killed before the rest arrives', async () => {
    const { store, event } = await adopt({ count: 10, lastTimestamp: at(30 * second) });
    // Its answer was lost.
    const restarted = rig({ store, given: { count: 3 } });
    restarted.count(7, 30 * second);
    await restarted.write(minute);
    expect(event()).toMatchObject({ count: 10 });
  });

  test('starts again with only our packets if it is deleted later', async () => {
    const { store, key, event, write, count } = await adopt({ count: 10, lastTimestamp: at(-1000) });
    store.remove(key);
    count(2);
    expect(await write(minute)).toMatchObject({ verb: 'create', published: { count: 5, base: -3 } });
    expect(event()).toMatchObject({ count: 2 });
  });

  test('is not added to twice after a crash', async () => {
    const { store, event, key } = await adopt({ count: 10, lastTimestamp: at(-1000) });
    const restarted = rig({ store, given: { count: 3 } });
    expect(restarted.key).toBe(key);
    await restarted.write();
    expect(event()).toMatchObject({ count: 13 });
  });

  test.each(['', 'theirs', 'theirs x', 'ours2 4'])('is not trusted about its owner: %j', async (owner) => {
    const { event } = await adopt({ owner, count: 10, lastTimestamp: at(-1000) });
    expect(event()).toMatchObject({ count: 13 });
  });

  test.each(['ours', 'ours x', 'ours 0'])('counts as ours: %j', async (owner) => {
    const { event } = await adopt({ owner, count: 2, lastTimestamp: at(0) });
    expect(event()).toMatchObject({ count: 3 });
  });

  test('is added to if it is ours and of the same hour, before the clock was set forward and back', async () => {
    const { event, write, count } = await adopt({ owner: 'ours 0', count: 10, lastTimestamp: at(-1000) });
    expect(event()).toMatchObject({ count: 13 });
    count(2);
    await write(minute);
    expect(event()).toMatchObject({ count: 15 });
  });
});

test('an Event has wall-clock times, the series keeps its own', async () => {
  const { series, write, count, event, store, key } = rig({ ahead: minute });
  await write();
  expect(event()).toMatchObject({ firstTimestamp: at(minute), lastTimestamp: at(minute + second) });
  expect(series).toMatchObject({ first: nine, published: { at: nine + second } });
  store.remove(key);
  count(2);
  await write(3 * second);
  // The Event begins again where the deleted one ended.
  expect(event()).toMatchObject({ count: 2, firstTimestamp: at(minute + second) });
  expect(series.published).toMatchObject({ at: nine + 3 * second, first: nine + second });
});

test('packets counted during the requests are published with the next write', async () => {
  const mishaps: Mishap[] = [{ before: () => one.count(5) }];
  const one = rig({ mishaps });
  expect(await one.write()).toMatchObject({ packets: 3, published: { count: 3 } });
  one.store.touch(one.key);
  mishaps.push({ before: () => one.count(1) }, { before: () => one.count(1) }, { before: () => one.count(1) });
  expect(await one.write(minute)).toMatchObject({ packets: 5, published: { count: 8 } });
  expect(one.event()).toMatchObject({ count: 8, source: { component } });
  expect(one.series.count).toBe(11);
});
