import { expect, test } from 'vitest';
import { type Endpoint, nodeRefByName, objectKey } from '../../../src/base/model/endpoint.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../../builders.ts';
import { stateOf } from './state-of.ts';

const minute = 60;
const addresses = (count: number): Endpoint[] =>
  Array.from({ length: count }, (_, number) => externalEnd({ address: `203.0.113.${number}` }));
const [one] = addresses(1) as [Endpoint];
const scanner = podEnd({ address: '10.65.9.9', object: podRef('scan', 'lab'), identity: 'Pod/lab/scan' });

/** The beginning of an hour of the Node's Events. */
const start = windowOf(nine, objectKey(nodeRefByName('node-a'))).end;

/** Names of Pods whose hour lasts for 40 more minutes. */
const pods = Array.from({ length: 400 }, (_, number) => `web-${number}`)
  .filter((name) => windowOf(start, podRef(name).uid).end > start + 40 * minute * 1000)
  .slice(0, 30);

interface Try {
  /** Seconds. */
  at: number;
  pod: string;
  peer?: Endpoint;
  port?: number;
}

function counted(tries: readonly Try[], table = createSeriesTable()): SeriesTable {
  for (const { at, pod, peer = one, port = 8080 } of tries.toSorted((a, b) => a.at - b.at)) {
    const time = start + at * 1000;
    const details = flow({ peer, port });
    const identity = `${pod} ${peer.identity} ${port}`;
    table.count(finding({ identity, regarding: podRef(pod), related: peer.object, details }), time);
    if (peer !== scanner) continue;
    const tried = podEnd({ object: podRef(pod), identity: `Pod/shop/${pod}`, address: pod });
    const sent = flow({ direction: 'sending', peer: tried, port });
    const regarding = podRef('scan', 'lab');
    table.count(finding({ identity: `to ${pod} ${port}`, regarding, related: tried.object, details: sent }), time);
  }
  return table;
}

/** Each peer checks each Pod every `every` seconds; the Pods are spread over this time. */
function checks(peers: readonly Endpoint[], every: number, until: number, from = 0): Try[] {
  const tries: Try[] = [];
  for (let at = from; at < until; at += every)
    for (const [index, pod] of pods.entries())
      for (const peer of peers) tries.push({ at: at + (index * every) / pods.length, pod, peer });
  return tries;
}

const lookOf = ({ scan: signs }: Series): string => signs?.look ?? 'either';

/** Returns how the Pods' series are judged, and how the sources are that try them. */
function looks(table: SeriesTable): { targets: string[]; scanners: string[] } {
  const targets = new Set<string>();
  const scanners = new Set<string>();
  for (const series of table.due(Infinity)) {
    const { details } = series.finding;
    if (details.kind === 'scan') (details.of === 'target' ? targets : scanners).add(lookOf(series));
  }
  return { targets: [...targets], scanners: [...scanners] };
}

test.each<[string, readonly Try[]]>([
  ['three addresses of a load balancer, every ten seconds', checks(addresses(3), 10, 8 * minute)],
  ['eight addresses', checks(addresses(8), 20, 8 * minute)],
  ['one, once a minute', checks([one], minute, 9 * minute)],
  ['one that was quiet for a while, since then', [...checks([one], 10, 60), ...checks([one], 10, 1080, 600)]],
  ['a Pod', checks([scanner], 15, 8 * minute)],
])('few sources that come back to one port at a steady pace are monitoring: %s', (_, tries) => {
  expect(looks(counted(tries))).toEqual({ targets: ['monitoring'], scanners: ['monitoring'] });
});

test('few sources at a steady pace are monitoring after seven minutes, not before', () => {
  expect(looks(counted(checks([one], 10, 7 * minute)))).toEqual({ targets: ['either'], scanners: ['either'] });
});

