import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createLookupQueue, createPipeline, type PipelineOptions } from '../../../src/count/pipeline/pipeline.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import type { LineOrigin } from '../../../src/read/sources/source.ts';
import { createStatistics, type Statistics } from '../../../src/count/pipeline/statistics.ts';
import type { NodeIncidents } from '../../../src/explain/incidents/incidents.ts';
import { cluster, line, nine, node, pod } from '../../builders.ts';
import { heapInUse } from '../../heap.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';

const [veth = ''] = interfaceNames('shop', 'web-0');
const endpoints = createEndpointFinder(
  cluster({
    pods: [pod(), pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9'] })],
    nodes: [node(), node({ name: 'node-b', addresses: ['192.168.7.12'] })],
  }),
);

interface Run {
  statistics: Statistics;
  /** `node-a PacketDrop shop/web-0 x3`. */
  series: string[];
  all: Series[];
  drops: string[];
  advanced: string[];
}

type Text = string | ({ text: string; origin?: LineOrigin } & Partial<LogLine>);

/** Runs these lines and returns the results. */
function run(lines: Text[], given: Partial<PipelineOptions> = {}): Run {
  const tables = new Map<string, SeriesTable>();
  const incidents = new Map<string, NodeIncidents>();
  const statistics = createStatistics();
  const [drops, advanced]: [string[], string[]] = [[], []];
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics,
    node: undefined,
    includeNoise: false,
    counts(name) {
      const table = tables.get(name) ?? createSeriesTable();
      tables.set(name, table);
      const known = incidents.get(name) ?? nodeIncidents(table.count, { node: name });
      incidents.set(name, known);
      return { table, incidents: known, advance: () => void advanced.push(name) };
    },
    packets: {
      drop: ({ observation: { kind }, meaning: { ends, node: name, noise } }) =>
        void drops.push([name, kind, ends.source.identity, noise].filter(Boolean).join(' ')),
    },
    ...given,
  });
  for (const one of lines) {
    const { text, origin = 'kernel', time = nine, ...rest } = typeof one === 'string' ? { text: one } : one;
    pipeline.take(line({ text, time, host: 'node-a', ...rest }), origin);
  }
  const all = [...tables.values()].flatMap((table) => table.due(Infinity));
  const counted = all.map(({ finding: { node: name, reason, regarding }, count }) =>
    [
      name,
      reason,
      `${regarding.namespace === undefined ? '' : `${regarding.namespace}/`}${regarding.name}`,
      `x${count}`,
    ].join(' '),
  );
  return { statistics, series: counted.toSorted(), all, drops, advanced };
}

/** Makes a SYN as the kernel prints it. */
function syn({
  prefix = 'calico-drop: ',
  from = '10.65.1.4',
  to = '203.0.113.9',
  inDevice = veth,
  port = 443,
} = {}): string {
  return `${prefix}IN=${inDevice} OUT=eth0 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=${from} DST=${to} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0 `;
}

const multicast = `calico-drop: IN=${veth} OUT= MAC= SRC=10.65.1.4 DST=224.0.0.251 LEN=60 TOS=0x00 PREC=0x00 TTL=1 ID=1 PROTO=UDP SPT=5353 DPT=5353 LEN=40 `;
const antrea =
  'AntreaPolicyEgressRule AntreaNetworkPolicy:default/p Drop 44900 10.65.1.4 35402 10.65.2.9 80 TCP 60 [5 packets in 1.01s]';

test('a packet is counted for each end that is a Pod', () => {
  const { series, drops, statistics } = run([syn(), syn(), syn({ to: '10.65.2.9' })]);
  expect(series).toEqual([
    'node-a PacketDrop shop/db-0 x1',
    'node-a PacketDrop shop/web-0 x1',
    'node-a PacketDrop shop/web-0 x2',
  ]);
  expect(drops).toHaveLength(3);
  expect(statistics).toMatchObject({
    verdicts: { dropped: 3 },
    withPods: 3,
    withoutPods: 0,
    podInterfaces: { seen: 3, known: 3 },
  });
});

test('a packet is counted as often as its logger reports', () => {
  const { series } = run([{ text: antrea, origin: 'userspace', program: 'antrea-agent' }]);
  expect(series).toEqual(['node-a PacketDrop shop/db-0 x5', 'node-a PacketDrop shop/web-0 x5']);
});

