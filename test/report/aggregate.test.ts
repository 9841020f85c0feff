import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FlowRecord } from '../../src/audit/fields.ts';
import { type Aggregate, aggregate } from '../../src/report/aggregate/aggregate.ts';
import type { Pair } from '../../src/report/model.ts';
import { readRows } from '../../src/report/read/read-rows.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { gap, linesOf, now, row, start, withRows, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

async function aggregated(rows: readonly FlowRecord[], before?: readonly FlowRecord[]): Promise<Aggregate> {
  return await withRows(path(), [write('rows.ndjson', linesOf(rows))], async (engine) => {
    if (before !== undefined) {
      const named = [write('before.ndjson', linesOf(before))];
      await readRows({ engine, table: 'baseline', named, stdin: () => process.stdin, folder: path() });
    }
    return await aggregate(engine, { includeNoise: false, now, hasBaseline: before !== undefined });
  });
}

const pod = (end: 'source' | 'destination', namespace: string, name: string): FlowRecord => ({
  [`${end}.kind`]: 'Pod',
  [`${end}.k8s.namespace.name`]: namespace,
  [`${end}.k8s.owner.kind`]: 'Deployment',
  [`${end}.k8s.owner.name`]: name,
});

const external = (end: 'source' | 'destination', address: string): FlowRecord => ({
  [`${end}.kind`]: 'external',
  [`${end}.k8s.namespace.name`]: undefined,
  [`${end}.k8s.owner.kind`]: undefined,
  [`${end}.k8s.owner.name`]: undefined,
  [`${end}.address`]: address,
});

const namesIn = (pairs: readonly Pair[]): string[] =>
  pairs.map(({ from, to, service }) => `${from} > ${to} ${service}`);

describe('names', () => {
  test.each<[string, FlowRecord, string, string]>([
    ['a workload', pod('source', 'shop', 'web'), 'Deployment shop/web', 'shop'],
    [
      'a Pod without a workload',
      {
        ...external('source', '10.0.0.1'),
        'source.kind': 'Pod',
        'source.k8s.namespace.name': 'a',
        'source.k8s.pod.name': 'b',
      },
      'Pod a/b',
      'a',
    ],
    [
      'a Node',
      {
        ...external('source', '10.0.0.1'),
        'source.kind': 'Node',
        'source.k8s.owner.kind': 'Node',
        'source.k8s.owner.name': 'node-a',
      },
      'Node node-a',
      '(nodes)',
    ],
    ['an address outside', external('source', '203.0.113.9'), '203.0.113.9', '(external)'],
    [
      'an address of something unknown',
      { ...external('source', '10.0.0.1'), 'source.kind': undefined },
      '10.0.0.1',
      '(unknown)',
    ],
    [
      'nothing at all',
      { ...external('source', ''), 'source.address': undefined, 'source.kind': undefined },
      '(unknown)',
      '(unknown)',
    ],
    ['a redacted end', { ...external('source', '10.0.0.0/24'), 'source.kind': 'redacted' }, '(redacted)', '(redacted)'],
    ['flows past a limit', { ...external('source', '10.0.0.1'), 'source.kind': 'other' }, '(other)', '(other)'],
  ])('%s', async (_, changes, from, fromGroup) => {
    const { top } = await aggregated([row(1, changes)]);
    expect(top.top).toMatchObject([{ from, fromGroup }]);
  });

  test.each<[string, FlowRecord, string]>([
    ['a port', {}, 'tcp/5432'],
    [
      'answers from a port',
      { 'network.reply': true, 'source.port': 53, 'destination.port': undefined, 'network.transport': 'udp' },
      'udp/53 (answers)',
    ],
    ['ICMP', { 'network.transport': 'icmp', 'icmp.type': 8, 'destination.port': undefined }, 'icmp 8/0'],
    ['a protocol without ports', { 'network.transport': 'gre', 'destination.port': undefined }, 'gre'],
    ['no protocol', { 'network.transport': undefined }, '(unknown)'],
  ])('of a service: %s', async (_, changes, service) => {
    expect((await aggregated([row(1, changes)])).top.top).toMatchObject([{ service }]);
  });

  test.each<[string, FlowRecord, string]>([
    ['a policy', {}, 'NetworkPolicy shop/default-deny'],
    [
      'a policy of the cluster',
      { 'policy.kind': 'GlobalNetworkPolicy', 'policy.namespace': undefined },
      'GlobalNetworkPolicy default-deny',
    ],
    [
      'the policies that denied it',
      { 'policy.verdict': 'denied', 'policy.decided_by': 'NetworkPolicy shop/a,NetworkPolicy shop/b' },
      'NetworkPolicy shop/a, NetworkPolicy shop/b',
    ],
    [
      'the policy that the log names, where the policies admit it',
      { 'policy.verdict': 'admitted', 'policy.decided_by': 'NetworkPolicy shop/allow' },
      'NetworkPolicy shop/default-deny',
    ],
    ['a prefix', { 'security_rule.name': undefined, 'log.prefix': 'calico-drop' }, 'prefix calico-drop'],
    ['nothing but the logger', { 'security_rule.name': undefined, 'log.logger': 'kernel' }, 'kernel'],
  ])('of a rule: %s', async (_, changes, rule) => {
    expect((await aggregated([row(1, changes)])).top.top).toMatchObject([{ rule, rules: 1 }]);
  });

  test('workloads of several clusters carry the name of theirs', async () => {
    const rows = [
      row(1, { 'k8s.cluster.name': 'east' }),
      row(2, { 'k8s.cluster.name': 'west' }),
      row(3, external('source', '203.0.113.9')),
    ];
    const { top, clusters } = await aggregated(rows);
    expect(clusters).toEqual(['east', 'west']);
    expect(namesIn(top.top)).toEqual([
      '203.0.113.9 > StatefulSet shop/postgres tcp/5432',
      'east: Deployment batch/worker > east: StatefulSet shop/postgres tcp/5432',
      'west: Deployment batch/worker > west: StatefulSet shop/postgres tcp/5432',
    ]);
  });
});