test('few sources at a steady pace are monitoring over a restart, and from the first packet of the next hour', () => {
  const first = counted(checks([one], 10, 5 * minute));
  const second = counted(checks([one], 10, 8 * minute, 5 * minute), createSeriesTable({ restored: stateOf(first) }));
  expect(looks(second).targets).toEqual(['monitoring']);
  const [pod = ''] = pods;
  const end = (windowOf(start, podRef(pod).uid).end - start) / 1000;
  const third = counted(checks([one], 10, end + 20, 8 * minute), second);
  const begun = third.due(Infinity).filter(({ first: at }) => at > start + end * 1000);
  expect(new Set(begun.map(lookOf))).toEqual(new Set(['monitoring']));
});

test('a Pod that more sources try may see a scan or monitoring', () => {
  expect(looks(counted(checks(addresses(9), 20, 8 * minute)))).toEqual({
    targets: ['either'],
    scanners: ['monitoring'],
  });
});

const syn = [0, 1, 3, 7, 15, 31, 63];

test.each<[string, readonly Try[]]>([
  [
    'one Pod after the other is tried on one port, slowly, and each attempt is repeated as TCP does',
    pods.flatMap((pod, index) => syn.map((after) => ({ at: index * 20 + after, pod }))),
  ],
  ['much at once, and a little from then on', [...checks([one], 0.01, 1), ...checks([one], 30, 20 * minute, minute)]],
  ['with pauses', [0, 5, 10, 15, 20].flatMap((from) => checks([one], 5, (from + 2) * minute, from * minute))],
  ['on two ports', checks([one], 10, 8 * minute).flatMap((each) => [each, { ...each, port: 9090 }])],
])('may be a scan or monitoring: %s', (_, tries) => {
  expect(looks(counted(tries))).toEqual({ targets: ['either'], scanners: ['either'] });
});

test('a source that asks each Pod on a port of its own may scan or monitor', () => {
  const tries = checks([one], 10, 8 * minute).map(({ at, pod }) => ({ at, pod, port: 9000 + pods.indexOf(pod) }));
  expect(looks(counted(tries))).toEqual({ targets: ['monitoring'], scanners: ['either'] });
});

test('many addresses that come one after another may scan or monitor', () => {
  const tries = addresses(64).flatMap((peer, index) => pods.map((pod) => ({ at: index, pod, peer })));
  expect(looks(counted(tries)).targets).toEqual(['either']);
});

/** The addresses try this many ports of each Pod, one address after the other, within a second. */
function scan(peers: readonly Endpoint[], ports: number): Try[] {
  const tries: Try[] = [];
  for (const [index, peer] of peers.entries())
    for (let port = 1; port <= ports; port++)
      for (const pod of pods) tries.push({ at: index / peers.length, pod, peer, port });
  return tries;
}

const eightEach = addresses(2).flatMap((peer, index) =>
  scan([peer], 8).map(({ at, pod, port = 0 }) => ({ at, pod, peer, port: port + 8 * index })),
);

test.each<[string, readonly Try[], string, string]>([
  ['16 ports of each Pod', scan([one], 16), 'scan', 'scan'],
  ['15 ports of each Pod are too few', scan([one], 15), 'either', 'either'],
  ['a Pod that tries 16 ports of each', scan([scanner], 16), 'scan', 'scan'],
  ['two addresses that try eight ports each', eightEach, 'either', 'either'],
  ['two addresses that try 32 ports of each Pod', scan(addresses(2), 32), 'scan', 'scan'],
  ['16 ports, and then a steady pace', [...scan([one], 16), ...checks([one], 10, 8 * minute)], 'scan', 'scan'],
  ['64 addresses within a minute, of each Pod', scan(addresses(64), 1), 'scan', 'either'],
  ['63 addresses are too few', scan(addresses(63), 1), 'either', 'either'],
])('counts as a scan: %s', (_, tries, ofPods, ofScanner) => {
  expect(looks(counted(tries))).toEqual({ targets: [ofPods], scanners: [ofScanner] });
});

test('counts as a scan even if another address joins', () => {
  const tries = [...scan([one], 16), ...checks(addresses(2), 10, 20, 5)];
  expect(looks(counted(tries)).targets).toEqual(['scan']);
});
