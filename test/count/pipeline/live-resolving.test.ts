import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createMeanings, type FlowMeaning } from '../../../src/count/pipeline/meaning.ts';
import {
  createLookupQueue,
  longestWait,
  type LookupQueue,
  type QueuedFlow,
} from '../../../src/count/pipeline/lookup-queue.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createPipeline, type Pipeline } from '../../../src/count/pipeline/pipeline.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createLiveLists, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { createRemoteLookups } from '../../../src/explain/resolving/lookups/remote.ts';
import { resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { createStatistics, type Statistics } from '../../../src/count/pipeline/statistics.ts';
import { line, nine, node, observation, packet, pod, service } from '../../builders.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { afresh, shown } from './afresh.ts';
import { forAllAsync } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;
const [veth = ''] = interfaceNames('shop', 'web-0');
const db = pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9'] });

type Live = ReturnType<typeof live>;

function live() {
  const clock = { now: nine };
  const found = new Map<string, Pod[]>();
  const hostNames = new Map<string, string | undefined>();
  const lookups = createRemoteLookups({
    findPods: (address) => Promise.resolve({ pods: found.get(address) ?? [] }),
    findHostName: (address) => Promise.resolve(hostNames.get(address)),
    onChange: () => lists.endpoints.changed('remote'),
    now: () => clock.now,
  });
  const lists = createLiveLists('node-a', lookups);
  return { lists, remote: lookups, found, hostNames, clock };
}

async function lookUp(address: string, { lists, remote: lookups, clock }: Live): Promise<void> {
  const seen = observation({ packet: packet({ source: address, destination: address }) });
  lookups.startLookups(resolvePacket(seen, lists.endpoints, { time: clock.now, exact: true }));
  await setImmediate();
}

/** A new version of an object is not worth forgetting all flows for. */
function withoutVersions(meaning: FlowMeaning): unknown {
  return JSON.parse(
    JSON.stringify(shown(meaning), (key, value: unknown) => (key === 'resourceVersion' ? undefined : value)),
  );
}

const local = ['10.65.1.4', '10.65.1.5', 'fd00:65::4'];
const remoteAddresses = ['10.65.2.9', '10.65.2.10', '203.0.113.9'];
const names = ['web-0', 'web-1'];

const lives = fc.record({
  generation: fc.nat({ max: 2 }),
  hostNetwork: fc.constantFrom(false, false, false, true),
  started: fc.constantFrom(-Infinity, -30_000, -1000, 4000),
  lasts: fc.constantFrom(Infinity, Infinity, Infinity, 500, 20_000),
  resourceVersion: fc.constantFrom('1', '2'),
  workload: fc.constantFrom(undefined, { kind: 'Deployment', namespace: 'shop', name: 'web' }),
});

const edits = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pod' as const),
      name: fc.constantFrom(...names),
      life: lives,
      addresses: fc.subarray(local),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('no pod' as const), name: fc.constantFrom(...names) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('look-up' as const),
      address: fc.constantFrom(...remoteAddresses),
      lives: fc.array(lives, { maxLength: 2 }),
      name: fc.constantFrom(undefined, 'a.example.org'),
    }),
  },
  fc.record({
    kind: fc.constant('node' as const),
    addresses: fc.subarray(['192.168.7.11', '10.65.2.10']),
    podRanges: fc.subarray(['10.65.1.0/24', '10.65.2.0/24']),
  }),
  fc.constantFrom({ kind: 'no node' as const }, { kind: 'no service' as const }, { kind: 'sweep' as const }),
  fc.record({ kind: fc.constant('service' as const), addresses: fc.subarray(['10.96.0.80', '10.65.2.10']) }),
);

const flows = fc.record({
  source: fc.constantFrom(...local, ...remoteAddresses),
  destination: fc.constantFrom(...local, ...remoteAddresses, '10.96.0.80', '192.168.7.11'),
  inInterface: fc.constantFrom('', 'eth0', ...names.map((name) => interfaceNames('shop', name)[0] ?? '')),
});

const programs = fc.tuple(
  fc.array(flows, { minLength: 1, maxLength: 3 }),
  fc.array(
    fc.record({
      edit: fc.option(edits, { nil: undefined }),
      pause: fc.constantFrom(0, 1, 1500, 20_000, 6 * minute),
      lines: fc.array(
        fc.record({ which: fc.nat(), ago: fc.constantFrom(0, 0, 1, 3000, 25_000), exact: fc.boolean() }),
        { maxLength: 6 },
      ),
    }),
    { maxLength: 20 },
  ),
);