describe('against a baseline', () => {
  test('pairs that appeared and vanished are listed, others are not', async () => {
    const before = [row(1), row(2, { 'destination.port': 80 }), row(3, pod('source', 'old', 'gone'))];
    const after = [row(10), row(11, { 'destination.port': 443 }), row(12, pod('destination', 'new', 'there'))];
    const { changes } = await aggregated(after, before);
    expect(namesIn(changes?.appeared.top ?? [])).toEqual([
      'Deployment batch/worker > Deployment new/there tcp/5432',
      'Deployment batch/worker > StatefulSet shop/postgres tcp/443',
    ]);
    expect(namesIn(changes?.vanished.top ?? [])).toEqual([
      'Deployment batch/worker > StatefulSet shop/postgres tcp/80',
      'Deployment old/gone > StatefulSet shop/postgres tcp/5432',
    ]);
    expect(changes?.baseline).toMatchObject({ records: 3, packets: 3 });
  });

  test('a pair that is rejected instead of dropped is the same; one that is dropped instead of accepted is new', async () => {
    const rejected = await aggregated([row(1, { 'event.action': 'rejected' })], [row(2)]);
    expect([rejected.changes?.appeared.top, rejected.changes?.vanished.top]).toEqual([[], []]);
    const accepted = row(2, { 'event.name': 'network.flow.log', 'event.action': 'accepted' });
    const dropped = await aggregated([row(1)], [accepted]);
    expect(dropped.changes?.appeared.top).toMatchObject([{ action: 'dropped' }]);
    expect(dropped.changes?.vanished.top).toMatchObject([{ action: 'accepted' }]);
  });
});

describe('time', () => {
  test('packets stand in the interval in which the first of a record was logged', async () => {
    const { timeLine } = await aggregated([row(0, { 'network.packets': 3 }), row(2, { 'event.action': 'rejected' })]);
    expect(timeLine).toEqual({
      start,
      step: 60_000,
      series: [
        { action: 'dropped', packets: [3, 0, 0] },
        { action: 'rejected', packets: [0, 0, 1] },
      ],
      outside: 0,
    });
  });

  test('a clock of 1970 or of next year is no part of the time line; its packets count', async () => {
    const rows = [
      row(1),
      ...['1970-01-01T00:00:10.000Z', '2027-11-20T09:00:00.000Z'].map((time, number) =>
        row(5 + number, { '@timestamp': time, 'event.start': time, 'event.end': time }),
      ),
    ];
    const { timeLine, extent } = await aggregated(rows);
    expect(timeLine).toMatchObject({ outside: 2, series: [{ action: 'dropped', packets: [1] }] });
    expect(extent).toMatchObject({ packets: 3, first: start + 65_000, last: start + 110_000 });
  });

  test('a record that ends before it begins, because the clock was corrected, counts once', async () => {
    const { extent, timeLine } = await aggregated([row(5, { 'event.end': new Date(start).toISOString() })]);
    expect(extent).toMatchObject({ records: 1, packets: 1 });
    expect(timeLine?.series).toEqual([{ action: 'dropped', packets: [1] }]);
  });

  test('ten years have a time line that can be read', async () => {
    const rows = [row(1), row(2, { 'event.start': '2016-01-01T00:00:00.000Z' })];
    expect((await aggregated(rows)).timeLine?.series[0]?.packets.length).toBeLessThan(241);
  });

  test('gaps are listed by node and reason, and are no packets', async () => {
    const rows = [row(1), gap(2, { 'log.records_lost': 7 }), gap(3), gap(4, { 'event.reason': 'agent' })];
    const { gaps, extent } = await aggregated(rows);
    expect(extent).toMatchObject({ records: 1, gaps: 3 });
    expect(gaps.top).toMatchObject([
      { node: 'node-a', reason: 'kernel', intervals: 2, lost: 7 },
      { node: 'node-a', reason: 'agent', intervals: 1, lost: 0 },
    ]);
  });
});

