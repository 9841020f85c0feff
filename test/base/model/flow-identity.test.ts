import { expect, test } from 'vitest';
import { flowOf } from '../../../src/publish/audit/flow.ts';
import { flowKey, headerFields, isSameFlow, observationFields, orient } from '../../../src/base/model/flow-identity.ts';
import type { Packet, PacketObservation } from '../../../src/base/model/packet.ts';
import { createMeanings } from '../../../src/count/pipeline/meaning.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { cluster, line, nine, observation, packet, pod } from '../../builders.ts';
import { shown } from '../../count/pipeline/afresh.ts';

/** For each field of a packet's header, another value than `packet()` has. */
const headers: Readonly<Record<keyof Packet, Packet>> = {
  source: packet({ source: '10.65.1.9' }),
  destination: packet({ destination: '10.65.1.9' }),
  protocol: packet({ protocol: 'SCTP' }),
  // Ports of DHCP, which decide whether the packet is noise.
  sourcePort: packet({ sourcePort: 67 }),
  destinationPort: packet({ destinationPort: 5433 }),
  tcpFlags: packet({ tcpFlags: 18 }),
  icmpType: packet({ icmpType: 8 }),
  icmpCode: packet({ icmpCode: 1 }),
  laterFragment: packet({ laterFragment: true }),
  length: packet({ length: 1499 }),
  ttl: packet({ ttl: 3 }),
  incomplete: packet({ incomplete: true }),
};

/** The same for each other field of an observation. */
const others: Readonly<Required<Omit<PacketObservation, 'kind' | 'packet' | 'inner'>>> = {
  logger: 'antrea',
  verdict: 'rejected',
  prefix: 'another',
  prefixRule: 'another',
  enforcer: 'host-firewall',
  policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined },
  policySide: 'sender',
  clusterTier: 'Admin',
  byNetworkPolicies: true,
  sourceName: 'shop/another',
  destinationName: 'shop/another',
  destinationHost: 'pay.example.com',
  service: 'shop/web',
  dropReason: 'TTL_EXCEEDED',
  notice: 'drop',
  inInterface: 'eth7',
  outInterface: 'eth7',
  physIn: 'eth7',
  physOut: 'eth7',
  destinationMac: 'ee:ee:ee:ee:ee:ee',
  mtu: 1400,
  mark: 7,
  uid: 7,
  repeat: 7,
};

const changed: readonly [name: string, part: string, PacketObservation][] = [
  ...Object.entries(headers).map(
    ([name, header]) => [name, headerFields[name as keyof Packet], observation({ packet: header })] as const,
  ),
  ...Object.entries(others).map(
    ([name, value]) => [name, observationFields[name as keyof typeof others], observation({ [name]: value })] as const,
  ),
].map(([name, part, one]) => [name, part, one]);

const original = { observation: observation(), orientation: orient(packet()) };

test.each(changed)('packets that differ in %s (%s) are compared and named by the list', (_, part, one) => {
  const isOfFlow = part === 'packet';
  expect(isSameFlow(original, one, orient(one.packet))).toBe(isOfFlow);
  expect(flowKey(one) === flowKey(original.observation)).toBe(isOfFlow);
});

const endpoints = createEndpointFinder(
  cluster({
    pods: [
      pod(),
      pod({ name: 'web-1', addresses: ['10.65.1.9'] }),
      pod({ name: 'db-0', addresses: [packet().destination] }),
    ],
  }),
);

test.each(changed)('a packet that differs in %s (%s) gets its own meaning', (_, __, one) => {
  const afresh = createMeanings({ endpoints, node: 'node-a' }).meaningOf(line(), one);
  const { meaningOf } = createMeanings({ endpoints, node: 'node-a' });
  // The flow is remembered once it is seen again.
  for (let times = 0; times < 3; times++) meaningOf(line(), original.observation);
  expect(shown(meaningOf(line(), one))).toEqual(shown(afresh));
});

/**
 * Differences that make two flows but only one audit record, because the audit has no field for them or may mix them.
 */
const mixedInAudit = new Set([
  'service',
  'destinationHost',
  'inInterface',
  'outInterface',
  'physIn',
  'physOut',
  'destinationMac',
  'mtu',
]);
const notInAudit = new Set(['sourcePort', 'prefixRule', 'policySide', 'byNetworkPolicies']);

function auditKeyOf(each: PacketObservation): string {
  const { ends, node, noise } = createMeanings({ endpoints, node: 'node-a' }).meaningOf(line({ time: nine }), each);
  return flowOf({ observation: each, ends, node, noise }).key;
}

test.each(changed)('the audit counts packets that differ in %s (%s) as the list says', (name, part, one) => {
  const isTogether = part === 'packet' || mixedInAudit.has(name) || notInAudit.has(name);
  expect(auditKeyOf(one) === auditKeyOf(original.observation)).toBe(isTogether);
});