test.each([
  ['only logged', 'calico-packet: ', { logged: 1, dropped: 0 }],
  ['accepted', 'ACCEPT ', { accepted: 1, dropped: 0 }],
])('a packet that is %s is not a drop', (_, prefix, verdicts) => {
  const { series, drops, statistics, advanced } = run([syn({ prefix })]);
  expect([series, drops, advanced]).toEqual([[], [], []]);
  expect(statistics.verdicts).toMatchObject(verdicts);
});

test('a packet between addresses without an owner is a drop without a series', () => {
  const { series, drops, statistics } = run([syn({ from: '8.8.8.8', inDevice: 'eth0' })]);
  expect(series).toEqual([]);
  expect(drops).toEqual(['node-a packet 8.8.8.8']);
  expect(statistics).toMatchObject({ withPods: 0, withoutPods: 1, podInterfaces: { seen: 0, known: 0 } });
});

test('the second line of a packet of Cilium is not counted', () => {
  const [verdict = '', drop = ''] = readFileSync('samples/hubble-flows.log', 'utf8').split('\n');
  const lines = [verdict, drop].map((text): Text => ({ text, origin: 'userspace', program: 'cilium-agent' }));
  const { statistics, drops } = run(lines);
  expect(statistics.verdicts.dropped).toBe(1);
  expect(drops).toHaveLength(1);
});

test('a packet to the interface of a known Pod counts as a sign of this cluster', () => {
  const text = syn({ from: '8.8.8.8', inDevice: 'eth0' });
  const { podInterfaces } = run([text.replace(/OUT=\S*/, `OUT=${veth}`)]).statistics;
  expect(podInterfaces).toEqual({ seen: 1, known: 1 });
});

test('a packet from an interface that no known Pod has counts as a sign of another cluster', () => {
  expect(run([syn({ inDevice: 'cali0123456789a' })]).statistics.podInterfaces).toEqual({ seen: 1, known: 0 });
});

test('a packet of an address in a Pod range without a Pod is unresolved', () => {
  const ranged = createEndpointFinder(cluster({ nodes: [node({ podRanges: ['10.65.0.0/16'] })] }));
  const { statistics } = run(
    [syn({ inDevice: 'eth0', from: '10.65.9.9' }), syn({ inDevice: 'eth0', from: '10.65.9.9' })],
    { endpoints: ranged },
  );
  expect([...statistics.unresolved]).toEqual([['10.65.9.9', 2]]);
});

test('noise is counted separately, and makes no series', () => {
  const { series, statistics, drops } = run([multicast]);
  expect(series).toEqual([]);
  expect(statistics).toMatchObject({ verdicts: { dropped: 1 }, noise: 1, withPods: 0 });
  expect(drops).toEqual(['node-a packet Pod/shop/web-0 multicast']);
});

test('noise makes series if it is requested', () => {
  expect(run([multicast], { includeNoise: true }).series).toEqual(['node-a PacketDrop shop/web-0 x1']);
});

test.each([
  ['a drop', [syn()]],
  ['a martian', ['IPv4: martian source 10.65.1.4 from 10.65.2.9, on dev eth0']],
  ['what a logger joins', [{ text: antrea, origin: 'unknown' as const }]],
  [
    'all together',
    [syn(), multicast, syn({ from: '8.8.8.8', inDevice: 'eth0' }), { text: antrea, origin: 'unknown' as const }],
  ],
])('every dropped packet counts for a Pod, as without a Pod, or as noise: %s', (_, lines) => {
  const { verdicts, withPods, withoutPods, noise } = run(lines).statistics;
  expect(withPods + withoutPods + noise).toBe(verdicts.dropped + verdicts.rejected);
});

test.each([
  ['a drop', syn()],
  ['a full table', 'nf_conntrack: nf_conntrack: table full, dropping packet'],
  ['a martian', 'IPv4: martian source 10.65.1.4 from 10.65.2.9, on dev eth0'],
  ['an overflow', 'neighbour: arp_cache: neighbor table overflow!'],
])('a line that only the kernel can write is refused from another program: %s', (_, text) => {
  const refused = run([{ text, origin: 'userspace' }]);
  expect(refused.series).toEqual([]);
  expect(refused.statistics).toMatchObject({
    notKernel: 1,
    verdicts: { dropped: 0 },
    conntrackFull: 0,
    martian: 0,
    neighbourOverflow: 0,
    ipvsNoDestination: 0,
  });
  for (const origin of ['kernel', 'unknown'] as const) {
    // A full table is published when it is seen for the second time.
    const taken = run([0, 10_000].map((later) => ({ text, origin, time: nine + later })));
    expect(taken.series).not.toEqual([]);
    expect(taken.statistics.notKernel).toBe(0);
  }
});

