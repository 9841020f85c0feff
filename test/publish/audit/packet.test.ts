import { expect, test } from 'vitest';
import { type FlowRecord, fields } from '../../../src/publish/audit/fields.ts';
import { packetRow } from '../../../src/publish/audit/flow.ts';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import { kernelDrop, type PacketObservation } from '../../../src/base/model/packet.ts';
import type { PolicyFacts } from '../../../src/base/model/policy-answer.ts';
import {
  ends,
  externalEnd,
  icmp,
  line,
  nine,
  nodeEnd,
  observation,
  packet,
  podEnd,
  portless,
  workerEnd,
} from '../../builders.ts';

/** Records of packets. */
const tables: { full: FlowRecord; leastFields: string[] } = {
  // The record of a completely known packet.
  full: {
    '@timestamp': '2026-11-21T09:00:01.500Z',
    'schema.version': '1.2',
    'event.id': '',
    'event.name': 'network.flow.drop',
    'event.action': 'dropped',
    'event.start': '2026-11-21T09:00:01.500Z',
    'event.end': '2026-11-21T09:00:01.500Z',
    'k8s.cluster.name': 'prod',
    'k8s.node.name': 'node-a',
    'network.direction': 'egress',
    'network.transport': 'tcp',
    'network.type': 'ipv4',
    'network.packets': 3,
    'network.reply': true,
    'source.address': '10.65.2.1',
    'source.port': 40112,
    'source.kind': 'Pod',
    'source.evidence': 'pod-address',
    'source.k8s.namespace.name': 'batch',
    'source.k8s.pod.name': 'worker-1',
    'source.k8s.pod.uid': 'uid-of-worker-1',
    'source.k8s.pod.labels': 'app=worker',
    'source.k8s.owner.kind': 'Deployment',
    'source.k8s.owner.name': 'worker',
    'destination.address': '203.0.113.9',
    'destination.port': 5432,
    'destination.kind': 'external',
    'destination.evidence': 'address-range',
    'security_rule.name': 'deny',
    'policy.kind': 'NetworkPolicy',
    'policy.namespace': 'shop',
    'policy.evidence': 'logged',
    'policy.enforced_by': 'network-policy',
    'log.logger': 'netfilter',
    'log.prefix': 'calico-drop:',
    'log.file.path': 'kern.log',
    'log.file.line': 12,
    'interface.in': 'calic440f455693',
    'interface.out': 'eth0',
    'packet.size': 60,
    'packet.ttl': 63,
    'packet.tcp_flags': 'SYN ACK',
    'packet.mark': 65536,
    'packet.uid': 1000,
  },
  // The fields of the record of a nearly unknown packet.
  leastFields: [
    '@timestamp',
    'schema.version',
    'event.id',
    'event.name',
    'event.action',
    'event.start',
    'event.end',
    'k8s.cluster.name',
    'network.packets',
    'network.type',
    'source.address',
    'source.kind',
    'destination.address',
    'destination.kind',
    'destination.evidence',
    'policy.enforced_by',
    'log.logger',
    'log.file.path',
    'log.file.line',
  ],
};

function row(
  given: Partial<PacketObservation> = {},
  of: Partial<LogLine> = {},
  found = ends(),
  node = 'node-a',
  noise?: string,
  policies?: PolicyFacts,
): FlowRecord {
  const packetOf = { observation: observation(given), ends: found, node, noise };
  const text = packetRow(line(of), packetOf, { cluster: 'prod', policies });
  expect(text.endsWith('}\n') && !text.slice(0, -1).includes('\n')).toBe(true);
  const record = JSON.parse(text) as FlowRecord;
  expect(Object.keys(record).filter((name) => !Object.hasOwn(fields, name))).toEqual([]);
  return record;
}

