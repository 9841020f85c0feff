import fc from 'fast-check';
import { expect, test } from 'vitest';
import { explainMartian, explainPacket, noiseOf } from '../../../src/explain/drops/drops.ts';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { Martian } from '../../../src/base/model/observation.ts';
import type { Packet, PacketObservation } from '../../../src/base/model/packet.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { resolveMartian, resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { createLookupQueue, type LookupQueue, type QueuedFlow } from '../../../src/count/pipeline/lookup-queue.ts';
import { cluster, icmp, line, nine, node, observation, packet, pod, portless, service } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;

/** A SYN to that port; each port is a flow of its own. */
const syn = (port: number, given: Partial<PacketObservation> = {}): PacketObservation =>
  observation({ packet: packet({ destinationPort: port }), ...given });

const martian = (given: Partial<Martian> = {}): Martian => ({
  kind: 'martian',
  impossible: 'source',
  source: '10.65.1.4',
  destination: '10.65.2.9',
  device: 'eth0',
  ...given,
});

const portOf = ({ observation: seen }: QueuedFlow): number | undefined =>
  seen.kind === 'packet' ? seen.packet.destinationPort : undefined;

/** A queue as it is restored from a snapshot. */
function restored(queue: LookupQueue, limit = 10): LookupQueue {
  return createLookupQueue(limit, JSON.parse(JSON.stringify(queue.flows)) as QueuedFlow[]);
}

test('packets of one flow wait together', () => {
  const queue = createLookupQueue(10);
  for (const [offset, sourcePort] of [
    [2, 40001],
    [1, 40002],
    [5, 40003],
  ] as const)
    queue.admit(
      line({ time: nine + offset * second, line: offset }),
      observation({ packet: packet({ sourcePort, length: 60 + offset }), mark: offset, uid: offset }),
      nine + (6 + offset) * second,
    );
  expect(queue.flows).toMatchObject([
    { weight: 3, first: nine + second, last: nine + 5 * second, since: nine + 8 * second, line: { line: 2 } },
  ]);
  expect(queue.size).toBe(1);
});

test('released flows are written to disk as removed', () => {
  const queue = createLookupQueue(10);
  queue.admit(line(), syn(80), nine);
  queue.admit(line(), syn(81), nine);
  expect(queue.changes.take()).toHaveLength(2);
  queue.release((flow) => portOf(flow) === 80);
  expect(queue.changes.take()).toEqual([['remove', expect.stringContaining('waiting ')]]);
});

const minute = 60 * second;
const minutesOf = ({ flows }: LookupQueue): unknown[] =>
  flows.map(({ line: { time }, first, last, weight }) => [time - nine, first - nine, last - nine, weight]);
const admitAt = (queue: LookupQueue, port: number, ...times: number[]): boolean[] =>
  times.map((time) => queue.admit(line({ time: nine + time }), syn(port), nine + time));

test('a flow that waits for minutes waits minute by minute, because its addresses may get other owners', () => {
  const queue = createLookupQueue(10);
  admitAt(queue, 80, 0, minute - 1, minute, 2 * minute, minute + 1);
  const expected = [
    [0, 0, minute - 1, 2],
    [minute, minute, minute + 1, 2],
    [2 * minute, 2 * minute, 2 * minute, 1],
  ];
  expect(minutesOf(queue)).toEqual(expected);
  expect(minutesOf(restored(queue))).toEqual(expected);
});

test('a flow that waits for minutes is joined to its last minute if there is no room for another one', () => {
  const queue = createLookupQueue(2);
  expect(admitAt(queue, 80, 0, minute, 2 * minute, 1)).toEqual([true, true, true, true]);
  expect(admitAt(queue, 81, 2 * minute)).toEqual([false]);
  expect(minutesOf(queue)).toEqual([
    [0, 0, 1, 2],
    [minute, minute, 2 * minute, 2],
  ]);
});

test('a flow that waits for minutes stays until its last minute is released', () => {
  const queue = createLookupQueue(10);
  admitAt(queue, 80, 0, minute);
  const again = restored(queue);
  for (const each of [queue, again]) {
    each.release(({ first }) => first === nine);
    expect(each.has(line(), syn(80))).toBe(true);
    each.release(() => true);
    expect(each.has(line(), syn(80))).toBe(false);
  }
});

