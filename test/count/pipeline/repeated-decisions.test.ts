import { expect, test } from 'vitest';
import { objectKey, podRef } from '../../../src/base/model/endpoint.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { createPipeline, type NodeCounts } from '../../../src/count/pipeline/pipeline.ts';
import { createStatistics } from '../../../src/count/pipeline/statistics.ts';
import { createEndpointFinder, type EndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { cluster, line, nine, pod } from '../../builders.ts';
import { nodeIncidents } from '../../explain/incidents/node-incidents.ts';
import { stateOf } from '../series/state-of.ts';

const target = pod();
const [veth = ''] = interfaceNames(target.namespace, target.name);
/** The end of an hour of the Pod's Events. It is some milliseconds into a second. */
const hourEnd = windowOf(nine, objectKey(podRef(target))).end;

function textOf(prefix: string, port: number): string {
  return `${prefix}IN=eth0 OUT=${veth} MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=203.0.113.7 DST=10.65.1.4 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0 `;
}

interface RigOptions {
  quietUntil?: () => number;
  epoch?: EndpointFinder['epoch'];
  hasKernelDrops?: boolean;
}

function rig({ quietUntil, epoch, hasKernelDrops = false }: RigOptions = {}) {
  const endpoints = createEndpointFinder(cluster({ pods: [target] }));
  const table = createSeriesTable();
  const statistics = createStatistics();
  const advanced: number[] = [];
  const drops: [time: number, weight: number][] = [];
  const logged: number[] = [];
  const counts: NodeCounts = {
    table,
    incidents: nodeIncidents(table.count),
    advance: (time) => void advanced.push(time),
    ...(quietUntil && { quietUntil }),
  };
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    endpoints: { ...endpoints, ...(epoch && { epoch }) },
    statistics,
    node: 'node-a',
    counts: () => counts,
    isByLines: quietUntil !== undefined,
    includeNoise: false,
    hasKernelDrops,
    packets: {
      drop: ({ line: { time }, weight }) => void drops.push([time, weight]),
      logged: ({ weight }) => void logged.push(weight),
    },
  });
  const learn = (port: number, time: number, prefix = 'calico-drop: ') => {
    pipeline.take(line({ text: textOf(prefix, port), time }), 'kernel');
    const repeat = pipeline.repeats?.last();
    if (repeat === undefined) throw new Error('is not repeated');
    return (...times: number[]) => times.map((each) => pipeline.repeats?.again(repeat, each));
  };
  const counted = () => {
    const { series, past } = stateOf(table);
    return [...past, ...series]
      .toSorted((a, b) => a.window - b.window || b.count - a.count || a.first - b.first)
      .map(({ window, count, first, last }) => [window, count, first, last]);
  };
  return { pipeline, learn, counted, advanced, drops, logged, statistics, flush: () => pipeline.repeats?.flush() };
}

test('repeated lines are added up, and counted together when they are flushed', () => {
  const { learn, counted, drops, statistics, flush } = rig();
  const again = learn(80, nine);
  expect(again(nine + 1, nine + 1, nine + 2)).toEqual([true, true, true]);
  expect([counted().map(([, count]) => count), statistics.verdicts.dropped]).toEqual([[1], 1]);
  flush();
  flush();
  const { number } = windowOf(nine, objectKey(podRef(target)));
  expect(counted()).toEqual([[number, 4, nine, nine + 2]]);
  expect([statistics.verdicts.dropped, statistics.withPods, statistics.podInterfaces.seen]).toEqual([4, 4, 4]);
  expect(drops).toEqual([
    [nine, 1],
    [nine + 1, 3],
  ]);
});

test('lines from a time whose answers may still change are decided one by one', () => {
  const { learn } = rig({ epoch: (time) => ({ from: time, until: time }) });
  expect(learn(80, nine)(nine, nine + 1)).toEqual([false, false]);
});

test('any other line is counted after the repeated lines before it', () => {
  const { learn, drops } = rig();
  learn(80, nine)(nine + 1, nine + 2);
  learn(81, nine + 3);
  expect(drops).toEqual([
    [nine, 1],
    [nine + 1, 2],
    [nine + 3, 1],
  ]);
});

test('a late line is counted in the hour that is open when it arrives', () => {
  const { learn, counted, flush } = rig();
  const [first, second] = [learn(80, hourEnd - 3), learn(81, hourEnd - 3)];
  first(hourEnd - 2);
  second(hourEnd + 1);
  first(hourEnd - 1);
  flush();
  const { number } = windowOf(hourEnd - 1, objectKey(podRef(target)));
  expect(counted()).toEqual([
    [number, 2, hourEnd - 3, hourEnd - 2],
    [number, 1, hourEnd - 3, hourEnd - 3],
    [number + 1, 1, hourEnd - 1, hourEnd - 1],
    [number + 1, 1, hourEnd + 1, hourEnd + 1],
  ]);
});