/** Flows from an address to as many others, so many minutes apart. */
function attempts(count: number, source: string, apart: number): FlowRecord[] {
  return Array.from({ length: count }, (_, number) => ({
    ...row(number * apart, { ...external('source', source), ...external('destination', `10.9.0.${number}`) }),
    'event.id': `${source} ${number}`,
  }));
}

test('a source that is denied by nine destinations in an hour scans; by eight, or by nine over two hours, it does not', async () => {
  const { scans } = await aggregated([
    ...attempts(9, '203.0.113.1', 1),
    ...attempts(8, '203.0.113.2', 1),
    ...attempts(9, '203.0.113.3', 10),
  ]);
  expect(scans).toMatchObject({ top: [{ from: '203.0.113.1', destinations: 9, hours: 1, packets: 9 }], more: 0 });
});

test('chatter of the link is left out and counted', async () => {
  const { extent, noise } = await aggregated([row(1), row(2, { 'event.noise': 'multicast', 'network.packets': 5 })]);
  expect({ packets: extent.packets, noise }).toEqual({ packets: 1, noise: 5 });
});

const flows = fc.array(
  fc.record({
    source: fc.integer({ min: 0, max: 30 }),
    destination: fc.integer({ min: 0, max: 40 }),
    port: fc.constantFrom(53, 80, 443),
    action: fc.constantFrom('dropped', 'rejected', 'accepted'),
    packets: fc.integer({ min: 0, max: 1000 }),
    minute: fc.integer({ min: 0, max: 600 }),
  }),
  { maxLength: 200 },
);

type Flow = typeof flows extends fc.Arbitrary<(infer Each)[]> ? Each : never;

const recordOf = ({ source, destination, port, action, packets, minute }: Flow, number: number): FlowRecord => ({
  ...row(minute, {
    ...pod('source', `from-${source % 7}`, `w${source}`),
    ...pod('destination', `to-${destination % 9}`, `w${destination}`),
    'destination.port': port,
    'event.action': action,
    'event.name': action === 'accepted' ? 'network.flow.log' : 'network.flow.drop',
    'network.packets': packets,
  }),
  'event.id': `id-${number}`,
});

const keyOf = ({ source, destination, port }: Flow): string =>
  `Deployment from-${source % 7}/w${source} > Deployment to-${destination % 9}/w${destination} tcp/${port}`;

const isDenied = ({ action }: { action: string }): boolean => action !== 'accepted';

const keysOf = (of: readonly Flow[]): Set<string> => new Set(of.map((flow) => `${keyOf(flow)} ${isDenied(flow)}`));

const listed = (of: readonly Pair[] = []): Set<string> =>
  new Set(of.map((pair) => `${pair.from} > ${pair.to} ${pair.service} ${isDenied(pair)}`));

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

test('what is summed up is what a loop over the rows sums up', async () => {
  await fc.assert(
    fc.asyncProperty(flows, flows, async (after, before) => {
      const found = await aggregated(after.map(recordOf), before.map(recordOf));
      expect(found.extent).toMatchObject({ records: after.length, packets: sum(after.map(({ packets }) => packets)) });
      const pairs = Map.groupBy(after, (flow) => `${keyOf(flow)} ${flow.action}`);
      expect(found.pairs).toBe(pairs.size);
      for (const pair of found.top.top)
        expect(pair.packets).toBe(
          sum(
            (pairs.get(`${pair.from} > ${pair.to} ${pair.service} ${pair.action}`) ?? []).map(({ packets }) => packets),
          ),
        );
      for (const { cells } of [found.namespaces, found.workloads]) expect(sum(cells.flat())).toBe(found.extent.packets);
      for (const { top, others } of Object.values(found.rankings))
        expect(sum(top.map(({ packets }) => packets)) + others.packets).toBe(found.extent.packets);
      expect(sum((found.timeLine?.series ?? []).flatMap(({ packets }) => packets))).toBe(found.extent.packets);
      expect(listed(found.changes?.appeared.top)).toEqual(keysOf(after).difference(keysOf(before)));
      expect(listed(found.changes?.vanished.top)).toEqual(keysOf(before).difference(keysOf(after)));
    }),
    { numRuns: 30 },
  );
});