test("a container's log is believed according to the container's name", () => {
  for (const [container, notKernel, dropped] of [
    ['antrea-agent', 0, 5],
    ['kube-proxy', 1, 0],
  ] as const) {
    const source = `/var/log/pods/kube-system_x_uid/${container}/0.log`;
    const { statistics } = run([{ text: antrea, origin: 'container', source }]);
    expect(statistics).toMatchObject({ notKernel, verdicts: { dropped } });
  }
});

test('a packet and its verdict, in two records of one container, are one drop', () => {
  const head = 'I1121 09:00:00.526613       1';
  const evaluated = `${head} logging.go:67] "Evaluating packet" id=9 direction="Ingress" packet=<\n\t[9] 10.65.1.4:40243 10.65.2.9:8080 TCP\n >`;
  const judged = `${head} controller.go:277] "Finished syncing packet" id=9 duration="171.516µs" verdict="drop"`;
  const { statistics, drops } = run(inLog('kindnet-cni', [evaluated, judged]));
  expect(drops).toHaveLength(1);
  expect(statistics).toMatchObject({ verdicts: { dropped: 1 }, unparsable: 0, notKernel: 0, programRecords: 0 });
  expect(run(inLog('kindnet-cni', [judged])).statistics).toMatchObject({ verdicts: { dropped: 0 }, unparsable: 1 });
  expect(run(inLog('shell', [evaluated, judged])).drops).toEqual([]);
});

test('lines of other programs that no kernel would write do not count as forged', () => {
  expect(run([{ text: 'connection refused', origin: 'userspace' }]).statistics.notKernel).toBe(0);
});

/** The same lines, in the log of a container of that name. */
function inLog(container: string, lines: Text[]): Text[] {
  const source = `/var/log/pods/kube-system_x_uid/${container}/0.log`;
  return lines.map((each) =>
    Object.assign(typeof each === 'string' ? { text: each } : each, { origin: 'container', source }),
  );
}

/** The same line twice, ten seconds apart. */
const twice = (text: string, host?: string): Text[] => [0, 10_000].map((later) => ({ text, time: nine + later, host }));

const full = 'nf_conntrack: nf_conntrack: table full, dropping packet';

test.each([
  [full, 'node-a ConntrackTableFull node-a x2'],
  ['neighbour: arp_cache: neighbor table overflow!', 'node-a NeighbourTableFull node-a x2'],
])('a full table of the kernel is an incident of the Node when it is seen again: %s', (text, expected) => {
  const { series, all } = run(twice(text, 'node-a'));
  expect(series).toEqual([expected]);
  expect(all[0]?.finding.regarding.uid).toBe('uid-of-node-a');
});

test('a full table seen once is only counted', () => {
  const { series, statistics } = run([full]);
  expect(series).toEqual([]);
  expect(statistics.conntrackFull).toBe(1);
});

test('a full table of an unknown node is counted', () => {
  const { series, statistics } = run(twice(full));
  expect(series).toEqual([]);
  expect(statistics).toMatchObject({ nodeUnknown: 2, conntrackFull: 2 });
});

const failure = (minute: number, origin: LineOrigin = 'container'): Text => ({
  text: `E1121 09:0${minute}:00.836390       1 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 4: Another app is currently holding the xtables lock" ipFamily="IPv4"`,
  origin,
  time: nine + minute * 60_000,
  host: undefined,
});

const ofNodeB = (): string => 'node-b';

test('a record of a program belongs to the configured node', () => {
  expect(run([failure(0), failure(1)], { node: 'node-b' }).series).toEqual(['node-b XtablesLockHeld node-b x2']);
});

test('without a configured node, a record of a program belongs to the node of its log', () => {
  expect(run([failure(0), failure(1)], { nodeOfLog: ofNodeB }).series).toEqual(['node-b XtablesLockHeld node-b x2']);
});

