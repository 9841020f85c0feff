import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stateOf } from '../series/state-of.ts';
import { createLookupQueue, longestWait, type LookupQueue } from '../../../src/count/pipeline/lookup-queue.ts';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createPipeline, type Pipeline } from '../../../src/count/pipeline/pipeline.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import type { AgentState } from '../../../src/publish/state/state.ts';
import { createStatistics } from '../../../src/count/pipeline/statistics.ts';
import { cluster, line, nine, pod } from '../../builders.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { forAll } from '../../for-all.ts';

/** Waiting flows are looked up again at least this often, in milliseconds. */
const interval = 250;

beforeEach(() => {
  vi.useFakeTimers({ now: nine });
});

afterEach(() => {
  vi.clearAllTimers();
  vi.useRealTimers();
});

interface RigOptions {
  limit?: number;
  /** Whether a host has to be looked up; otherwise it is known. */
  unknown?: (host: number) => boolean;
  synced?: boolean;
  snapshot?: string | undefined;
}

const other = pod({ namespace: 'bank', name: 'ledger-0', uid: 'uid-ledger', addresses: ['10.65.1.5'] });
const endpoints = createEndpointFinder(cluster({ pods: [pod(), other] }));
const hostOf = (address: string): number => Number(address.split('.').at(-1));

function rig({ limit = 10, unknown = () => true, synced = true, snapshot }: RigOptions = {}) {
  const state = snapshot === undefined ? undefined : (JSON.parse(snapshot) as Pick<AgentState, 'series' | 'waiting'>);
  const queue = createLookupQueue(limit, state?.waiting);
  const table = createSeriesTable({ restored: state?.series, limits: { perObject: 1000, total: 1000 } });
  const answered = new Set<number>();
  /** How long each flow had waited since its look-up became possible. */
  const waits: number[] = [];
  /** The number of packets in each report of a drop. */
  const told: number[] = [];
  let asked = 0;
  let syncedAt = synced ? Date.now() : Infinity;
  const incidents = nodeIncidents(table.count);
  const release: LookupQueue['release'] = (may, most) => {
    const released = queue.release(may, most);
    waits.push(...released.map(({ since }) => Date.now() - Math.max(since, syncedAt)));
    return released;
  };
  const pipeline: Pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics: createStatistics(),
    counts: () => ({ table, incidents }),
    node: 'node-a',
    includeNoise: false,
    hasFlows: true,
    packets: { drop: ({ weight }) => void told.push(weight) },
    lookups: {
      queue: Object.create(queue, { release: { value: release } }) as LookupQueue,
      remote: { startLookups, isUnsure: () => false },
      isSynced: () => syncedAt <= Date.now(),
      now: Date.now,
    },
  });
  return {
    queue,
    table,
    pipeline,
    waits,
    told,
    /** How often a packet's look-ups were requested. */
    asked: (): number => asked,
    /** Reads the line of a dropped packet from this outside host to this port of the Pod. */
    read: (host: number, port = 80, destination?: string): void =>
      pipeline.take(line({ text: textOf(host, port, destination), time: Date.now() }), 'kernel'),
    /** Counts this many more lines that repeat the last one. */
    repeat(this: void, lines: number): void {
      const { repeats } = pipeline;
      const repeat = repeats?.last();
      for (let i = 0; i < lines; i++) if (repeat !== undefined) repeats?.again(repeat, Date.now() + i);
      repeats?.flush();
    },
    /** The lists of Pods are complete. */
    sync(this: void): void {
      if (syncedAt < Infinity) return;
      syncedAt = Date.now();
      pipeline.review();
    },
    /** A look-up is answered. */
    answer(this: void, host: number): void {
      answered.add(host);
      pipeline.review();
    },
    /** The flows counted so far: `203.0.113.7 80 x3`. */
    counted: (): string[] =>
      stateOf(table).series.map(({ finding: { details }, count }) =>
        details.kind === 'flow' ? `${details.peer.address} ${details.port} x${count}` : '',
      ),
    full: () => queue.overflowed,
    snapshot: () => JSON.stringify({ series: stateOf(table), waiting: queue.flows }),
  };

  function startLookups({ source }: Ends): boolean {
    asked++;
    const host = hostOf(source.address);
    if (!unknown(host)) return false;
    return !answered.has(host);
  }
}

function textOf(host: number, port: number, destination = '10.65.1.4'): string {
  return `calico-drop: IN=eth0 OUT=cali1 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=203.0.113.${host} DST=${destination} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0 `;
}

/** A Calico flow of the same packet as `textOf(7, 80)`. */
const flowText = JSON.stringify({
  Key: {
    source_name: 'public',
    source_type: 'Network',
    dest_name: 'web-*',
    dest_namespace: 'shop',
    dest_type: 'WorkloadEndpoint',
    dest_port: 80,
    proto: 'tcp',
    reporter: 'Dst',
    action: 'Deny',
    policies: { enforced_policies: [{ kind: 'NetworkPolicy', namespace: 'shop', name: 'web', action: 'Deny' }] },
  },
  start_time: nine / 1000,
  packets_in: 1,
});

const pass = (milliseconds: number): void => void vi.advanceTimersByTime(milliseconds);