test('a text of 64 KiB is not kept in memory', () => {
  const queue = createLookupQueue(10);
  queue.admit(line({ text: 'x'.repeat(65_536), host: 'node-a' }), syn(80), nine);
  expect(queue.flows).toMatchObject([{ line: { text: '', time: nine, host: 'node-a' } }]);
});

test('a packet that represents several has their weight', () => {
  const queue = createLookupQueue(10);
  queue.admit(line(), syn(80, { repeat: 5 }), nine);
  queue.admit(line(), syn(80), nine);
  queue.admit(line(), syn(80, { repeat: 2 }), nine);
  expect(queue.flows).toMatchObject([{ weight: 8 }]);
});

test('martians also wait', () => {
  const queue = createLookupQueue(10);
  for (const each of [martian(), martian(), martian({ impossible: 'destination' }), martian({ device: 'eth1' })])
    expect(queue.admit(line(), each, nine)).toBe(true);
  expect(queue.flows.map(({ weight }) => weight)).toEqual([2, 1, 1]);
  expect(queue.has(line(), martian())).toBe(true);
  expect(queue.has(line(), martian({ source: '10.65.1.5' }))).toBe(false);
});

test('a full room accepts no other flows, but more packets of waiting ones', () => {
  const queue = createLookupQueue(2);
  expect([80, 81, 82, 80].map((port) => queue.admit(line(), syn(port), nine))).toEqual([true, true, false, true]);
  expect(queue.flows.map(({ weight }) => weight)).toEqual([2, 1]);
  expect(queue.has(line(), syn(82))).toBe(false);
  queue.release((flow) => portOf(flow) === 81);
  expect(queue.admit(line(), syn(82), nine)).toBe(true);
});

test('a holder who fills the room makes way for each holder with less in it, and no packet is lost', () => {
  const flows = fc.array(fc.tuple(fc.constantFrom('a', 'a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'), fc.nat(60)), {
    minLength: 30,
    maxLength: 90,
  });
  let displacedOnce = 0;
  forAll([flows], { numRuns: 300 }, (given) => {
    const queue = createLookupQueue(12);
    const asked = new Map<string, Set<number>>();
    let apart = 0;
    for (const [holder, port] of given) {
      const flow = syn(port, { prefix: holder });
      if (!queue.admit(line(), flow, nine, { lines: 1, last: undefined, holder })) apart++;
      for (const { weight } of queue.takeDisplaced()) {
        apart += weight;
        displacedOnce++;
      }
      asked.set(holder, (asked.get(holder) ?? new Set()).add(port));
    }
    expect(queue.size).toBeLessThanOrEqual(12);
    expect(queue.flows.reduce((sum, { weight }) => sum + weight, apart)).toBe(given.length);
    expect(queue.overflowed).toBe(apart);
    for (const [holder, ports] of asked)
      if (ports.size <= 3)
        for (const port of ports) expect(queue.has(line(), syn(port, { prefix: holder }))).toBe(true);
  });
  expect(displacedOnce).toBeGreaterThan(0);
});

test('flows that may go are released, oldest first', () => {
  const queue = createLookupQueue(10);
  for (const port of [82, 80, 81, 80]) queue.admit(line(), syn(port), nine);
  const asked: unknown[] = [];
  const released = queue.release((flow) => {
    asked.push(portOf(flow));
    return portOf(flow) !== 80;
  });
  expect(asked).toEqual([82, 80, 81]);
  expect(released.map(portOf)).toEqual([82, 81]);
  expect(queue.flows.map(portOf)).toEqual([80]);
  expect(queue.has(line(), syn(82))).toBe(false);
  expect(queue.release(() => true)).toMatchObject([{ weight: 2 }]);
  expect(queue.release(() => true)).toEqual([]);
});

test('a restored room equals the original', () => {
  const queue = createLookupQueue(10);
  for (const each of [syn(80), syn(80), martian(), observation({ packet: icmp(3, 4), inner: packet(), mtu: 1400 })])
    queue.admit(line(), each, nine);
  expect(restored(queue).flows).toEqual(queue.flows);
  expect(restored(createLookupQueue(10)).size).toBe(0);
});

test('a restored room accepts more packets of waiting flows', () => {
  const queue = createLookupQueue(10);
  queue.admit(line(), syn(80, { inner: packet() }), nine);
  queue.admit(line(), martian(), nine);
  const again = restored(queue);
  again.admit(line({ time: nine + second }), syn(80, { inner: packet() }), nine + second);
  again.admit(line({ time: nine + second }), martian(), nine + second);
  expect(again.flows).toMatchObject([
    { weight: 2, last: nine + second, since: nine },
    { weight: 2, last: nine + second, since: nine },
  ]);
  expect(queue.flows).toMatchObject([{ weight: 1 }, { weight: 1 }]);
});