test("a record in the log of a program that judges packets is not kube-proxy's", () => {
  const { series, statistics } = run(inLog('kube-network-policies', [failure(0), failure(1)]), { node: 'node-b' });
  expect(series).toEqual([]);
  expect(statistics.programRecords).toBe(0);
});

test('a record of a program is not a drop, whatever its text', () => {
  const text = `I1121 09:00:00.836390       1 proxier.go:15] "${syn()}"`;
  for (const origin of ['container', 'program'] as const)
    expect(run([{ text, origin }]).statistics).toMatchObject({ programRecords: 1, verdicts: { dropped: 0 } });
});

test('a record of a program is refused if any program may have written it, unless that is allowed', () => {
  for (const origin of ['userspace', 'unknown'] as const) {
    const both = [failure(0, origin), failure(1, origin)];
    expect(run(both, { node: 'node-b' }).series).toEqual([]);
    expect(run(both, { node: 'node-b', programsAnywhere: true }).series).toHaveLength(1);
  }
});

test('only records count in the log of a program that writes rules: a packet in it is ignored', () => {
  for (const text of [syn(), antrea, 'nf_conntrack: table full, dropping packet', 'Missed 17 kernel messages']) {
    const { series, statistics } = run([{ text, origin: 'program' }]);
    expect(series).toEqual([]);
    expect(statistics).toMatchObject({ suppressed: 0, conntrackFull: 0, verdicts: { dropped: 0 } });
  }
});

test('a record of a program is refused if the envelope names the kernel', () => {
  expect(run([failure(0, 'kernel'), failure(1, 'kernel')], { node: 'node-b' }).series).toEqual([]);
});

const martian = (device: string): Run => run([`IPv4: martian source 10.65.2.9 from 10.65.1.4, on dev ${device}`]);

test('a martian is a drop, and only the interface tells its sender', () => {
  expect(martian('eth0').series).toEqual(['node-a PacketDrop shop/db-0 x1']);
  expect(martian(veth).series).toEqual(['node-a PacketDrop shop/db-0 x1', 'node-a PacketDrop shop/web-0 x1']);
  expect(martian('eth0').statistics).toMatchObject({ martian: 1, verdicts: { dropped: 1 }, withPods: 1 });
  // The address belongs to a Pod, but not the one that sent the packet.
  expect([...martian('eth0').statistics.unresolved]).toEqual([]);
});

const noted: [time: number, drops: number][] = [];
const notingIncidents = { firewallDropped: (time: number, drops = 1) => void noted.push([time, drops]) };

function pipelineNoting() {
  noted.length = 0;
  const table = createSeriesTable();
  return createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics: createStatistics(),
    node: 'node-a',
    includeNoise: false,
    counts: () => ({ table, incidents: notingIncidents as unknown as NodeIncidents }),
  });
}

test('drops of a host firewall are recorded for the incidents of their node, with all lines that repeat them', () => {
  const pipeline = pipelineNoting();
  const text = syn({ prefix: 'filter_FWD_public_REJECT: ' });
  pipeline.take(line({ text, time: nine, host: 'node-a' }), 'kernel');
  expect(noted).toEqual([[nine, 1]]);
  const repeat = pipeline.repeats?.last();
  if (repeat === undefined) throw new Error('is not repeated');
  for (const later of [1, 2, 3]) pipeline.repeats?.again(repeat, nine + later);
  pipeline.repeats?.flush();
  expect(noted.slice(1).reduce((sum, [, drops]) => sum + drops, 0)).toBe(3);
  expect(noted.at(-1)?.[0]).toBe(nine + 3);
});

test('drops of a network policy are not recorded for incidents', () => {
  const pipeline = pipelineNoting();
  pipeline.take(line({ text: syn(), time: nine, host: 'node-a' }), 'kernel');
  expect(noted).toEqual([]);
});

test('due Events are written before a record of a program is taken', () => {
  expect(run([failure(0), failure(1)], { node: 'node-b' }).advanced).toEqual(['node-b', 'node-b']);
});