test('a line gives all its fields about one packet', () => {
  const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined };
  const given = {
    inInterface: 'calic440f455693',
    outInterface: 'eth0',
    policy,
    mark: 0x10000,
    uid: 1000,
    repeat: 3,
    packet: packet({ tcpFlags: 18 }),
  };
  const source = { ...workerEnd(1), labels: 'app=worker' };
  const found = ends({ source, destination: externalEnd(), fromPodInterface: true });
  expect(row(given, { time: nine + 1500 }, found)).toEqual({
    ...tables.full,
    'event.id': expect.stringMatching(/^[0-9a-f]{24}$/),
  });
});

const namedPolicy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'web', tier: undefined };

const evaluated: PolicyFacts = {
  verdict: 'denied',
  direction: 'ingress',
  decidedBy: ['NetworkPolicy shop/api', 'NetworkPolicy shop/web'],
  count: 2,
  rule: undefined,
  nearest: 'NetworkPolicy shop/web ingress[0]',
};

test.each<[string, Partial<PacketObservation>, FlowRecord]>([
  ['a record of a drop by what enforces it', {}, { 'policy.verdict': 'denied' }],
  ['a record of a rejection', { verdict: 'rejected' }, { 'policy.verdict': 'denied' }],
  ['a record of what it let through', { verdict: 'accepted' }, { 'policy.verdict': 'admitted' }],
])('a log shows the verdict of a policy: %s', (_, given, expected) => {
  const logged = { 'policy.verdict_evidence': 'logged', 'policy.decided_by': 'NetworkPolicy shop/web' } as const;
  expect(row({ policy: namedPolicy, prefix: '', ...given })).toMatchObject({ ...logged, ...expected });
});

test.each<[string, Partial<PacketObservation>]>([
  ['a LOG prefix, whose rule only logs', { prefix: 'calico-drop knp shop/web' }],
  ['a record that decides nothing', { prefix: '', verdict: 'logged' }],
  ['a record without a policy', { prefix: '', policy: undefined }],
  ['a zone of a host firewall', { prefix: '', enforcer: 'host-firewall' }],
])('a log does not show the verdict of a policy: %s', (_, given) => {
  expect(row({ policy: namedPolicy, ...given })).not.toHaveProperty(['policy.verdict']);
});

test.each<[string, PolicyFacts, string | undefined]>([
  ['the same policy adds its rule', evaluated, 'NetworkPolicy shop/web ingress[0]'],
  ['another policy adds nothing', { ...evaluated, decidedBy: ['NetworkPolicy shop/api'] }, undefined],
  ['an evaluation that admits adds nothing', { ...evaluated, verdict: 'admitted' }, undefined],
])('a verdict in the log stays, and of the evaluation, %s', (_, policies, nearest) => {
  const record = row({ policy: namedPolicy, prefix: '' }, {}, ends(), 'node-a', undefined, policies);
  expect(record).toMatchObject({
    'policy.verdict': 'denied',
    'policy.verdict_evidence': 'logged',
    'policy.decided_by': 'NetworkPolicy shop/web',
  });
  expect(record['policy.nearest']).toBe(nearest);
});

test('the tier of a ClusterNetworkPolicy is that of the deciding policy, which has no name', () => {
  const fromLog = row({ prefix: '', policy: undefined, clusterTier: 'Admin' });
  expect(fromLog).toMatchObject({
    'policy.kind': 'ClusterNetworkPolicy',
    'policy.tier': 'Admin',
    'policy.evidence': 'logged',
    'policy.verdict': 'denied',
    'policy.verdict_evidence': 'logged',
  });
  expect(Object.keys(fromLog)).not.toContain('security_rule.name');
  expect(Object.keys(fromLog)).not.toContain('policy.decided_by');
});

const uidsOf = (found: ReturnType<typeof ends>) =>
  Object.entries(row({}, {}, found)).filter(([name]) => name.endsWith('pod.uid'));

test("the uid is that of a Pod, on the Pod's end", () => {
  expect(uidsOf(ends({ source: externalEnd(), destination: workerEnd(1) }))).toEqual([
    ['destination.k8s.pod.uid', 'uid-of-worker-1'],
  ]);
  expect(uidsOf(ends({ source: workerEnd(1), destination: nodeEnd() }))).toEqual([
    ['source.k8s.pod.uid', 'uid-of-worker-1'],
  ]);
});

