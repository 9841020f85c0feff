import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowLength, windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, nine, podEnd, podRef } from '../../builders.ts';
import { beginAll, publish } from './writing.ts';
import { stateOf } from './state-of.ts';
import { runs } from '../../runs.ts';
import { forAll } from '../../for-all.ts';

const start = windowOf(nine, podRef().uid).end;
const at = (seconds: number): number => start + seconds * 1000;

const scanner = externalEnd({ address: '203.0.113.66', identity: '203.0.113.66' });
const other = externalEnd({ address: '203.0.113.7', identity: '203.0.113.7' });

/** A Pod of one Deployment. */
const worker = (name: string): Endpoint =>
  podEnd({
    object: podRef(name, 'batch'),
    workload: { kind: 'Deployment', namespace: 'batch', name: 'worker' },
    identity: 'Deployment/batch/worker',
  });

/** A packet that the Pod of the tests refuses on a port. */
function refused(port: number, peer: Endpoint = scanner, given: Partial<FlowDetails> = {}): Finding {
  const details = flow({ port, peer, ...given });
  const { direction, reply, verdict, enforcer } = details;
  const identity = JSON.stringify([peer.identity, port, direction, reply, verdict, enforcer, given.policy?.name]);
  return finding({ identity, related: peer.object, details });
}

function scan(table: SeriesTable, { peer = scanner, from = 1, count = 300, time = at(0) } = {}): void {
  for (let port = from; port < from + count; port++) table.count(refused(port, peer), time);
}

const all = (table: SeriesTable): Series[] => [...stateOf(table).series, ...stateOf(table).past];
const ofKind = (table: SeriesTable, kind: string): Series[] =>
  all(table).filter(({ finding: { details } }) => details.kind === kind);
const packets = (table: SeriesTable): number => all(table).reduce((sum, { count }) => sum + count, 0);

function kinds(table: SeriesTable): Record<string, number> {
  return Object.fromEntries(
    ['flow', 'ports', 'overflow'].map((kind) => [kind, ofKind(table, kind).length] as const).filter(([, n]) => n > 0),
  );
}

function publishAll(table: SeriesTable, now: number): void {
  for (const series of beginAll(table, now)) publish(table, series, now);
}

test("after a peer's fourth port on one Pod, the Pod's other peers keep their own Events", () => {
  const table = createSeriesTable();
  table.count(refused(1, other), at(0));
  scan(table, { count: 4 });
  expect(kinds(table)).toEqual({ flow: 1, ports: 1 });
  expect(ofKind(table, 'flow')).toMatchObject([
    { count: 1, finding: { details: { peer: { identity: other.identity } } } },
  ]);
});

test("a peer's fourth port on one Pod makes one Event of all ports without an Event", () => {
  const table = createSeriesTable();
  scan(table, { count: 3 });
  expect(kinds(table)).toEqual({ flow: 3 });
  table.count(refused(4), at(0.5), 5);
  expect(kinds(table)).toEqual({ ports: 1 });
  const [one] = all(table);
  expect(one).toMatchObject({ count: 8, first: at(0), last: at(0.5), finding: { reason: 'PacketDrop' } });
  expect(one?.ports.seen).toEqual(['1/TCP', '2/TCP', '3/TCP', '4/TCP']);
});

test("after a peer's fourth port on one Pod, the next hour starts again", () => {
  const table = createSeriesTable();
  scan(table);
  publishAll(table, at(2));
  table.count(refused(1), start + windowLength);
  expect(kinds(table)).toEqual({ flow: 1 });
  scan(table, { time: start + windowLength });
  expect(kinds(table)).toEqual({ ports: 1 });
  expect(packets(table)).toBe(301);
});

test.each([0.5, 25])('lines that were lost %i s after the first make the count a lower bound', (lost) => {
  const table = createSeriesTable();
  scan(table, { count: 3 });
  table.suppress({ kind: 'suppressed', by: 'x', count: 5, affects: 'everything' }, 'node-a', at(lost));
  table.count(refused(4), at(30));
  expect(all(table)).toMatchObject([{ suppressed: true, count: 4 }]);
});

test("a peer's fourth port on another Pod of a workload counts with the first: all Pods are named", () => {
  const table = createSeriesTable();
  for (let port = 1; port <= 5; port++) table.count(refused(port, worker(`worker-${port % 2}`)), at(0));
  expect(all(table)).toMatchObject([
    { count: 5, peers: { seen: expect.toSatisfy((seen: string[]) => seen.length === 2) } },
  ]);
});

test('another peer has its own Event, which is written first', () => {
  const table = createSeriesTable();
  scan(table);
  table.count(refused(5432, other), at(0));
  expect(kinds(table)).toEqual({ flow: 1, ports: 1 });
  expect(table.next(at(5))?.series.finding.details.kind).toBe('flow');
});

test("many scanning peers take the object's places, and further ones are counted with the others", () => {
  const table = createSeriesTable();
  for (let peer = 1; peer <= 20; peer++) {
    const address = `192.0.2.${peer}`;
    scan(table, { peer: externalEnd({ address, identity: address }), count: 10 });
  }
  expect(kinds(table)).toEqual({ ports: 8, overflow: 1 });
  expect(packets(table)).toBe(200);
});

