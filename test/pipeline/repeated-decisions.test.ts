import { expect, test } from 'vitest';
import { objectKey, podRef } from '../../src/model/endpoint.ts';
import { createPrefixTable } from '../../src/parsing/netfilter/prefixes.ts';
import { createPipeline, type NodeCounts } from '../../src/pipeline/pipeline.ts';
import { createStatistics } from '../../src/pipeline/statistics.ts';
import { createDirectory, type Directory } from '../../src/resolving/directory.ts';
import { interfaceNames } from '../../src/resolving/pod-index.ts';
import { createSeriesTable } from '../../src/series/series.ts';
import { windowOf } from '../../src/series/times.ts';
import { cluster, line, nine, pod } from '../builders.ts';
import { nodeIncidents } from '../incidents/node-incidents.ts';
import { stateOf } from '../series/state-of.ts';

const target = pod();
const [veth = ''] = interfaceNames(target.namespace, target.name);
/** When an hour of the Pod's Events ends; some milliseconds into a second. */
const hourEnd = windowOf(nine, objectKey(podRef(target))).end;

function textOf(prefix: string, port: number): string {
  return `${prefix}IN=eth0 OUT=${veth} MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=203.0.113.7 DST=10.65.1.4 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=${port} WINDOW=64240 RES=0x00 SYN URGP=0 `;
}

function rig({ quietUntil, epoch }: { quietUntil?: () => number; epoch?: Directory['epoch'] } = {}) {
  const directory = createDirectory(cluster({ pods: [target] }));
  const table = createSeriesTable();
  const statistics = createStatistics();
  const advanced: number[] = [];
  const drops: [time: number, weight: number][] = [];
  const counts: NodeCounts = {
    table,
    incidents: nodeIncidents(table.count),
    advance: (time) => void advanced.push(time),
    ...(quietUntil && { quietUntil }),
  };
  const pipeline = createPipeline({
    prefixes: createPrefixTable(),
    directory: { ...directory, ...(epoch && { epoch }) },
    statistics,
    node: 'node-a',
    counts: () => counts,
    isByLines: quietUntil !== undefined,
    includeNoise: false,
    packets: { drop: ({ line: { time }, weight }) => void drops.push([time, weight]) },
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
  return { pipeline, learn, counted, advanced, drops, statistics, flush: () => pipeline.repeats?.flush() };
}

test('lines that repeat one are added up, and counted together when they are flushed', () => {
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

test('lines of a time of which answers may change at any moment are decided on one by one', () => {
  const { learn } = rig({ epoch: (time) => ({ from: time, until: time }) });
  expect(learn(80, nine)(nine, nine + 1)).toEqual([false, false]);
});

test('any other line is counted after those that were added up before it', () => {
  const { learn, drops } = rig();
  learn(80, nine)(nine + 1, nine + 2);
  learn(81, nine + 3);
  expect(drops).toEqual([
    [nine, 1],
    [nine + 1, 2],
    [nine + 3, 1],
  ]);
});

test('a line that is late is counted in the hour that is open when it comes', () => {
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

test('lines of one second are counted together in whatever order they come', () => {
  const { learn, counted, drops, flush } = rig();
  learn(80, nine + 5000)(nine + 5700, nine + 5300, nine + 5900, nine + 4999);
  flush();
  const { number } = windowOf(nine, objectKey(podRef(target)));
  expect(counted()).toEqual([[number, 5, nine + 4999, nine + 5900]]);
  expect(drops).toEqual([
    [nine + 5000, 1],
    [nine + 5300, 3],
    [nine + 4999, 1],
  ]);
});

test('a line of the second before the first is counted apart', () => {
  const { learn, drops, flush } = rig();
  learn(80, nine + 5000)(nine + 5000, nine + 4999);
  flush();
  expect(drops.slice(1)).toEqual([
    [nine + 5000, 1],
    [nine + 4999, 1],
  ]);
});

test('lines of two seconds are counted one after the other, as intervals of the audit are whole seconds', () => {
  const { learn, drops, flush } = rig();
  learn(80, nine)(nine + 998, nine + 999, nine + 1000, nine + 1001);
  flush();
  expect(drops).toEqual([
    [nine, 1],
    [nine + 998, 2],
    [nine + 1000, 2],
  ]);
});

test('time goes by before each line at which something is due', () => {
  const { learn, advanced, flush } = rig({ quietUntil: () => nine + 3 });
  learn(80, nine)(nine + 1, nine + 2, nine + 3, nine + 4);
  flush();
  expect(advanced).toEqual([nine, nine + 1, nine + 3, nine + 4]);
});

test('before the first line there is nothing to repeat', () => {
  expect(rig().pipeline.repeats?.last()).toBeUndefined();
});