test('lines of one second are counted together in any order', () => {
  const { learn, counted, drops, flush } = rig();
  learn(80, nine + 5000)(nine + 5700, nine + 5300, nine + 5900, nine + 5500, nine + 4999);
  flush();
  const { number } = windowOf(nine, objectKey(podRef(target)));
  expect(counted()).toEqual([[number, 6, nine + 4999, nine + 5900]]);
  expect(drops).toEqual([
    [nine + 5000, 1],
    [nine + 5300, 4],
    [nine + 4999, 1],
  ]);
});

test('a line of an earlier second than the first is counted separately', () => {
  const { learn, drops, flush } = rig();
  learn(80, nine + 5000)(nine + 5000, nine + 4999);
  flush();
  expect(drops.slice(1)).toEqual([
    [nine + 5000, 1],
    [nine + 4999, 1],
  ]);
});

test('lines of different seconds are counted separately, because intervals of the audit are whole seconds', () => {
  const { learn, drops, flush } = rig();
  learn(80, nine)(nine + 998, nine + 999, nine + 1000, nine + 1001);
  flush();
  expect(drops).toEqual([
    [nine, 1],
    [nine + 998, 2],
    [nine + 1000, 2],
  ]);
});

test('the clock advances before each line at which something is due', () => {
  const { learn, advanced, flush } = rig({ quietUntil: () => nine + 3 });
  learn(80, nine)(nine + 1, nine + 2, nine + 3, nine + 4);
  flush();
  expect(advanced).toEqual([nine, nine + 1, nine + 3, nine + 4]);
});

const icmpError = `calico-drop: IN=eth0 OUT=${veth} SRC=192.168.7.1 DST=10.65.1.4 LEN=88 TTL=64 ID=5 PROTO=ICMP TYPE=3 CODE=3 [SRC=10.65.1.4 DST=192.168.7.1 LEN=60 TTL=63 ID=9 PROTO=UDP SPT=40000 DPT=53 LEN=40 ] `;

test.each([
  ['an ICMP error', icmpError],
  ['a martian', 'IPv4: martian source 10.65.1.4 from 10.65.2.9, on dev eth0'],
  ['a full table', 'nf_conntrack: table full, dropping packet'],
  [
    'packets that a logger has joined',
    'AntreaPolicyEgressRule AntreaNetworkPolicy:default/p Drop 44900 10.65.1.4 35402 10.65.2.9 80 TCP 60 [5 packets in 1.01s]',
  ],
  ['a line of no known format', 'eth0: link is up'],
])('is decided line by line: %s', (_, text) => {
  const { pipeline, statistics } = rig();
  pipeline.take(line({ text }), 'unknown');
  const { verdicts, conntrackFull } = statistics;
  expect(verdicts.dropped + conntrackFull).toBe(text.startsWith('eth0') ? 0 : text.includes('5 packets') ? 5 : 1);
  expect(pipeline.repeats?.last()).toBeUndefined();
});

test('is decided line by line if the kernel reports the same packets', () => {
  const { pipeline } = rig({ hasKernelDrops: true });
  pipeline.take(line({ text: textOf('calico-drop: ', 80) }), 'kernel');
  expect(pipeline.repeats?.last()).toBeUndefined();
});

test('new settings apply from the next line on, even if it repeats one', () => {
  const { pipeline, learn, drops, statistics } = rig();
  const again = learn(80, nine);
  again(nine + 1, nine + 2);
  pipeline.change({
    prefixes: createPrefixTable([{ prefix: 'calico-drop', verdict: 'accepted' }]),
    includeNoise: false,
  });
  expect(drops.map(([, weight]) => weight)).toEqual([1, 2]);
  expect(again(nine + 3)).toEqual([false]);
  learn(80, nine + 3);
  expect(statistics.verdicts).toMatchObject({ dropped: 3, accepted: 1 });
});

test('equal accepted packets are reported together, with their number', () => {
  const { learn, logged, flush } = rig();
  learn(80, nine, 'ACCEPT ')(nine + 1, nine + 2);
  flush();
  expect(logged).toEqual([1, 2]);
});

test('the first line repeats nothing', () => {
  expect(rig().pipeline.repeats?.last()).toBeUndefined();
});
