import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Endpoint, nodeRefByName } from '../../../src/base/model/endpoint.ts';
import { type Finding, type FlowDetails, isSummary } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowLength, windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, incident, nine, podEnd, podRef } from '../../builders.ts';
import { stateOf } from './state-of.ts';
import { publish } from './writing.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const at = (seconds: number): number => nine + seconds * second;

const stranger = externalEnd({ address: '203.0.113.66' });
const scanner = podEnd({ address: '10.65.9.9', object: podRef('scan', 'lab'), identity: 'Pod/lab/scan' });

/** Names of Pods whose hour lasts for ten more minutes. */
const pods = Array.from({ length: 200 }, (_, number) => `web-${number}`).filter(
  (name) => windowOf(nine, podRef(name).uid).end > at(600),
);

/** A packet of `peer` that a Pod refuses, from the Pod's side. */
function refused(pod: string, peer: Endpoint, port: number, given: Partial<FlowDetails> = {}): Finding {
  return finding({
    identity: `${pod} refuses ${peer.identity} ${port}`,
    regarding: podRef(pod),
    related: peer.object,
    details: flow({ peer, port, ...given }),
  });
}

/** The same packet from the side of the scanner, which is a Pod. */
function sent(pod: string, port: number): Finding {
  return finding({
    identity: `scan to ${pod} ${port}`,
    regarding: podRef('scan', 'lab'),
    related: podRef(pod),
    details: flow({
      direction: 'sending',
      peer: podEnd({ object: podRef(pod), identity: `Pod/shop/${pod}`, address: pod }),
      port,
    }),
  });
}

/** A peer tries Pods, one port after the other, one packet each tenth of a second. */
function scanBy(peer: Endpoint, table: SeriesTable, { count = 110, ports = [22, 80], from = 0 } = {}): void {
  let sentPackets = 0;
  for (const port of ports)
    for (const pod of pods.slice(0, count)) {
      const time = at(from + sentPackets++ / 10);
      table.count(refused(pod, peer, port), time);
      if (peer === scanner) table.count(sent(pod, port), time);
    }
}

const all = (table: SeriesTable): Series[] => table.due(Infinity);
const kindOf = ({ finding: { details } }: Series): string =>
  details.kind === 'scan' ? `scan of ${details.of}` : details.kind;

function kinds(table: SeriesTable): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const series of all(table)) counts[kindOf(series)] = (counts[kindOf(series)] ?? 0) + 1;
  return counts;
}

const packets = (table: SeriesTable, kind?: string): number =>
  all(table)
    .filter((series) => kind === undefined || kindOf(series) === kind)
    .reduce((sum, { count }) => sum + count, 0);

test("peers refused by more than eight Pods of a node take no room in a Pod's state beside their Events, however many they are", () => {
  const table = createSeriesTable();
  for (let peer = 0; peer < 40; peer++)
    scanBy(externalEnd({ address: `203.0.113.${peer}` }), table, { count: 12, from: peer });
  const peersOf = stateOf(table).objects.map(([, { peers }]) => Object.keys(peers).length);
  expect(Math.max(...peersOf)).toBeLessThanOrEqual(8);
});

test('a peer refused by more than eight Pods of a node has one Event on the Node if it is an address, and one on each Pod for its packets', () => {
  const table = createSeriesTable();
  scanBy(stranger, table);
  expect(kinds(table)).toEqual({ 'scan of target': 110, 'scan of stranger': 1 });
  expect(packets(table, 'scan of target')).toBe(220);
  const one = all(table).find((series) => kindOf(series) === 'scan of stranger');
  expect(one).toMatchObject({
    count: 220,
    finding: { reason: 'NetworkScan', regarding: { kind: 'Node', name: 'node-a', namespace: undefined } },
  });
  expect(one?.peers.seen).toHaveLength(110);
  expect(one?.ports.seen).toEqual(['22/TCP', '80/TCP']);
});

test('a peer refused by more than eight Pods of a node has one Event on itself if it is a Pod', () => {
  const table = createSeriesTable();
  scanBy(scanner, table);
  expect(kinds(table)).toEqual({ 'scan of target': 110, 'scan of scanner': 1 });
  const one = all(table).find((series) => kindOf(series) === 'scan of scanner');
  expect(one).toMatchObject({ count: 220, finding: { reason: 'NetworkScan', regarding: podRef('scan', 'lab') } });
  expect(one?.peers.seen).toHaveLength(110);
  expect(packets(table)).toBe(440);
});

