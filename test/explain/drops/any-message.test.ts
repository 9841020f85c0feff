import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adviseOn } from '../../../src/explain/drops/advice.ts';
import { awsReasons, kernelReasons, reasons } from '../../../src/explain/drops/reasons.ts';
import { policyVerdict } from '../../../src/explain/drops/policy-verdict.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import type { PolicyName } from '../../../src/base/model/packet.ts';
import type { DistinctValues } from '../../../src/base/model/series.ts';
import { messageOf } from '../../../src/count/pipeline/message.ts';
import {
  clock,
  externalEnd,
  finding,
  flow,
  nodeEnd,
  podEnd,
  podRef,
  series,
  serviceEnd,
  workerEnd,
} from '../../builders.ts';
import { forAll } from '../../for-all.ts';
import { commandsInMessage } from '../../docs/advice.ts';
import { evaluator, namedObjects, namespace, pod } from '../policies/objects.ts';

/** Properties of the Event of any drop, whatever dropped the packet, whoever the peer is, and whatever policies say. */

interface Drop {
  finding: Finding;
  peers: DistinctValues;
  ports?: DistinctValues;
  policies: readonly string[] | undefined;
}

const ends: readonly Endpoint[] = [
  workerEnd(7),
  podEnd({ object: podRef('web-1'), address: '10.65.1.9' }),
  podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns', address: '10.65.2.10' }),
  podEnd({ object: podRef('spoofer', 'lab'), address: '10.65.9.9', note: 'not its own address' }),
  nodeEnd('node-a'),
  nodeEnd('node-c', '192.168.7.13'),
  serviceEnd(),
  serviceEnd({ object: { ...podRef('dns', 'kube-system'), kind: 'Service' }, role: 'dns' }),
  externalEnd(),
  externalEnd({ role: 'api-server', address: '192.0.2.1' }),
  externalEnd({ role: 'metadata', address: '169.254.169.254', note: 'cloud metadata service' }),
  externalEnd({ kind: 'unknown', address: '10.65.77.7', note: undefined }),
  externalEnd({ kind: 'unknown', address: 'batch/worker-84f9d6c5bb-*', note: undefined }),
  externalEnd({ address: 'public network', note: undefined }),
  externalEnd({ address: 'a NetworkSet', note: undefined }),
];

const from = fc.constantFrom;
const end = from(...ends);
const anyDirection = from('receiving', 'sending');
const named: fc.Arbitrary<PolicyName | undefined> = from(
  undefined,
  { kind: 'NetworkPolicy', namespace: 'shop', name: 'allow-frontend', tier: undefined },
  { kind: 'NetworkPolicy.projectcalico.org', namespace: 'shop', name: 'frontend', tier: 'default' },
  { kind: 'GlobalNetworkPolicy', namespace: undefined, name: 'lockdown', tier: 'platform' },
  { kind: 'CiliumNetworkPolicy', namespace: 'shop', name: 'frontend', tier: undefined },
  { kind: undefined, namespace: 'shop', name: 'allow-fr…', tier: undefined },
  { kind: undefined, namespace: undefined, name: 'deny-all', tier: undefined },
);
const what: fc.Arbitrary<Partial<FlowDetails>> = from(
  { protocol: 'TCP', port: 5432, portName: 'postgres' },
  { protocol: 'TCP', port: 443 },
  { protocol: 'TCP', port: 6443 },
  { protocol: 'UDP', port: 53 },
  { protocol: 'SCTP', port: 36_412 },
  { protocol: 'TCP', port: 5432, reply: true },
  { protocol: 'UDP', port: undefined, laterFragment: true },
  { protocol: 'ICMP', port: undefined, icmpType: 8, icmpCode: 0 },
  { protocol: 'ICMPv6', port: undefined, icmpType: 128, icmpCode: 0 },
  { protocol: 'GRE', port: undefined },
  { protocol: '', port: undefined },
);
const path = from('', 'eth0 → cali08d03b733d8', 'cali08d03b733d8 → this node', 'this node → cali08d03b733d8', 'eth1');
const common = fc.record({ direction: anyDirection, peer: end, path, verdict: from('dropped', 'rejected') });