type Edit = typeof edits extends fc.Arbitrary<infer T> ? T : never;
type Life = typeof lives extends fc.Arbitrary<infer T> ? T : never;

function podOf({ generation, started, lasts, ...rest }: Life, name: string, addresses: string[], now: number): Pod {
  const from = now + started;
  const until = started === -Infinity ? Infinity : from + lasts;
  return pod({ ...rest, name, addresses, uid: `${name} ${generation}`, from, until });
}

async function apply(edit: Edit, scene: Live): Promise<void> {
  const { lists, found, hostNames } = scene;
  const { now } = scene.clock;
  switch (edit.kind) {
    case 'pod':
      return lists.setPod(podOf(edit.life, edit.name, edit.addresses, now), now);
    case 'no pod':
      return lists.removePod('shop', edit.name, now);
    case 'look-up':
      found.set(
        edit.address,
        edit.lives.map((life, number) => podOf(life, `db-${number}`, [edit.address], now)),
      );
      hostNames.set(edit.address, edit.name);
      return await lookUp(edit.address, scene);
    case 'node':
      return lists.setNode(node({ addresses: edit.addresses, podRanges: edit.podRanges }));
    case 'no node':
      return lists.removeNode('node-a');
    case 'service':
      return lists.setService(service({ addresses: edit.addresses }), now);
    case 'no service':
      return lists.removeService('shop', 'api', now);
    case 'sweep':
      return lists.sweep(now);
    default:
      edit satisfies never;
  }
}

test('remembered flows equal newly resolved ones, whatever becomes known or changes in between', async () => {
  await forAllAsync([programs], { numRuns: 250 }, async ([some, steps]) => {
    const scene = live();
    const { endpoints } = scene.lists;
    const { meaningOf } = createMeanings({ endpoints, node: undefined });
    for (const { edit, pause, lines } of steps) {
      scene.clock.now += pause;
      if (edit) await apply(edit, scene);
      for (const { which, ago, exact } of lines) {
        const { source, destination, inInterface } = some[which % some.length] ?? some[0]!;
        const seen = observation({ inInterface, packet: packet({ source, destination }) });
        const from = line({ time: scene.clock.now - ago, timeIsExact: exact, host: undefined });
        expect(withoutVersions(meaningOf(from, seen))).toEqual(
          withoutVersions(afresh(endpoints, undefined, from, seen)),
        );
      }
    }
  });
});

test.each<[string, Partial<Pod>, [number, string][]]>([
  [
    'began',
    { from: nine + 10 * second },
    [
      [5, 'unknown'],
      [10, 'pod'],
      [20, 'pod'],
      [5, 'unknown'],
    ],
  ],
  [
    'ended',
    { from: nine, until: nine + 10 * second },
    [
      [5, 'pod'],
      [10, 'unknown'],
      [20, 'unknown'],
      [5, 'pod'],
    ],
  ],
])('remembered flows end when a Pod that was looked up %s', async (_, life, expected) => {
  const scene = live();
  scene.clock.now = nine + minute;
  scene.found.set('10.65.2.9', [{ ...db, ...life }]);
  await lookUp('10.65.2.9', scene);
  const { meaningOf } = createMeanings({ endpoints: scene.lists.endpoints, node: undefined });
  const seen = observation({ packet: packet({ destination: '10.65.2.9' }) });
  for (const [offset, kind] of expected) {
    const from = line({ time: nine + offset * second });
    // The flow is remembered when it comes the second time.
    for (let time = 0; time < 3; time++) expect(meaningOf(from, seen).ends.destination.kind).toBe(kind);
  }
});

test('remembered flows stay if nothing relevant changes', () => {
  const { lists } = live();
  lists.setPod(pod({ resourceVersion: '1' }), nine);
  const { meaningOf } = createMeanings({ endpoints: lists.endpoints, node: undefined });
  meaningOf(line(), observation());
  const known = meaningOf(line(), observation());
  lists.setPod(pod({ resourceVersion: '2' }), nine + 1);
  expect(meaningOf(line(), observation())).toBe(known);
});