test('replies from and to a peer refused by more than eight Pods of a node are separate from the scan; packets that it sends out of the cluster belong to it', () => {
  const table = createSeriesTable();
  scanBy(scanner, table, { ports: [22] });
  const before = kinds(table);
  const details = [
    flow({ direction: 'sending', peer: podEnd({ identity: 'Pod/shop/a' }), reply: true }),
    flow({ direction: 'receiving', peer: podEnd({ identity: 'Pod/shop/b' }), reply: true }),
  ];
  for (const [index, each] of details.entries())
    table.count(finding({ identity: `${index}`, regarding: podRef('scan', 'lab'), details: each }), at(20));
  expect(kinds(table)).toEqual({ ...before, flow: 2 });
  const outside = flow({ direction: 'sending', peer: stranger });
  table.count(finding({ identity: 'out', regarding: podRef('scan', 'lab'), details: outside }), at(20));
  expect(kinds(table)).toEqual({ ...before, flow: 2 });
});

test('a peer refused by more than eight Pods of a node keeps its present Events and their counts', () => {
  const table = createSeriesTable();
  for (const pod of pods.slice(0, 5)) table.count(refused(pod, stranger, 22), at(0));
  for (const series of all(table)) publish(table, series, at(2));
  scanBy(stranger, table, { from: 3, ports: [22] });
  expect(kinds(table)).toEqual({ flow: 5, 'scan of target': 105, 'scan of stranger': 1 });
  expect(packets(table) - packets(table, 'scan of stranger')).toBe(115);
});

test('if a peer tries many ports of each Pod at once, packets without an Event are counted with its scan, and every port is named', () => {
  const table = createSeriesTable();
  for (const pod of pods.slice(0, 20))
    for (let port = 1; port <= 10; port++) table.count(refused(pod, stranger, port), at(0));
  expect(kinds(table)).toEqual({ 'scan of target': 20, 'scan of stranger': 1 });
  expect(packets(table)).toBe(400);
  expect(all(table).map(({ ports, suppressed }) => [ports.seen.length, suppressed])).toEqual(
    Array.from({ length: 21 }, () => [10, false]),
  );
});

test('a peer refused by more than eight Pods of a node frees its places on the objects', () => {
  const table = createSeriesTable();
  scanBy(stranger, table, { ports: [1, 2, 3] });
  for (let port = 1; port <= 8; port++)
    table.count(refused(pods[0] ?? '', externalEnd({ address: `192.0.2.${port}` }), port), at(40));
  expect(kinds(table)).toEqual({ flow: 8, 'scan of target': 110, 'scan of stranger': 1 });
});

test("if more than eight Pods of a node refuse a peer, further ports of a Pod's other peers are still counted with their own Event", () => {
  const table = createSeriesTable();
  const [pod = ''] = pods;
  const other = externalEnd({ address: '192.0.2.1' });
  table.count(refused(pod, other, 1), at(0));
  for (let port = 1; port <= 4; port++) table.count(refused(pod, stranger, port), at(0));
  scanBy(stranger, table, { ports: [5], count: 9 });
  for (let port = 2; port <= 4; port++) table.count(refused(pod, other, port), at(2));
  expect(packets(table, 'ports')).toBe(4);
  for (let each = 2; each <= 8; each++)
    table.count(refused(pod, externalEnd({ address: `192.0.2.${each}` }), 1), at(3));
  expect(kinds(table)).toEqual({ flow: 7, ports: 1, 'scan of target': 9, 'scan of stranger': 1 });
});

test('a peer refused by more than eight Pods of a node is still known after a restart and in the next hour', () => {
  const before = createSeriesTable();
  scanBy(stranger, before, { ports: [22] });
  for (const series of all(before)) publish(before, series, at(20));
  const table = createSeriesTable({ restored: stateOf(before) });
  table.count(refused('db-0', stranger, 22), at(30));
  expect(kinds(table)).toEqual({ 'scan of target': 1, 'scan of stranger': 1 });
  for (let minutes = 10; minutes < 180; minutes += 10) scanBy(stranger, table, { ports: [22], from: minutes * 60 });
  expect(Object.keys(kinds(table)).toSorted()).toEqual(['scan of stranger', 'scan of target']);
});