test.each([
  ['none of which has an Event yet: each has one for its ports, and four others have theirs', false, 4],
  ['each of which has its Event at once: the last place is for another', true, 1],
])('four peers that scan in turns, %s', (_, isWritten, others) => {
  const table = createSeriesTable();
  const peers = [1, 2, 3, 4].map((last) => externalEnd({ address: `192.0.2.${last}`, identity: `192.0.2.${last}` }));
  for (let port = 1; port <= 30; port++)
    for (const peer of peers) {
      table.count(refused(port, peer), at(10 * port));
      if (isWritten) publishAll(table, at(10 * port + 5));
    }
  for (let peer = 1; peer <= others; peer++)
    table.count(refused(80, externalEnd({ address: `198.51.100.${peer}`, identity: `198.51.100.${peer}` })), at(400));
  expect(kinds(table)).toEqual(isWritten ? { flow: 8, overflow: 1 } : { flow: 4, ports: 4 });
  expect(packets(table)).toBe(120 + others);
});

test('memory is limited: past the total, packets without an Event are only counted', () => {
  const table = createSeriesTable({ limits: { perObject: 8, total: 3 } });
  scan(table);
  expect(kinds(table)).toEqual({ ports: 1 });
  for (let peer = 1; peer <= 20; peer++)
    table.count(refused(80, externalEnd({ address: `${peer}`, identity: `${peer}` })), at(1));
  expect(packets(table) + table.counts.uncounted).toBe(320);
});

test.each<[string, Partial<FlowDetails>]>([
  ['a packet the other way', { direction: 'sending' }],
  ['a reply', { reply: true }],
  ['a rejected packet', { verdict: 'rejected' }],
  ['a packet that a firewall of the node dropped', { enforcer: 'host-firewall' }],
  ['a packet without a port', { port: undefined, protocol: 'ICMP', icmpType: 8 }],
  ['a packet from an impossible address', { martian: true }],
  ['an ICMP error', { error: { reporter: other, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 } }],
])('%s is not part of it', (_, given) => {
  const table = createSeriesTable();
  scan(table, { count: 10 });
  table.count(refused(99, scanner, { enforcer: 'network-policy', ...given }), at(0));
  expect(kinds(table)).toEqual({ ports: 1, overflow: 1 });
});

test('the same port in another policy of the same peer is part of it', () => {
  const table = createSeriesTable();
  for (const name of ['a', 'b', 'c', 'd'])
    table.count(
      refused(80, scanner, { policy: { kind: 'NetworkPolicy', namespace: 'shop', name, tier: undefined } }),
      at(0),
    );
  expect(all(table)).toMatchObject([{ count: 4, ports: { seen: ['80/TCP'] } }]);
});

test('each packet is in one Event, and a peer has at most four Events of a Pod in an hour, over restarts and in any order of writes', () => {
  const steps = fc.array(
    fc.record({
      peer: fc.integer({ min: 1, max: 6 }),
      port: fc.integer({ min: 1, max: 12 }),
      reply: fc.boolean(),
      weight: fc.integer({ min: 1, max: 3 }),
      next: fc.constantFrom('nothing', 'nothing', 'write', 'fail', 'restart', 'an hour'),
    }),
    { minLength: 20, maxLength: 120 },
  );
  forAll([steps], { numRuns: runs(1000) }, (list) => {
    let table = createSeriesTable({ limits: { perObject: 8, total: 1000 } });
    let time = at(0);
    let counted = 0;
    /** The Events of the API server, by name. */
    const events = new Map<string, { peer: string; hour: number; count: number }>();
    for (const { peer, port, reply, weight, next } of list) {
      time += 1000;
      const address = `192.0.2.${peer}`;
      table.count(refused(port, externalEnd({ address, identity: address }), { reply }), time, weight);
      counted += weight;
      if (next === 'an hour') time += windowLength / 2;
      if (next === 'restart') table = createSeriesTable({ restored: stateOf(table) });
      if (next === 'write' || next === 'fail') write(table, time + 2000, next === 'fail', events);
    }
    write(table, Infinity, false, events);
    expect([...events.values()].reduce((sum, { count }) => sum + count, 0)).toBe(counted);
    expect(table.counts.uncounted).toBe(0);
    const pairs = Object.groupBy(
      [...events.values()].filter(({ peer }) => peer !== ''),
      ({ peer, hour }) => `${peer} ${hour}`,
    );
    for (const ofPair of Object.values(pairs)) expect(ofPair?.length).toBeLessThanOrEqual(4);
  });
});

/** Writes one Event. `isLost`: the API server stores it, but its answer is lost. */
function write(
  table: SeriesTable,
  now: number,
  isLost: boolean,
  events: Map<string, { peer: string; hour: number; count: number }>,
): void {
  const isLast = now === Infinity;
  for (const series of beginAll(table, now)) {
    const { finding: of, window, count } = series;
    const { details } = of;
    const peer = details.kind === 'flow' ? details.peer : details.kind === 'ports' ? details.example.peer : undefined;
    events.set(`${of.identity} ${window}`, { peer: peer?.identity ?? '', hour: window, count });
    if (isLost) table.end(series, { kind: 'refused', until: now + 5000 });
    else publish(table, series, isLast ? series.last : now);
  }
}
