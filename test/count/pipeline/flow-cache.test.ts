import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMeanings } from '../../../src/count/pipeline/meaning.ts';
import type { PacketObservation } from '../../../src/base/model/packet.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { cluster, icmp, line, nine, node, observation, packet, pod, service } from '../../builders.ts';
import { afresh, shown } from './afresh.ts';
import { forAll } from '../../for-all.ts';

// Few values of each kind, so that flows come back and differ in one thing only.
const address = fc.constantFrom(
  '10.65.1.4',
  '10.65.1.5',
  'fd00:65::4',
  '192.168.7.11',
  '10.96.0.80',
  '8.8.8.8',
  '224.0.0.1',
  '169.254.169.254',
  'fe80::1',
  '0.0.0.0',
);
const port = fc.constantFrom(undefined, 53, 67, 68, 547, 5432, 40112, 50000);
const veths = ['pod-0', 'pod-1'].flatMap((name) => interfaceNames('shop', name));
const device = fc.constantFrom('', 'eth0', ...veths);
const bridgePort = fc.constantFrom(undefined, undefined, 'eth1', ...veths);

const packets = fc
  .record({
    source: address,
    destination: address,
    protocol: fc.constantFrom('TCP', 'UDP', 'ICMP', 'ICMPv6', 'IGMP', 'SCTP'),
    sourcePort: port,
    destinationPort: port,
    icmpType: fc.constantFrom(undefined, 3, 8, 135),
    icmpCode: fc.constantFrom(undefined, 0, 4),
    tcpFlags: fc.constantFrom(undefined, 2, 16, 18),
    length: fc.constantFrom(60, 1500),
    laterFragment: fc.boolean(),
  })
  .map(packet);

/** The prefix decides the rule, and the rule the enforcer, as in the prefix table. */
const prefixes = fc.constantFrom<Partial<PacketObservation>>(
  {},
  {
    prefix: 'calico-drop np shop/deny:',
    policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined },
  },
  { prefix: 'filter_FWD_public_REJECT:', prefixRule: 'firewalld zone', enforcer: 'host-firewall', verdict: 'rejected' },
  { prefix: 'filter_FWD_public_REJECT:', prefixRule: 'configured "filter"', enforcer: 'unknown', verdict: 'dropped' },
  { prefix: '', prefixRule: 'none', enforcer: 'unknown', logger: 'antrea' },
);

const inner = fc.option(packets, { nil: undefined, freq: 8 });

const observations = fc
  .record({
    packet: packets,
    inner,
    prefix: prefixes,
    inInterface: device,
    outInterface: device,
    physIn: bridgePort,
    physOut: bridgePort,
    destinationMac: fc.constantFrom(undefined, 'ff:ff:ff:ff:ff:ff', 'ee:ee:ee:ee:ee:ee'),
    mtu: fc.constantFrom(undefined, 1400),
    repeat: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ prefix, ...rest }) => observation({ ...rest, ...prefix }));

const moment = fc.integer({ min: -5000, max: 45_000 }).map((offset) => nine + offset);

const lines = fc
  .record({
    time: moment,
    timeIsExact: fc.boolean(),
    host: fc.constantFrom(undefined, 'node-a', 'node-b.example.org', 'relay'),
  })
  .map(line);

const pods: fc.Arbitrary<Pod[]> = fc
  .array(
    fc.record({
      addresses: fc.subarray(['10.65.1.4', '10.65.1.5', 'fd00:65::4']),
      hostNetwork: fc.constantFrom(false, false, false, true),
      from: fc.oneof(moment, fc.constant(-Infinity)),
      lasts: fc.constantFrom(0, 5000, 15_000, Infinity),
    }),
    { maxLength: 5 },
  )
  .map((list) =>
    list.map(({ lasts, ...rest }, index) =>
      pod({ name: `pod-${index % 3}`, uid: `${index}`, ...rest, until: rest.from + lasts }),
    ),
  );

/** A few packets, each seen several times at different moments. */
const sequence = fc
  .tuple(
    fc.array(observations, { minLength: 1, maxLength: 6 }),
    fc.array(fc.tuple(fc.nat(), lines, fc.boolean()), { maxLength: 40 }),
  )
  .map(([some, seen]) =>
    seen.map(([index, from, copied]) => {
      const one = some[index % some.length] as PacketObservation;
      // A parser makes a new object for each line.
      return { from, seen: copied ? { ...structuredClone(one), policy: one.policy } : one };
    }),
  );

test('answers like a fresh resolution and explanation, whatever came before', () => {
  forAll(
    [pods, fc.constantFrom(undefined, undefined, 'node-b'), sequence],
    { numRuns: 1000 },
    (list, fixedNode, seen) => {
      // -Infinity + Infinity is NaN: such a Pod lasts for ever.
      const known = list.map((each) => (Number.isNaN(each.until) ? { ...each, until: Infinity } : each));
      const endpoints = createEndpointFinder(
        cluster({
          pods: known,
          nodes: [node({ podRanges: ['10.65.1.0/24'] }), node({ name: 'node-b', addresses: ['192.168.7.12'] })],
          services: [service()],
        }),
      );
      const { meaningOf } = createMeanings({ endpoints, node: fixedNode });
      for (const { from, seen: one } of seen)
        expect(shown(meaningOf(from, one))).toEqual(afresh(endpoints, fixedNode, from, one));
    },
  );
});

test('a flow that returns is remembered, and not explained again', () => {
  const endpoints = createEndpointFinder(cluster({ pods: [pod()] }));
  const { meaningOf } = createMeanings({ endpoints, node: undefined });
  const first = meaningOf(line(), observation());
  const second = meaningOf(line(), observation());
  // A flow that comes once, as in a flood of random addresses, is not remembered.
  expect(second).not.toBe(first);
  expect(
    meaningOf(
      line({ time: nine + 5000, line: 99 }),
      observation({ packet: packet({ sourcePort: 40113, length: 80 }) }),
    ),
  ).toBe(second);
  expect(meaningOf(line({ host: 'node-b' }), observation())).not.toBe(second);
  const errors = [80, 80, 81].map((destinationPort) =>
    observation({ packet: icmp(3, 1, { destination: '10.65.1.4' }), inner: packet({ destinationPort }) }),
  );
  expect(errors.map((error) => shown(meaningOf(line(), error)))).toEqual(
    errors.map((error) => afresh(endpoints, undefined, line(), error)),
  );
});