/** By the kind of what dropped the packet. */
const causes: Readonly<Record<string, fc.Arbitrary<Partial<FlowDetails>>>> = {
  policy: fc.record({
    enforcer: fc.constant('network-policy'),
    prefix: from('', 'calico-drop', 'cni=ovn-k8s'),
    logger: from('netfilter', 'hubble', 'calico-flow', 'aws-network-policy-agent', 'antrea'),
    policy: named,
    refusedBy: from(undefined, 'sender', 'receiver'),
    sharedWith: from(undefined, ['postgres-1'], ['postgres-1', 'postgres-2']),
  }),
  kernel: fc.record({ enforcer: fc.constant('unknown'), logger: fc.constant('kernel-drop') }),
  failed: fc.record({
    enforcer: fc.constant('network-policy'),
    logger: fc.constant('connect-failure'),
    direction: fc.constant('sending'),
    service: from(undefined, 'shop/api'),
  }),
  tier: fc.record({
    enforcer: fc.constant('network-policy'),
    logger: fc.constant('aws-network-policy-agent'),
    clusterTier: from('Admin', 'Baseline'),
    refusedBy: from(undefined, 'sender', 'receiver'),
  }),
  reason: fc.record({
    enforcer: fc.constant('unknown'),
    dropReason: from(...reasons.keys(), ...kernelReasons.keys(), ...awsReasons.keys(), 'SOMETHING_NEW', '181'),
    nextMtu: from(undefined, 1400),
    refusedBy: from(undefined, 'sender', 'receiver'),
  }),
  martian: fc.record({
    enforcer: fc.constant('unknown'),
    martian: fc.constant(true),
    protocol: fc.constant(''),
    port: fc.constant(undefined),
    icmpType: fc.constant(undefined),
    prefix: from('martian source', 'martian destination'),
    ownAddressIsForeign: fc.boolean(),
    logger: from('netfilter', 'kernel-drop'),
    path: from('eth1', 'cali08d03b733d8', '$(id)'),
  }),
  firewall: fc.record({
    enforcer: fc.constant('host-firewall'),
    prefix: from('[UFW BLOCK]', 'filter_FWD_public_REJECT', 'Shorewall:net2fw:DROP'),
    policy: from(undefined, { kind: 'firewalld zone', namespace: undefined, name: 'public', tier: undefined }),
    podRange: from(undefined, '10.65.1.0/24'),
  }),
  unknown: fc.record({ enforcer: fc.constant('unknown'), prefix: from('', 'DROP-LOG') }),
  error: fc.record({
    enforcer: from('unknown', 'network-policy'),
    direction: fc.constant('receiving'),
    error: fc.record({
      reporter: end,
      protocol: fc.constant('ICMP'),
      type: fc.constant(3),
      code: from(1, 3, 4, 13),
      mtu: from(undefined, 0, 68, 1400),
    }),
  }),
};

const policyOf = namedObjects(join(import.meta.dirname, 'policies.yaml'));
const policyNames = [
  'allow-frontend',
  'default-deny',
  'allow-worker',
  'secret-name',
  'no-egress',
  'by-address',
  'by-address-except',
  'only-metrics',
  'no-ingress-of-dns',
  'lockdown',
  'frontend-of-calico',
  'rest-of-calico',
  'ports-of-calico',
  'rest-of-cluster',
  'worker-of-calico',
  'frontend-of-cilium',
  'two-parts-of-cilium',
  'unreadable',
  'unreadable-there',
];

const drop = (cause: fc.Arbitrary<Partial<FlowDetails>>): fc.Arbitrary<Drop> =>
  fc
    .record({
      details: fc.tuple(common, what, cause).map(([a, b, c]) => flow({ ...a, ...b, ...c })),
      node: from('', 'node-a', 'node-a', 'node-a'),
      seen: from(1, 1, 2, 50),
      past: from(0, 0, 7),
      policies: fc.option(fc.subarray(policyNames, { maxLength: 3 }), { nil: undefined }),
    })
    .map(({ details, node, seen, past, policies }) => ({
      finding: finding({ regarding: podRef('postgres-0'), node, details }),
      peers: { seen: Array.from({ length: seen }, (_, index) => `10.65.2.${index}`), past: seen === 50 ? past : 0 },
      policies,
    }));

const pods = [
  pod(),
  pod({ namespace: 'batch', name: 'worker-7', labels: { app: 'worker' }, addresses: ['10.65.2.7'], node: 'node-b' }),
  pod({ name: 'web-1', labels: { app: 'web' }, addresses: ['10.65.1.9'] }),
  pod({ namespace: 'kube-system', name: 'coredns', labels: { 'k8s-app': 'kube-dns' }, addresses: ['10.65.2.10'] }),
];
const namespaces = ['shop', 'batch', 'kube-system', 'lab'].map((name) => namespace(name));
const at = clock('10:15:10');