test('a packet that is looked up waits with all its repeated lines, and is counted with them', () => {
  const one = rig();
  one.read(7);
  one.repeat(5);
  expect([one.counted(), one.queue.flows.map(({ weight, first, last }) => [weight, first, last])]).toEqual([
    [],
    [[6, nine, nine + 4]],
  ]);
  one.answer(7);
  expect(one.counted()).toEqual(['203.0.113.7 80 x6']);
});

test('a packet with repeated lines is counted at once if the queue is full', () => {
  const one = rig({ limit: 1 });
  for (const host of [7, 8]) one.read(host);
  one.repeat(5);
  expect([one.counted(), one.full()]).toEqual([['203.0.113.8 80 x6'], 6]);
});

test('a waiting packet is counted once if a flow of Calico also reports it', () => {
  const one = rig({ unknown: () => false, synced: false });
  one.read(7);
  one.pipeline.take(line({ text: flowText, time: Date.now(), program: 'calico-flows' }), 'kernel');
  expect(one.queue.size).toBe(2);
  one.sync();
  expect([one.counted(), one.told]).toEqual([['203.0.113.7 80 x1'], [1]]);
});

test('a flow of Calico does not count packets again that a line has shown since the flow before', () => {
  const one = rig({ unknown: () => false });
  const takeFlow = () =>
    one.pipeline.take(line({ text: flowText, time: Date.now(), program: 'calico-flows' }), 'kernel');
  takeFlow();
  one.read(7);
  const before = one.counted();
  takeFlow();
  expect([one.counted(), one.told]).toEqual([before, [1, 1]]);
});

type Step =
  | { kind: 'read'; host: number; port: number }
  | { kind: 'pass'; time: number }
  | { kind: 'answer'; host: number }
  | { kind: 'sync' | 'review' | 'restart' };

const step = fc.oneof<fc.WeightedArbitrary<Step>[]>(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read'),
      host: fc.integer({ min: 1, max: 5 }),
      port: fc.constantFrom(80, 443),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass'), time: fc.integer({ min: 1, max: 3000 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('answer'), host: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('sync', 'review', 'restart') }) },
);

test('no packet is lost, counted twice or kept waiting for too long, whatever happens', () => {
  forAll([fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 6 })], { numRuns: 300 }, (steps, limit) => {
    const options = { limit, unknown: (host: number) => host !== 1 };
    let one = rig({ ...options, synced: false });
    const waits: number[][] = [one.waits];
    const expected = new Map<string, number>();
    let lines = 0;
    for (const each of steps) {
      switch (each.kind) {
        case 'read': {
          const flow = `203.0.113.${each.host} ${each.port}`;
          one.read(each.host, each.port);
          expected.set(flow, (expected.get(flow) ?? 0) + 1);
          lines++;
          break;
        }
        case 'pass':
          pass(each.time);
          break;
        case 'answer':
          one.answer(each.host);
          break;
        case 'sync':
          one.sync();
          break;
        case 'review':
          one.pipeline.review();
          break;
        case 'restart':
          one.pipeline.stop();
          one = rig({ ...options, synced: false, snapshot: one.snapshot() });
          waits.push(one.waits);
          break;
        default:
          each satisfies never;
      }
      const waiting = one.queue.flows.reduce((sum, { weight }) => sum + weight, 0);
      const counted = stateOf(one.table).series.reduce((sum, { count }) => sum + count, 0);
      expect(waiting + counted).toBe(lines);
    }
    one.sync();
    pass(longestWait + interval);
    expect(one.counted().toSorted()).toEqual([...expected].map(([flow, count]) => `${flow} x${count}`).toSorted());
    expect(Math.max(0, ...waits.flat())).toBeLessThanOrEqual(longestWait + interval);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('while no answer comes, the owners of waiting packets are not searched for again', () => {
  const { read, asked, answer, told, queue } = rig({ limit: 100 });
  for (let port = 1; port <= 50; port++) read(7, port);
  vi.advanceTimersByTime(interval);
  const before = asked();
  vi.advanceTimersByTime(3 * interval);
  expect({ again: asked() - before, waiting: queue.size }).toEqual({ again: 0, waiting: 50 });
  answer(7);
  expect(told).toHaveLength(50);
});

test('if thousands of flows get their owners at once, some are counted in each turn of the event loop', () => {
  const { read, answer, told, queue } = rig({ limit: 1000 });
  for (let port = 1; port <= 600; port++) read(7, port);
  answer(7);
  expect(told.length).toBe(256);
  vi.advanceTimersByTime(0);
  vi.runAllTimers();
  expect({ counted: told.length, waiting: queue.size }).toEqual({ counted: 600, waiting: 0 });
});

test("packets of a Pod to many ports do not take another Namespace's waiting room", () => {
  const { read, told, queue, counted, answer } = rig({ limit: 4 });
  const waiting = (): unknown[] =>
    queue.flows.map(({ observation }) => observation.kind === 'packet' && observation.packet.destinationPort);
  for (let port = 80; port < 90; port++) read(7, port);
  expect(waiting()).toEqual([80, 81, 82, 83]);
  expect(told).toHaveLength(6);
  for (const port of [5432, 5433, 5434]) read(8, port, '10.65.1.5');
  // The oldest of the others are counted with the owners known so far.
  expect(waiting()).toEqual([82, 83, 5432, 5433]);
  expect(told).toHaveLength(9);
  answer(8);
  expect(counted()).toEqual(expect.arrayContaining(['203.0.113.8 5432 x1', '203.0.113.8 5433 x1']));
});