/** Makes a SYN from the local Pod as the kernel prints it. */
function syn({ to = '10.65.2.9', port = 443 } = {}): string {
  return `calico-drop: IN=${veth} OUT=eth0 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=10.65.1.4 DST=${to} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0 `;
}

/** Lets time pass, and everything that is due happen. */
const pass = (time: number): Promise<unknown> => vi.advanceTimersByTimeAsync(time);

describe('a packet whose ends are being looked up', () => {
  beforeEach(() => void vi.useFakeTimers({ now: nine, toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  interface Scene {
    lists: LiveLists;
    queue: LookupQueue;
    statistics: Statistics;
    table: SeriesTable;
    pipeline: Pipeline;
    /** Look-ups under way, in the order in which they began. */
    open: { what: string; answer: (value: unknown) => Promise<void>; fail: () => Promise<void> }[];
    sync: (on?: boolean) => void;
    drop: (given?: Parameters<typeof syn>[0], times?: number) => void;
    /** `web-0 sending Pod/shop/db-0 x3`. */
    series: () => string[];
  }

  function scene({ synced = true, limit = 4096, restored = [] as QueuedFlow[] } = {}): Scene {
    const open: Scene['open'] = [];
    const sync = { on: synced };
    const under = <T>(what: string): Promise<T> => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const end = async (settle: () => void): Promise<void> => {
        open.splice(open.indexOf(one), 1);
        settle();
        await setImmediate();
      };
      const one = {
        what,
        answer: (value: unknown) => end(() => resolve(value as T)),
        fail: () => end(() => reject(new Error('away'))),
      };
      open.push(one);
      return promise;
    };
    const remote = createRemoteLookups({
      findPods: async (address) => ({ pods: await under<Pod[]>(`pods ${address}`) }),
      findHostName: (address) => under(`name ${address}`),
      onChange() {
        lists.endpoints.changed('remote');
        pipeline.review();
      },
      now: Date.now,
    });
    const lists = createLiveLists('node-a', remote);
    lists.setNode(node({ podRanges: ['10.65.1.0/24'] }));
    lists.setNode(node({ name: 'node-b', addresses: ['192.168.7.12'], podRanges: ['10.65.2.0/24'] }));
    lists.setPod(pod(), nine);
    const queue = createLookupQueue(limit, restored);
    const statistics = createStatistics();
    const table = createSeriesTable({ limits: { perObject: 1000, total: 5000 } });
    const incidents = nodeIncidents(table.count);
    const pipeline = createPipeline({
      prefixes: createPrefixTable(),
      endpoints: lists.endpoints,
      statistics,
      counts: () => ({ table, incidents }),
      node: 'node-a',
      includeNoise: false,
      lookups: { queue, remote, isSynced: () => sync.on, now: Date.now },
    });
    return {
      lists,
      queue,
      statistics,
      table,
      pipeline,
      open,
      sync() {
        sync.on = true;
        pipeline.review();
      },
      drop(given, times = 1) {
        for (let time = 0; time < times; time++) pipeline.take(line({ text: syn(given), time: Date.now() }), 'kernel');
      },
      series: () =>
        table
          .due(Infinity)
          .map(({ finding: { regarding, details }, count }) =>
            details.kind === 'flow'
              ? `${regarding.name} ${details.direction} ${details.peer.identity} x${count}`
              : `${regarding.name} ${details.kind} x${count}`,
          )
          .toSorted(),
    };
  }

  test('counts for both Pods when the other one has been found, with all packets from meanwhile', async () => {
    const { drop, series, open, queue, statistics, table } = scene();
    drop({}, 3);
    await pass(700);
    drop({}, 2);
    expect([series(), open.map(({ what }) => what), queue.size]).toEqual([[], ['pods 10.65.2.9'], 1]);
    await open[0]?.answer([db]);
    expect(series()).toEqual(['db-0 receiving Pod/shop/web-0 x5', 'web-0 sending Pod/shop/db-0 x5']);
    expect(table.due(Infinity).map(({ first, last }) => [first, last])).toEqual([
      [nine, nine + 700],
      [nine, nine + 700],
    ]);
    drop({}, 4);
    expect(series()).toEqual(['db-0 receiving Pod/shop/web-0 x9', 'web-0 sending Pod/shop/db-0 x9']);
    expect(statistics).toMatchObject({ verdicts: { dropped: 9 }, withPods: 9, withoutPods: 0, noise: 0 });
    expect([queue.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test.each(['the look-up fails', 'no object has it'])('counts with the bare address when %s', async (when) => {
    const { drop, series, open, queue } = scene();
    drop({}, 3);
    await (when === 'no object has it' ? open[0]?.answer([]) : open[0]?.fail());
    expect([series(), queue.size]).toEqual([['web-0 sending 10.65.2.9 x3'], 0]);
    drop({}, 2);
    expect(series()).toEqual(['web-0 sending 10.65.2.9 x5']);
  });

  test('waits for a limited time; a later answer is for later packets', async () => {
    const { drop, series, open } = scene();
    drop({}, 2);
    await pass(longestWait - 1);
    expect(series()).toEqual([]);
    drop();
    await pass(251);
    expect([series(), vi.getTimerCount()]).toEqual([['web-0 sending 10.65.2.9 x3'], 0]);
    await open[0]?.answer([db]);
    drop();
    expect(series()).toEqual([
      'db-0 receiving Pod/shop/web-0 x1',
      'web-0 sending 10.65.2.9 x3',
      'web-0 sending Pod/shop/db-0 x1',
    ]);
  });

  test("waits for the host name after the address is known not to be a Pod's", async () => {
    const { drop, series, open, table } = scene();
    drop({ to: '10.99.0.1' });
    await open[0]?.answer([]);
    expect([series(), open.map(({ what }) => what)]).toEqual([[], ['name 10.99.0.1']]);
    await open[0]?.answer('db.example.org');
    expect(series()).toEqual(['web-0 sending 10.99.0.1 x1']);
    const details = table.due(Infinity)[0]?.finding.details;
    expect(details?.kind === 'flow' && details.peer.note).toContain('db.example.org');
  });

  test('is not overtaken by a later packet, even if its ends are known by then', async () => {
    const { drop, series, open, lists } = scene();
    drop();
    lists.setPod(pod({ name: 'web-1', addresses: ['10.65.2.9'], from: nine - minute }), nine);
    drop();
    expect(series()).toEqual([]);
    await pass(250);
    expect(series()).toEqual(['web-0 sending Pod/shop/web-1 x2', 'web-1 receiving Pod/shop/web-0 x2']);
    expect(open).toHaveLength(1);
  });

  test('goes out at once if nothing can be looked up or the budget is used up', async () => {
    const { drop, series, open } = scene();
    drop({ to: '192.168.7.12' });
    expect(series()).toEqual(['web-0 sending Node/node-b x1']);
    // One Namespace has half of the budget of 30.
    for (let number = 1; number <= 15; number++) drop({ to: `10.65.2.${100 + number}` });
    expect([series(), open.length]).toEqual([['web-0 sending Node/node-b x1'], 2]);
    drop({ to: '10.65.2.200' });
    expect(series()).toEqual(['web-0 sending 10.65.2.200 x1', 'web-0 sending Node/node-b x1']);
  });

  test('counts at once if there is no place to wait, and that is counted too', async () => {
    const { drop, series, open, queue } = scene({ limit: 1 });
    drop();
    drop({ to: '10.65.2.10' });
    drop();
    expect([series(), queue.overflowed]).toEqual([['web-0 sending 10.65.2.10 x1'], 1]);
    await open[0]?.answer([db]);
    expect(series()).toEqual([
      'db-0 receiving Pod/shop/web-0 x2',
      'web-0 sending 10.65.2.10 x1',
      'web-0 sending Pod/shop/db-0 x2',
    ]);
  });

  test('a martian waits for its receiver', async () => {
    const { pipeline, series, open, statistics } = scene();
    const text = `IPv4: martian source 10.65.2.9 from 192.0.2.1, on dev ${veth}`;
    for (let time = 0; time < 3; time++) pipeline.take(line({ text }), 'kernel');
    expect(series()).toEqual([]);
    await open.find(({ what }) => what === 'pods 10.65.2.9')?.answer([db]);
    await pass(longestWait + 250);
    expect(series()).toEqual(['db-0 receiving Pod/shop/web-0 x3', 'web-0 sending Pod/shop/db-0 x3']);
    expect(statistics).toMatchObject({ martian: 3, withPods: 3 });
  });

  describe('before the cluster is listed', () => {
    test('waits for the lists, however long', async () => {
      const { drop, series, open, sync } = scene({ synced: false });
      drop({ to: '192.168.7.12' }, 2);
      await pass(10 * minute);
      drop({ to: '192.168.7.12' });
      expect([series(), open]).toEqual([[], []]);
      sync();
      expect(series()).toEqual(['web-0 sending Node/node-b x3']);
      expect(vi.getTimerCount()).toBe(0);
    });

    test('has its look-ups afterwards, because the wait for the lists is a separate one', async () => {
      const { drop, series, open, sync } = scene({ synced: false });
      drop({}, 2);
      await pass(5 * second);
      expect(open).toEqual([]);
      sync();
      expect([series(), open.map(({ what }) => what)]).toEqual([[], ['pods 10.65.2.9']]);
      await pass(100);
      await open[0]?.answer([db]);
      expect(series()).toEqual(['db-0 receiving Pod/shop/web-0 x2', 'web-0 sending Pod/shop/db-0 x2']);
    });

    test('packets saved by an earlier run are counted once, with later ones', async () => {
      const before = scene({ synced: false });
      before.drop({ to: '192.168.7.12' }, 3);
      const restored = JSON.parse(JSON.stringify(before.queue.flows)) as QueuedFlow[];
      before.pipeline.stop();
      const { drop, series, sync } = scene({ synced: false, restored });
      drop({ to: '192.168.7.12' }, 2);
      sync();
      expect(series()).toEqual(['web-0 sending Node/node-b x5']);
    });
  });

  test('stops waiting once it is stopped, whatever arrives', async () => {
    const { drop, pipeline, open, queue } = scene();
    drop();
    pipeline.stop();
    expect(vi.getTimerCount()).toBe(0);
    pipeline.review();
    await pass(60 * second);
    expect([vi.getTimerCount(), queue.size]).toEqual([0, 1]);
    await open[0]?.fail();
  });

  const steps = fc.array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('drop' as const),
          to: fc.constantFrom('10.65.2.9', '10.65.2.10', '10.99.0.1', '203.0.113.9', '192.168.7.12'),
          port: fc.constantFrom(443, 5432),
          times: fc.integer({ min: 1, max: 3 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('settle' as const),
          which: fc.nat(),
          outcome: fc.constantFrom('found', 'nobody', 'failed'),
        }),
      },
      fc.record({
        kind: fc.constant('wait' as const),
        time: fc.constantFrom(1, 249, 250, 1000, 2000, 61 * second, 6 * minute),
      }),
      fc.record({ kind: fc.constant('pod' as const), address: fc.constantFrom('10.65.2.9', '10.65.1.5') }),
      fc.constant({ kind: 'sync' as const }),
    ),
    { maxLength: 30 },
  );

  test('is counted exactly once, whatever happens in any order', async () => {
    await forAllAsync([steps, fc.constantFrom(2, 4096)], { numRuns: 200 }, async (program, limit) => {
      const { drop, open, lists, table, statistics, queue, sync } = scene({ synced: false, limit });
      const sent = new Map<number, number>();
      for (const step of program) {
        if (step.kind === 'drop') {
          drop(step, step.times);
          sent.set(step.port, (sent.get(step.port) ?? 0) + step.times);
        } else if (step.kind === 'wait') await pass(step.time);
        else if (step.kind === 'sync') sync();
        else if (step.kind === 'pod')
          lists.setPod(pod({ name: 'web-1', addresses: [step.address], from: nine }), Date.now());
        else {
          const one = open[step.which % Math.max(1, open.length)];
          const [what, address = ''] = one?.what.split(' ') ?? [];
          const found = what === 'name' ? 'db.example.org' : [{ ...db, addresses: [address] }];
          if (step.outcome === 'failed') await one?.fail();
          else await one?.answer(step.outcome === 'found' ? found : what === 'name' ? undefined : []);
        }
      }
      sync();
      await pass(10 * second);
      expect([queue.size, vi.getTimerCount()]).toEqual([0, 0]);
      for (const [port, count] of sent) {
        const ofPort = table
          .due(Infinity)
          .filter(
            ({ finding: { regarding, details } }) =>
              regarding.name === 'web-0' && details.kind === 'flow' && details.port === port,
          );
        expect(ofPort.reduce((sum, each) => sum + each.count, 0)).toBe(count);
      }
      const all = [...sent.values()].reduce((sum, each) => sum + each, 0);
      expect(statistics).toMatchObject({ verdicts: { dropped: all }, withPods: all, withoutPods: 0, noise: 0 });
    });
  });
});
