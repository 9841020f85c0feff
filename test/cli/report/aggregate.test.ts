import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { type Aggregate, aggregate } from '../../../src/cli/report/aggregate/aggregate.ts';
import { readGapIntervals } from '../../../src/cli/report/aggregate/time-line.ts';
import type { Pair, PolicySum } from '../../../src/cli/report/model.ts';
import { readRows } from '../../../src/cli/report/read/read-rows.ts';
import { rowsIn } from '../../corpus/lines.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { gap, linesOf, now, row, start, verdictOf, withRows, writer } from './scene.ts';
import { runs } from '../../runs.ts';

const path = temporaryFolder();
const write = writer(path);

async function aggregated(
  rows: readonly FlowRecord[],
  before?: readonly FlowRecord[],
  policy: readonly string[] = [],
): Promise<Aggregate> {
  return await withRows(path(), [write('rows.ndjson', linesOf(rows))], async (engine) => {
    if (before !== undefined) {
      const named = [write('before.ndjson', linesOf(before))];
      await readRows(engine, 'baseline', { named, stdin: () => process.stdin, folder: path() });
    }
    return await aggregate(engine, { includeNoise: false, policy, now, hasBaseline: before !== undefined });
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

/**
 * Rows of names.txt: the fields in which a record differs, and those of the pair that it makes. The action, different
 * in each row, identifies the pair.
 */
const rowsOfNames = rowsIn(join(import.meta.dirname, 'names.txt')).map(({ text }, number) => {
  const [changes, pair] = text.split('\n-> ').map((part) => load(`{${part}}`) as FlowRecord);
  const all = Object.entries({ ...changes, 'event.action': `${number}`, 'network.packets': 1000 - number });
  const record = row(number, Object.fromEntries(all.map(([name, value]) => [name, value ?? undefined])));
  return { record, pair: Object.assign({ action: `${number}` }, pair) };
});

test('names: each end, service and rule has its own', async () => {
  const { top } = await aggregated(rowsOfNames.map(({ record }) => record));
  expect(top.top).toMatchObject(rowsOfNames.map(({ pair }) => pair));
});

test("names: workloads of several clusters have their cluster's name", async () => {
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

test('against a baseline: pairs that appeared and vanished are listed, others are not', async () => {
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

const policiesIn = (sums: readonly PolicySum[] = []): string[] =>
  sums.map(({ policy, verdict, packets }) => `${policy} ${verdict} ${packets}`);

const [web, deny] = ['NetworkPolicy shop/web', 'NetworkPolicy shop/default-deny'];

test('a packet denied by several policies counts for each; one that policies admit has another row', async () => {
  const rows = [
    row(1, { ...verdictOf('denied', web, deny), 'network.packets': 7 }),
    row(2, { ...verdictOf('denied', deny), 'network.packets': 2, 'destination.port': 80 }),
    row(3, verdictOf('admitted', web)),
  ];
  const { policies, top } = await aggregated(rows);
  expect(policiesIn(policies.top)).toEqual([`${deny} denied 9`, `${web} denied 7`, `${web} admitted 1`]);
  expect(policies.top[0]).toMatchObject({ records: 2, pairs: 2, namespaces: 2, topNamespaces: ['shop', 'batch'] });
  expect(top.top).toMatchObject([{ verdict: 'denied' }, { verdict: 'denied' }]);
});

test.each<[string, FlowRecord, string]>([
  ['an older schema has what the log names, and no verdict', {}, `${deny} unknown 1`],
  ['no policy is named', { 'security_rule.name': undefined }, '(not named) unknown 1'],
  ['the policies are not enough to say', verdictOf('unknown'), `${deny} unknown 1`],
  ['policies admit what a rule of another one logged', verdictOf('admitted'), '(not named) admitted 1'],
  ['the policies that denied may not be named', verdictOf('denied'), '(not named) denied 1'],
  ['a verdict of a newer schema', { 'policy.verdict': 'deferred' }, `${deny} unknown 1`],
  ['a name with a comma in the log', { 'security_rule.name': 'a,b' }, 'NetworkPolicy shop/a_b unknown 1'],
  ['a policy that is named twice', verdictOf('denied', web, web), `${web} denied 1`],
])('a record is counted by its policy: %s', async (_, changes, found) => {
  expect(policiesIn((await aggregated([row(1, changes)])).policies.top)).toEqual([found]);
});

test("policies of several clusters have their cluster's name", async () => {
  const { policies } = await aggregated([
    row(1, { ...verdictOf('denied', web, deny), 'k8s.cluster.name': 'east' }),
    row(2, { ...verdictOf('denied', web), 'k8s.cluster.name': 'west' }),
  ]);
  expect(policiesIn(policies.top)).toEqual([
    `east: ${deny} denied 1`,
    `east: ${web} denied 1`,
    `west: ${web} denied 1`,
  ]);
});

test('Namespaces past the limit are counted; packets without a Namespace are left out', async () => {
  const rows = ['a', 'b', 'c', 'd'].map((name, number) =>
    row(number, { ...verdictOf('denied', web), ...pod('source', name, 'x'), 'network.packets': 10 - number }),
  );
  const outside = row(9, { ...verdictOf('denied', web), ...external('source', '203.0.113.9') });
  const { policies } = await aggregated([...rows, outside]);
  expect(policies.top).toMatchObject([{ namespaces: 5, topNamespaces: ['shop', 'a', 'b'] }]);
});

test('a baseline shows policies that appeared and vanished, except those with an unknown verdict', async () => {
  const before = [row(1), row(2, verdictOf('denied', 'NetworkPolicy shop/old')), row(3, verdictOf('admitted', web))];
  const after = [row(11, verdictOf('denied', deny)), row(12, verdictOf('denied', web)), row(13, verdictOf('denied'))];
  const { changes } = await aggregated(after, before);
  expect(policiesIn(changes?.policies.appeared.top)).toEqual([`${web} denied 1`]);
  expect(policiesIn(changes?.policies.vanished.top)).toEqual(['NetworkPolicy shop/old denied 1', `${web} admitted 1`]);
});

const rowsOfPolicies = [
  row(1, verdictOf('denied', web, 'GlobalNetworkPolicy lockdown')),
  row(2, verdictOf('denied', deny)),
  row(3, { ...verdictOf('denied', 'NetworkPolicy other/web'), 'k8s.node.name': 'node-b' }),
  row(4, { 'security_rule.name': undefined }),
  gap(5),
];

test.each<[string, string[], number]>([
  ['with kind and Namespace', [web], 1],
  ['without the kind', ['shop/web'], 1],
  ['without the Namespace', ['web'], 2],
  ['of the cluster', ['lockdown'], 1],
  ['by a pattern of its Namespace', ['shop/*'], 2],
  ['by a pattern of its kind', ['Global*'], 1],
  ['by a single character', ['we?'], 2],
  ['in other letters', ['SHOP/Web'], 1],
  ['one of two', ['shop/web', 'shop/default-deny'], 2],
  ['any', ['*'], 4],
  ['that a record names none of', ['(not named)'], 1],
  ['part of a name', ['we'], 0],
  ['with characters of a regular expression', ['shop/w.b', '[', 'a{9999}', String.raw`\Q`, '(', "'"], 0],
])('records are chosen by policy: %s', async (_, policy, records) => {
  expect((await aggregated(rowsOfPolicies, undefined, policy)).extent).toMatchObject({ records, gaps: 1 });
});

test("nodes are those of the policy's records, and the baseline also has only its records", async () => {
  const { nodes, changes } = await aggregated(rowsOfPolicies, rowsOfPolicies, ['other/web']);
  expect({ nodes, baseline: changes?.baseline.records }).toEqual({ nodes: 1, baseline: 1 });
});

test('policies that deny the same packets are not new, because the baseline lacks some of their records', async () => {
  const { changes } = await aggregated(
    [row(1, verdictOf('denied', web, deny))],
    [row(2, verdictOf('denied', deny))],
    [web],
  );
  expect(policiesIn(changes?.policies.appeared.top)).toEqual([`${web} denied 1`]);
});

test('packets are in the interval in which the first packet of their record was logged', async () => {
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

test('times of 1970 or of next year are not in the time line, but their packets count', async () => {
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

test('a record that ends before its beginning, because the clock was corrected, counts once', async () => {
  const { extent, timeLine } = await aggregated([row(5, { 'event.end': new Date(start).toISOString() })]);
  expect(extent).toMatchObject({ records: 1, packets: 1 });
  expect(timeLine?.series).toEqual([{ action: 'dropped', packets: [1] }]);
});

test('ten years have a readable time line', async () => {
  const rows = [row(1), row(2, { 'event.start': '2016-01-01T00:00:00.000Z' })];
  expect((await aggregated(rows)).timeLine?.series[0]?.packets.length).toBeLessThan(241);
});

const [minuteOf, none] = [(number: number) => new Date(start + number * 60_000).toISOString(), undefined];
test.each<[string, begin: string | undefined, end: string | undefined, number[]]>([
  ['within one interval', minuteOf(11.1), minuteOf(11.9), [1]],
  ['over several intervals', minuteOf(11.5), minuteOf(13.5), [1, 2, 3]],
  ['that ends with the first moment of an interval', minuteOf(11.5), minuteOf(12), [1, 2]],
  ['that begins before the first packet', minuteOf(2), minuteOf(11.5), [0, 1]],
  ['that ends after the last packet', minuteOf(13.5), minuteOf(90), [3, 4]],
  ['that is longer than the time line', minuteOf(2), minuteOf(90), [0, 1, 2, 3, 4]],
  ['that ends before the time line', minuteOf(2), minuteOf(9.99), []],
  ['that begins after the time line', minuteOf(15), minuteOf(90), []],
  ['that ends before it begins, because the clock was corrected', minuteOf(12.5), minuteOf(2), [2]],
  ['that begins in 1970, by a wrong clock', '1970-01-01T00:00:10.000Z', minuteOf(12.5), []],
  ['without a beginning and an end is at its own time', none, none, [3]],
])('a gap %s', async (_, begin, end, intervals) => {
  const rows = [row(10), row(14), gap(12, { 'event.start': begin, 'event.end': end })];
  const found = await withRows(path(), [write('gaps.ndjson', linesOf(rows))], async (engine) => {
    const { timeLine } = await aggregate(engine, { includeNoise: false, policy: [], now, hasBaseline: false });
    return timeLine && (await readGapIntervals(engine, timeLine));
  });
  expect(found).toEqual(intervals);
});

test('gaps are listed by node and reason, and do not count as packets', async () => {
  const rows = [row(1), gap(2, { 'log.records_lost': 7 }), gap(3), gap(4, { 'event.reason': 'agent' })];
  const { gaps, extent } = await aggregated(rows);
  expect(extent).toMatchObject({ records: 1, gaps: 3 });
  expect(gaps.top).toMatchObject([
    { node: 'node-a', reason: 'kernel', intervals: 2, lost: 7 },
    { node: 'node-a', reason: 'agent', intervals: 1, lost: 0 },
  ]);
});

/** Flows from an address to `count` others, `apart` minutes apart. */
function attempts(count: number, source: string, apart: number): FlowRecord[] {
  return Array.from({ length: count }, (_, number) => ({
    ...row(number * apart, { ...external('source', source), ...external('destination', `10.9.0.${number}`) }),
    'event.id': `${source} ${number}`,
  }));
}

test('a source denied by nine destinations in an hour scans; by eight, or by nine over two hours, it does not', async () => {
  const { scans } = await aggregated([
    ...attempts(9, '203.0.113.1', 1),
    ...attempts(8, '203.0.113.2', 1),
    ...attempts(9, '203.0.113.3', 10),
  ]);
  expect(scans).toMatchObject({ top: [{ from: '203.0.113.1', destinations: 9, hours: 1, packets: 9 }], more: 0 });
});

/** Flows of a source that is denied at `count` ports of one destination. */
const ports = (count: number, source: string, changes: (port: number) => FlowRecord = () => ({})): FlowRecord[] =>
  Array.from({ length: count }, (_, port) =>
    row(1, {
      'event.id': `${source} ${port}`,
      'source.k8s.owner.name': source,
      'destination.port': 1000 + port,
      ...changes(port),
    }),
  );

test('a source denied at 16 ports of one destination in an hour scans; at 15, over two hours, or by replies, it does not', async () => {
  const later = { 'event.start': '2026-11-20T11:00:05Z', 'event.end': '2026-11-20T11:00:06Z' };
  const { scans } = await aggregated([
    ...ports(16, 'a'),
    ...ports(15, 'b'),
    ...ports(16, 'c', (port) => (port < 8 ? later : {})),
    ...ports(16, 'd', () => ({ 'network.reply': true })),
  ]);
  expect(scans).toMatchObject({
    top: [{ from: 'Deployment batch/a', destinations: 1, ports: 16, packets: 16 }],
    more: 0,
  });
});

/** A row of one packet in that second. */
const rowAt = (second: number): FlowRecord => {
  const time = new Date(start + second * 1000).toISOString();
  return row(1, { 'event.id': `${second}`, 'event.start': time, 'event.end': time });
};

test('a time line of a minute has steps of seconds, with one packet each', async () => {
  const { timeLine } = await aggregated([rowAt(0), rowAt(1), rowAt(40)]);
  expect(timeLine).toMatchObject({ start, step: 1000 });
  expect(timeLine?.series[0]?.packets).toHaveLength(41);
  // A row that counts the packets of 45 seconds says nothing of one second.
  expect((await aggregated([row(1)])).timeLine?.step).toBe(60_000);
});

test('noise of the link is left out and counted', async () => {
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
    verdict: fc.constantFrom<FlowRecord['policy.verdict']>('denied', 'admitted', 'unknown'),
    policies: fc.uniqueArray(fc.constantFrom('NetworkPolicy a/b', 'NetworkPolicy a/c', 'GlobalNetworkPolicy d'), {
      minLength: 1,
    }),
  }),
  { maxLength: 200 },
);

type Flow = typeof flows extends fc.Arbitrary<(infer Each)[]> ? Each : never;

const recordOf = (
  { source, destination, port, action, packets, minute, verdict, policies }: Flow,
  number: number,
): FlowRecord => ({
  ...row(minute, {
    ...verdictOf(verdict, ...policies),
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

test('the sums equal those of a loop over the rows', async () => {
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
      const expected = new Map<string, number>();
      for (const { verdict, policies, packets } of after)
        for (const policy of policies) {
          const key = `${policy} ${verdict}`;
          expected.set(key, (expected.get(key) ?? 0) + packets);
        }
      expect(new Set(policiesIn(found.policies.top))).toEqual(
        new Set([...expected].map(([key, packets]) => `${key} ${packets}`)),
      );
      for (const { top, others } of Object.values(found.rankings))
        expect(sum(top.map(({ packets }) => packets)) + others.packets).toBe(found.extent.packets);
      expect(sum((found.timeLine?.series ?? []).flatMap(({ packets }) => packets))).toBe(found.extent.packets);
      expect(listed(found.changes?.appeared.top)).toEqual(keysOf(after).difference(keysOf(before)));
      expect(listed(found.changes?.vanished.top)).toEqual(keysOf(before).difference(keysOf(after)));
    }),
    // Opening the databases of one program takes longer than `npm run fuzz -- --short` gives a property.
    { numRuns: runs(100), interruptAfterTimeLimit: 60_000 },
  );
});