test('a restored room loses no flow, even if it is smaller now', () => {
  const queue = createLookupQueue(10);
  for (const port of [80, 81, 82]) queue.admit(line(), syn(port), nine);
  const again = restored(queue, 1);
  expect(again.size).toBe(3);
  expect(again.admit(line(), syn(83), nine)).toBe(false);
  expect(again.admit(line(), syn(80), nine)).toBe(true);
});

// Few values of each kind, so that flows come back and differ in one thing only.
const [veth = ''] = interfaceNames('shop', 'web-0');
const endpoints = createEndpointFinder(
  cluster({
    pods: [pod(), pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9'] })],
    nodes: [node()],
    services: [service()],
  }),
);
const address = fc.constantFrom('10.65.1.4', '10.65.2.9', '10.96.0.80', '8.8.8.8', '224.0.0.251', '192.168.7.11');
const port = fc.constantFrom(undefined, 53, 67, 68, 5432, 40112, 50000);
const packets: fc.Arbitrary<Packet> = fc
  .record({
    source: address,
    destination: address,
    protocol: fc.constantFrom('TCP', 'UDP', 'ICMP', 'IGMP'),
    sourcePort: port,
    destinationPort: port,
    icmpType: fc.constantFrom(undefined, 3, 8),
    icmpCode: fc.constantFrom(undefined, 0, 4),
    tcpFlags: fc.constantFrom(undefined, 2, 16, 18),
    length: fc.constantFrom(60, 1500),
    ttl: fc.constantFrom(1, 63),
    laterFragment: fc.boolean(),
  })
  .map((given) => portless(given.protocol, given));
const seen: fc.Arbitrary<PacketObservation | Martian> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        packet: packets,
        inner: fc.option(packets, { nil: undefined, freq: 5 }),
        prefix: fc.constantFrom('calico-drop:', 'other:'),
        verdict: fc.constantFrom('dropped', 'rejected'),
        inInterface: fc.constantFrom('eth0', veth),
        outInterface: fc.constantFrom('', veth),
        mtu: fc.constantFrom(undefined, 1400),
        mark: fc.constantFrom(undefined, 1),
        repeat: fc.integer({ min: 1, max: 3 }),
        destinationMac: fc.constantFrom(undefined, 'ff:ff:ff:ff:ff:ff'),
      })
      .map(observation),
  },
  {
    weight: 1,
    arbitrary: fc.record({ source: address, destination: address, device: fc.constantFrom('eth0', veth) }).map(martian),
  },
);

/** Returns what the packet is counted as. */
function meaningOf(from: LogLine, each: PacketObservation | Martian): unknown {
  const at = { time: from.time, exact: from.timeIsExact };
  if (each.kind === 'martian')
    return explainMartian(each, resolveMartian(each, endpoints, at), 'node-a').map(({ identity }) => identity);
  const ends = resolvePacket(each, endpoints, at);
  const noise = noiseOf(each.packet, each.destinationMac, ends);
  return [noise, explainPacket(each, ends, 'node-a').map(({ identity }) => identity)];
}

test('only packets that are counted alike are joined into one flow', () => {
  let joined = 0;
  // Mostly equal, so that some are joined.
  const pair = fc
    .tuple(seen, seen, fc.constantFrom('packet', 'inner', 'mark', 'repeat', 'prefix', 'mtu', 'inInterface', 'all'))
    .map(([one, two, key]): [typeof one, typeof two] =>
      one.kind === 'packet' && two.kind === 'packet' && key !== 'all' ? [one, { ...one, [key]: two[key] }] : [one, two],
    );
  forAll([pair, fc.boolean()], { numRuns: 2000 }, ([one, two], exact) => {
    const [first, second_] = [line(), line({ timeIsExact: exact })];
    const queue = createLookupQueue(10);
    queue.admit(first, one, nine);
    const alike = queue.has(second_, two);
    expect(restored(queue).has(second_, two)).toBe(alike);
    if (!alike) return;
    joined++;
    expect(meaningOf(second_, two)).toEqual(meaningOf(first, one));
  });
  expect(joined).toBeGreaterThan(50);
});