test('a source that lost an unknown number of records counts as having lost one', () => {
  const [statistics, table] = [createStatistics(), createSeriesTable()];
  const gaps: unknown[] = [];
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints,
    statistics,
    node: 'node-a',
    includeNoise: false,
    counts: () => ({ table, incidents: nodeIncidents(() => {}, { node: 'node-a' }) }),
    packets: { drop: () => {}, gap: ({ by, count, affects }) => void gaps.push([by, count, affects]) },
  });
  pipeline.take(line({ text: syn(), time: nine }), 'kernel');
  pipeline.lost('kernel-drops', 5, nine, nine, 'connections');
  expect(table.due(Infinity)).toMatchObject([{ count: 1, suppressed: false }]);
  pipeline.lost('journal', undefined, nine);
  pipeline.lost('/dev/kmsg', 7, nine);
  expect(statistics.suppressed).toBe(13);
  expect(gaps).toEqual([
    ['kernel-drops', 5, 'connections'],
    ['journal', undefined, 'everything'],
    ['/dev/kmsg', 7, 'everything'],
  ]);
  expect(table.due(Infinity)).toMatchObject([{ count: 1, suppressed: true }]);
});

test('lost lines mark the series of their node', () => {
  const { all, statistics } = run([
    syn(),
    { text: syn(), host: 'node-b' },
    { text: 'Missed 17 kernel messages', origin: 'userspace', program: 'systemd-journald' },
  ]);
  expect(all.map(({ finding: { node: name }, suppressed }) => [name, suppressed])).toEqual([
    ['node-a', true],
    ['node-b', false],
  ]);
  expect(statistics.suppressed).toBe(17);
});

const refused = (at: number) => ({
  text: '2026-11-21 09:00:00.101 [WARNING][61] felix/table.go 1165: Failed to program iptables, will retry error=exit status 1 ipVersion=0x4 table="filter"',
  origin: 'container' as const,
  time: nine + at * 1000,
  host: undefined,
});

const droppedLogs = { ...refused(20), text: '... dropped 104 logs ...' };

test.each([
  ['before it is an incident', [refused(0), droppedLogs, refused(60)]],
  ['while it lasts', [refused(0), refused(15), droppedLogs]],
])('the incident of felix has a lower bound if felix reports that it left out log lines: %s', (_, lines) => {
  const { all, statistics } = run([...lines, failure(0), failure(1)], { nodeOfLog: ofNodeB });
  const marks = all.map(({ finding: { reason }, suppressed }) => `${reason} ${suppressed}`);
  expect(marks.toSorted()).toEqual(['FelixRestoreFailed true', 'XtablesLockHeld false']);
  expect(statistics).toMatchObject({ suppressed: 104, programRecords: 4 });
});

test('such a report of another program has no effect', () => {
  for (const origin of ['userspace', 'kernel', 'unknown'] as const)
    expect(run([{ ...droppedLogs, origin }], { node: 'node-b' }).statistics.suppressed).toBe(0);
});

test('a line that cannot be read is counted', () => {
  const { statistics, series } = run([syn({ to: '203.0.113.999' })]);
  expect(series).toEqual([]);
  expect(statistics).toMatchObject({ unparsable: 1, verdicts: { dropped: 0 } });
});

test('a configured node overrides the nodes of the lines', () => {
  expect(run([syn(), { text: syn(), host: undefined }], { node: 'node-b' }).series).toEqual([
    'node-b PacketDrop shop/web-0 x2',
  ]);
});

test('due Events are written before a line is counted', () => {
  const order: string[] = [];
  const table = createSeriesTable();
  run([syn()], {
    counts: () => ({
      table: { ...table, count: (...counted) => (order.push('count'), table.count(...counted)) },
      incidents: nodeIncidents(table.count),
      advance: () => void order.push('advance'),
    }),
  });
  expect(order).toEqual(['advance', 'count']);
});

test('a remembered packet does not keep its line in memory, which may have 64 KiB', async () => {
  const kept: unknown[] = [];
  const take = (count: number): void => {
    const texts = Array.from({ length: count }, (_, port) => `${syn({ port })}${'x'.repeat(64_000)}`);
    const queue = createLookupQueue(1000);
    run(texts, {
      lookups: {
        queue,
        remote: { startLookups: () => true, isUnsure: () => false },
        isSynced: () => false,
        now: () => nine,
      },
    });
    kept.push(...queue.flows);
  };
  take(1);
  const before = await heapInUse();
  take(500);
  expect((await heapInUse()) - before).toBeLessThan(8_000_000);
  expect(kept).toHaveLength(501);
});