function exampleOf({ finding: { details } }: Drop): FlowDetails {
  if (details.kind === 'flow') return details;
  return (details as Extract<Finding['details'], { example: FlowDetails }>).example;
}

function written(one: Drop): { message: string; advice: string } {
  const { finding: given, peers, ports, policies } = one;
  const known = {
    pod: (own: string, name: string) => pods.find((each) => each.namespace === own && each.name === name),
    namespace: (name: string) => namespaces.find((each) => each.name === name),
    trace: evaluator((policies ?? []).map(policyOf), namespaces).trace,
  };
  const answer = policies === undefined ? undefined : policyVerdict(given, known, at);
  const message = messageOf(series({ finding: given, peers, ...(ports && { ports }) }), { answer });
  return { message, advice: adviseOn(exampleOf(one), { namespace: 'shop', node: given.node }, answer) };
}

/** One Event for several flows. */
const joined: fc.Arbitrary<Drop> = fc
  .tuple(drop(fc.oneof(...Object.values(causes))), from('ports', 'overflow', 'target', 'scanner'), from(1, 2, 16, 300))
  .map(([{ finding: given, peers }, kind, count]) => {
    const example = given.details as FlowDetails;
    const details =
      kind === 'ports' || kind === 'overflow' ? { kind, example } : { kind: 'scan' as const, of: kind, example };
    const ports = { seen: Array.from({ length: count }, (_, index) => `${index + 1}/TCP`), past: 0 };
    return { finding: { ...given, details }, peers, ports, policies: undefined };
  });

const blemishes = /\.\.|,,| [.,;:)]|\( | {2}|;\.|\.:|\b(\w+) \1(?![\w-])|\b(?:undefined|null|NaN)\b|\[object/;
const placeholders = /\b(?:ADDRESS|NAME|NAMESPACE|NODE|NUMBER|PORT|POD|RANGE|[A-Z]+_(?:ADDRESS|NAME|NODE|POD|RANGE))\b/;

/** Commands with `kubectl -n batch …`, unless the sentence is for the owners of batch. */
function foreignCommands(message: string): string[] {
  return commandsInMessage(message).filter((command) => {
    const [, of] = / -n ([\w-]+)/.exec(command) ?? [];
    return of !== undefined && of !== 'shop' && !message.includes(`Owners of namespace ${of}: `);
  });
}

const kinds: [string, fc.Arbitrary<Drop>][] = [
  ...Object.entries(causes).map(([name, cause]): [string, fc.Arbitrary<Drop>] => [name, drop(cause)]),
  ['several flows', joined],
];

test.each(kinds)(
  'any Event is short and plain, begins with the words of alert rules, and advises no command that its readers may not run: %s',
  (_, given) => {
    forAll([given], { numRuns: 250 }, (one) => {
      const { direction } = exampleOf(one);
      const { message } = written(one);
      expect(
        message.startsWith(
          `Packet dropped when ${direction === 'sending' ? 'sending traffic to ' : 'receiving traffic from '}`,
        ),
      ).toBe(true);
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(600);
      expect(message.replaceAll('…', '')).not.toMatch(blemishes);
      expect(message).not.toMatch(placeholders);
      expect(foreignCommands(message)).toEqual([]);
    });
  },
);

const action =
  /\b(?:[Aa]llow|[Aa]sk|[Cc]heck|[Cc]hange|[Cc]ompare|[Ff]ind|[Ff]ix|[Ll]ook|[Rr]aise|[Rr]estart|[Rr]euse|[Ss]end|See|Wait|add|enable|exempt|give|needs|set|turn on)\b|\bOn (?:node-a|the node): |\b(?:Cluster|Node) admins[:,]|\bOwners of namespace /;

test.each(Object.entries(causes))('any Event whose packet has a known cause says what to do: %s', (name, cause) => {
  forAll([drop(cause)], { numRuns: 250 }, (one) => {
    const { prefix } = exampleOf(one);
    // If only the drop itself is known, there is no advice.
    const { advice } = written(one);
    if (name !== 'unknown' || prefix !== '') expect(advice).toMatch(action);
  });
});