test.each([
  ['kernel', {}],
  ['kernel-drop', { logger: kernelDrop }],
] as const)('a martian reported by %s has its prefix and interface, and no rule', (logger, told) => {
  const martian = {
    kind: 'martian',
    ...told,
    impossible: 'source',
    source: '127.0.0.1',
    destination: '10.65.1.4',
    device: 'eth0',
  } as const;
  const text = packetRow(
    line(),
    { observation: martian, ends: ends(), node: 'node-a', noise: undefined },
    { cluster: 'prod' },
  );
  const record = JSON.parse(text) as FlowRecord;
  expect(
    Object.fromEntries(
      Object.entries(record).filter(([name]) => /^(?:log\.[lp]|interface|security|policy)/.test(name)),
    ),
  ).toEqual({ 'log.logger': logger, 'log.prefix': 'martian source', 'interface.in': 'eth0' });
});

test.each([
  ['egress', podEnd(), nodeEnd(), 'node-a'],
  ['ingress', nodeEnd(), podEnd(), 'node-a'],
  ['internal', podEnd(), podEnd(), 'node-a'],
  ['ingress', workerEnd(1), podEnd(), 'node-a'],
  [undefined, podEnd(), nodeEnd(), 'node-c'],
])("without interfaces, a direction is %s because of its Pods' node", (direction, source, destination, node) => {
  expect(row({}, {}, ends({ source, destination }), node)['network.direction']).toBe(direction);
});

test('unknown facts are left out of a record', () => {
  const bare = { prefix: '', packet: portless('', { length: undefined, ttl: undefined }) };
  const source = externalEnd({ kind: 'unknown', evidence: 'none' });
  expect(Object.keys(row(bare, {}, ends({ source }), '')).toSorted()).toEqual(tables.leastFields.toSorted());
});

test.each<[string, FlowRecord, FlowRecord]>([
  ['an inferred time', row({}, { timeIsExact: false }), { 'event.time_estimated': true }],
  ['chatter of the link', row({}, {}, ends(), 'node-a', 'multicast'), { 'event.noise': 'multicast' }],
  [
    'a role in the cluster',
    row({}, {}, ends({ destination: externalEnd({ role: 'metadata' }) })),
    { 'destination.role': 'metadata' },
  ],
  ['a later fragment', row({ packet: portless('UDP', { laterFragment: true }) }), { 'packet.later_fragment': true }],
  ['a cut packet', row({ packet: packet({ incomplete: true }) }), { 'packet.incomplete': true }],
  ['an ICMP message', row({ packet: icmp(8, 0) }), { 'network.transport': 'icmp', 'icmp.type': 8, 'icmp.code': 0 }],
  ['a rule that only logs', row({ verdict: 'logged' }), { 'event.name': 'network.flow.log', 'event.action': 'logged' }],
])('fields are written only if they apply: %s', (_, found, expected) => {
  expect(found).toMatchObject(expected);
});

test('an ICMP error contains the packet that it is about', () => {
  const error = { packet: icmp(3, 4), inner: packet({ destinationPort: 443 }), mtu: 1400 };
  const found = ends({
    source: externalEnd(),
    destination: podEnd(),
    inner: { source: podEnd(), destination: externalEnd() },
  });
  const { source, destination } = error.inner;
  expect(row(error, {}, found)).toMatchObject({
    'icmp.type': 3,
    'icmp.code': 4,
    'packet.mtu': 1400,
    'original.source.address': source,
    'original.destination.address': destination,
    'original.network.transport': 'tcp',
    'original.destination.port': 443,
  });
});

test('the same line has the same id, a different line a different one', () => {
  expect(row()['event.id']).toBe(row()['event.id']);
  expect(row({}, { line: 13 })['event.id']).not.toBe(row()['event.id']);
});