test('after a restart, a peer refused by more than eight Pods of a node is known by its own Pod before it tries again', () => {
  const before = createSeriesTable();
  scanBy(scanner, before, { ports: [22] });
  for (const series of all(before)) publish(before, series, at(20));
  const table = createSeriesTable({ restored: stateOf(before) });
  table.count(sent('db-0', 22), at(30));
  expect(kinds(table)).not.toHaveProperty('flow');
});

test('a peer refused by more than eight Pods of a node is known until both of its Events on each Pod are written', () => {
  const table = createSeriesTable();
  for (const pod of pods.slice(0, 8)) for (const port of [22, 80]) table.count(refused(pod, stranger, port), at(0));
  for (const series of all(table)) if (series.finding.identity.endsWith(' 80')) publish(table, series, at(2));
  table.count(refused(pods[8] ?? '', stranger, 22), at(0) + 2 * windowLength);
  expect(kinds(table)).toEqual({ 'scan of target': 9, 'scan of stranger': 1 });
});

test('a peer refused by more than eight Pods of a node is forgotten after two quiet hours', () => {
  const table = createSeriesTable();
  scanBy(stranger, table, { ports: [22] });
  for (const series of all(table)) publish(table, series, at(20));
  table.count(refused('db-0', stranger, 22), at(20) + 2 * windowLength);
  expect(kinds(table)).toEqual({ flow: 1 });
});

test('of many peers refused by more than eight Pods of a node, each Pod still has one Event for all, and the Node nine', () => {
  const table = createSeriesTable();
  for (let each = 1; each <= 30; each++)
    scanBy(externalEnd({ address: `192.0.2.${each}` }), table, { count: 20, ports: [22] });
  expect(kinds(table)).toEqual({ 'scan of target': 20, 'scan of stranger': 8, overflow: 1 });
  const target = all(table).find((series) => kindOf(series) === 'scan of target');
  expect(target?.peers.seen).toHaveLength(30);
  expect(target?.count).toBe(30);
  expect(table.counts).toEqual({ uncounted: 0, overflowed: 0 });
  // An incident on the Node is not part of the Node's overflow.
  table.count(incident({ regarding: nodeRefByName('node-a') }), at(3));
  expect(kinds(table)).toMatchObject({ incident: 1, overflow: 1 });
});

test('a peer refused by more than eight Pods of a node loses no packet if there is only room for the series of its Pods', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 9 } });
  scanBy(stranger, table, { count: 9, ports: [22] });
  expect(kinds(table)).toEqual({ 'scan of target': 9 });
  expect(packets(table)).toBe(9);
  expect(table.counts).toEqual({ uncounted: 0, overflowed: 0 });
});

test('lines lost before a peer counted as scanning make its counts lower bounds', () => {
  const table = createSeriesTable();
  for (const pod of pods.slice(0, 8)) table.count(refused(pod, stranger, 22), at(0));
  table.suppress({ kind: 'suppressed', by: 'x', count: 5, affects: 'everything' }, 'node-a', at(0.5));
  table.count(refused(pods[8] ?? '', stranger, 22), at(20));
  const marked = all(table).filter(({ suppressed }) => suppressed);
  expect(marked.map(({ finding: { regarding } }) => regarding.name).toSorted()).toEqual(pods.slice(0, 8).toSorted());
});

const unreachable = { reporter: stranger, protocol: 'ICMP', type: 3, code: 1, mtu: undefined };
const many = Array.from({ length: 40 }, (_, pod) => `web-${pod}`);

test.each<[string, (pod: string) => Finding]>([
  [
    'a Service that all Pods may not reach',
    (pod) => refused(pod, podEnd({ object: podRef('dns'), identity: 'Pod/dns' }), 53, { direction: 'sending' }),
  ],
  ['answers of one server', (pod) => refused(pod, stranger, 443, { reply: true })],
  ['the node, which probes its Pods', (pod) => refused(pod, { ...stranger, kind: 'node' }, 8080)],
  ['a source address that cannot be', (pod) => refused(pod, stranger, 0, { martian: true })],
  ['ICMP errors of one router', (pod) => refused(pod, stranger, 0, { error: unreachable })],
  ['a peer of each its own', (pod) => refused(pod, externalEnd({ address: pod }), 22)],
])('does not count as a scan: %s', (_, findingOf) => {
  const table = createSeriesTable();
  for (const pod of many) table.count(findingOf(pod), at(0));
  expect(kinds(table)).toEqual({ flow: 40 });
});

test('a peer refused by eight Pods does not scan', () => {
  const table = createSeriesTable();
  scanBy(stranger, table, { count: 8 });
  expect(kinds(table)).toEqual({ flow: 16 });
});

test('a peer that Pods count only in their overflow does not scan', () => {
  const table = createSeriesTable();
  for (const pod of many.slice(0, 12)) {
    for (let each = 1; each <= 8; each++)
      table.count(refused(pod, externalEnd({ address: `${pod} ${each}` }), 22), at(0));
    table.count(refused(pod, stranger, 22), at(0));
  }
  expect(kinds(table)).toEqual({ flow: 96, overflow: 12 });
});

test('a scan does not hide another problem of a Pod, which comes first', () => {
  const table = createSeriesTable();
  scanBy(stranger, table, { ports: [1, 2, 3, 4, 5] });
  table.count(refused(pods[7] ?? '', externalEnd({ address: '192.0.2.1' }), 5432), at(60));
  const ofPod = all(table).filter(({ finding: { regarding } }) => regarding.name === pods[7]);
  expect(ofPod.map(kindOf).toSorted()).toEqual(['flow', 'scan of target']);
  const named: string[] = [];
  for (let turn = table.next(at(62)); turn !== undefined; turn = table.next(at(62))) {
    table.begin(turn.series);
    if (turn.series.finding.regarding.name === pods[7]) named.push(kindOf(turn.series));
  }
  expect(named).toEqual(['flow', 'scan of target']);
});

test('each packet is counted in one Event of each Pod at its ends and at most once in a summary on the Node, for any senders and orders, over restarts', () => {
  const steps = fc.array(
    fc.record({
      pod: fc.integer({ min: 0, max: 20 }),
      peer: fc.constantFrom(externalEnd({ address: '192.0.2.1' }), externalEnd({ address: '192.0.2.2' }), scanner),
      port: fc.integer({ min: 1, max: 3 }),
      weight: fc.integer({ min: 1, max: 3 }),
      next: fc.constantFrom('nothing', 'publish', 'restart'),
    }),
    { minLength: 20, maxLength: 120 },
  );
  forAll([steps], {}, (list) => {
    let table = createSeriesTable();
    const counted = new Map<string, number>();
    const count = (each: Finding, time: number, weight: number, peer = ''): void => {
      table.count(each, time, weight);
      for (const key of [each.regarding.name, peer]) counted.set(key, (counted.get(key) ?? 0) + weight);
    };
    for (const [index, { pod, peer, port, weight, next }] of list.entries()) {
      count(refused(`web-${pod}`, peer, port), at(index), weight, peer.address);
      if (peer === scanner) count(sent(`web-${pod}`, port), at(index), weight);
      if (next === 'restart') table = createSeriesTable({ restored: stateOf(table) });
      const turn = next === 'publish' ? table.next(at(index)) : undefined;
      if (turn !== undefined) publish(table, turn.series, at(index));
    }
    const [sums, summaries] = [new Map<string, number>(), new Map<string, number>()];
    for (const { finding: of, count: some } of [...stateOf(table).series, ...stateOf(table).past]) {
      const peer = of.details.kind === 'scan' ? of.details.example.peer.address : '';
      const [into, key] = isSummary(of) ? [summaries, peer] : [sums, of.regarding.name];
      into.set(key, (into.get(key) ?? 0) + some);
    }
    const addresses = new Set(['', scanner.address, '192.0.2.1', '192.0.2.2']);
    expect(sums).toEqual(new Map([...counted].filter(([key]) => !addresses.has(key))));
    expect(summaries.has(scanner.address)).toBe(false);
    for (const [address, some] of summaries) expect(some).toBeLessThanOrEqual(counted.get(address) ?? 0);
  });
});
