import { expect, test } from 'vitest';
import { adviseOn } from '../../../src/explain/drops/advice.ts';
import { awsReasons, kernelReasons, reasons } from '../../../src/explain/drops/reasons.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { FlowDetails } from '../../../src/base/model/finding.ts';
import type { PolicyName } from '../../../src/base/model/packet.ts';
import { externalEnd, flow, nodeEnd, podEnd, podRef, serviceEnd, workerEnd } from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';

/**
 * Drops that get advice: a title, and the details of the flow. An end is the worker, another Pod by its name, the
 * cluster's DNS, the Node, or an address outside.
 */
const tables: { ofPolicies: Row[]; drops: Row[] } = {
  // Drops by a policy whose name is unknown.
  ofPolicies: [
    ['receiver known', { refusedBy: 'receiver', peer: 'worker' }],
    ['sender known', { refusedBy: 'sender', peer: 'worker' }],
    ['sent and refused here', { direction: 'sending', refusedBy: 'sender', peer: 'worker' }],
    ['sent and refused there', { direction: 'sending', refusedBy: 'receiver', peer: 'worker' }],
    ['either side', { peer: 'worker' }],
    ['either side, of one namespace', { peer: { pod: 'db-0' } }],
    ['a stranger', { direction: 'sending' }],
  ],
  // Other drops.
  drops: [
    ['path MTU', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 1400 } }],
    ['path MTU, IPv6, size unknown', { error: { protocol: 'ICMPv6', type: 2, code: 0, mtu: undefined } }],
    ['ICMP error', { error: { protocol: 'ICMP', type: 3, code: 3, mtu: 1400 } }],
    ['the smallest path MTU that is believed', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 576 } }],
    ['a path MTU of an old router, which does not tell it', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 0 } }],
    ['an ICMP path MTU of 575', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 575 } }],
    ['an ICMP path MTU of 68', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 68 } }],
    ['an ICMP path MTU of 65536', { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 65536 } }],
    ['an ICMPv6 path MTU of 1279', { error: { protocol: 'ICMPv6', type: 2, code: 0, mtu: 1279 } }],
    ['an ICMPv6 path MTU of 0', { error: { protocol: 'ICMPv6', type: 2, code: 0, mtu: 0 } }],
    [
      'a Pod: a path MTU that its target reports',
      { error: { protocol: 'ICMP', type: 3, code: 4, mtu: 1400, reporter: 'worker' }, peer: 'worker' },
    ],
    [
      'a Pod: an error about packets to somebody else',
      { error: { protocol: 'ICMP', type: 3, code: 3, mtu: 1400, reporter: 'worker' }, peer: 'external' },
    ],
    [
      'a Pod that forges the address of the target',
      {
        error: {
          protocol: 'ICMP',
          type: 3,
          code: 3,
          mtu: 1400,
          reporter: { worker: '203.0.113.9', note: 'not its own address' },
        },
      },
    ],
    [
      'a Pod that was spoken to says that nothing listens',
      { error: { protocol: 'ICMP', type: 3, code: 3, mtu: 1400, reporter: 'worker' }, peer: 'worker' },
    ],
    ['martian source', { martian: true, path: 'eth1', prefix: 'martian source' }],
    // This has nothing to do with the reverse-path filter.
    ['martian destination', { martian: true, path: 'eth1', prefix: 'martian destination' }],
    // The receiver of a spoofed packet did not send it.
    ['martian source of a Pod', { martian: true, path: 'eth1', prefix: 'martian source', peer: { pod: 'db-0' } }],
    [
      'martian source of a Pod that spoofs',
      { martian: true, path: 'eth1', prefix: 'martian source', peer: { pod: 'db-0', note: 'not its own address' } },
    ],
    // A Pod that sends from its own address does not spoof.
    [
      'martian source, to a Pod',
      { martian: true, path: 'eth1', prefix: 'martian source', direction: 'sending', peer: { pod: 'db-0' } },
    ],
    // sysctl would take a dot in the name of a VLAN interface for a separator in the path.
    ['martian source on a VLAN', { martian: true, path: 'eth1.100', prefix: 'martian source' }],
    // A container can name its devices freely, and readers paste what Events advise.
    ['martian source on a;reboot', { martian: true, path: 'a;reboot', prefix: 'martian source' }],
    ['martian source on $(reboot)', { martian: true, path: '$(reboot)', prefix: 'martian source' }],
    ['martian source on ../all', { martian: true, path: '../all', prefix: 'martian source' }],
    ['martian source on `id`', { martian: true, path: '`id`', prefix: 'martian source' }],
    ['martian source on all', { martian: true, path: 'all', prefix: 'martian source' }],
    ['martian source on default', { martian: true, path: 'default', prefix: 'martian source' }],
    ['martian source on cali0da23704f98', { martian: true, path: 'cali0da23704f98', prefix: 'martian source' }],
    ['martian source on eni0da23704f98', { martian: true, path: 'eni0da23704f98', prefix: 'martian source' }],
    [
      'a Pod that uses an address of another',
      { martian: true, path: 'cali1', prefix: 'martian source', direction: 'sending', ownAddressIsForeign: true },
    ],
    [
      'a ClusterNetworkPolicy of AWS, of the receiver',
      { enforcer: 'network-policy', clusterTier: 'Admin', refusedBy: 'receiver' },
    ],
    [
      'a ClusterNetworkPolicy of AWS, of the peer',
      { enforcer: 'network-policy', clusterTier: 'Baseline', refusedBy: 'sender', peer: 'worker' },
    ],
    [
      'a ClusterNetworkPolicy of AWS, without a direction',
      { enforcer: 'network-policy', clusterTier: 'Admin', peer: 'worker' },
    ],
    ['ufw', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]' }],
    [
      'ufw, to the node itself',
      { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', direction: 'sending', path: 'cali1 → this node' },
    ],
    [
      'ufw, from the node itself',
      { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: 'node', path: 'this node → cali1' },
    ],
    ['ufw, between Pods', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: 'worker' }],
    ['ufw, to the outside', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', direction: 'sending' }],
    ['ufw, in front of probes', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: 'node' }],
    [
      'another firewall',
      {
        enforcer: 'host-firewall',
        policy: { kind: 'Shorewall chain', namespace: undefined, name: 'net2fw', tier: undefined },
      },
    ],
    ['another firewall, between Pods', { enforcer: 'host-firewall', peer: 'worker' }],
    [
      'another firewall, to the node itself',
      { enforcer: 'host-firewall', direction: 'sending', path: 'cali1 → this node' },
    ],
    ['another firewall, from the node itself', { enforcer: 'host-firewall', peer: 'node', path: 'this node → cali1' }],
    ['another firewall, before routing', { enforcer: 'host-firewall', path: 'eth0 → this node' }],
    [
      'another firewall, before routing between Pods',
      { enforcer: 'host-firewall', direction: 'sending', peer: 'worker', path: 'cali1 → this node' },
    ],
    ['another firewall, after routing', { enforcer: 'host-firewall', direction: 'sending', path: 'this node → eth0' }],
    [
      'another firewall, after routing between Pods',
      { enforcer: 'host-firewall', peer: 'worker', path: 'this node → cali1' },
    ],
    ['another firewall, in front of probes', { enforcer: 'host-firewall', peer: 'node' }],
    ['answer', { reply: true, enforcer: 'network-policy' }],
    ['DNS', { direction: 'sending', peer: 'dns', port: 53, protocol: 'UDP', enforcer: 'network-policy' }],
    [
      'DNS, which refused it',
      { direction: 'sending', peer: 'dns', port: 53, enforcer: 'network-policy', refusedBy: 'receiver' },
    ],
    [
      "the node's cache of DNS, which refused it",
      {
        direction: 'sending',
        peer: { external: { address: '169.254.20.10', role: 'dns' } },
        port: 53,
        enforcer: 'network-policy',
        refusedBy: 'receiver',
      },
    ],
    [
      'the Node of the API server, which refused it',
      { direction: 'sending', peer: 'node', port: 6443, enforcer: 'network-policy', refusedBy: 'receiver' },
    ],
    [
      'metadata service',
      { direction: 'sending', peer: { external: { address: '169.254.169.254', role: 'metadata' } }, port: 80 },
    ],
    ['API server by its Service', { direction: 'sending', peer: { service: { role: 'api-server' } }, port: 443 }],
    ['from the API server, which calls a webhook', { peer: { service: { role: 'api-server' } }, port: 9443 }],
    ['API server by its node', { direction: 'sending', peer: 'node', port: 6443 }],
    ['probe', { peer: 'node' }],
    ['a node that sends UDP is no probe', { peer: 'node', protocol: 'UDP' }],
    [
      'DNS, by Cilium',
      { direction: 'sending', peer: 'dns', port: 53, protocol: 'UDP', enforcer: 'network-policy', logger: 'hubble' },
    ],
    ['API server by its node, by Cilium', { direction: 'sending', peer: 'node', port: 6443, logger: 'hubble' }],
    ['probe, by Cilium', { peer: 'node', logger: 'hubble' }],
    ['policy of Cilium', { enforcer: 'network-policy', refusedBy: 'receiver', logger: 'hubble' }],
    [
      'policy, its name',
      {
        enforcer: 'network-policy',
        refusedBy: 'receiver',
        policy: { kind: undefined, namespace: 'shop', name: 'postgres', tier: undefined },
      },
    ],
    [
      'policy of Calico, its name',
      {
        enforcer: 'network-policy',
        refusedBy: 'receiver',
        policy: { kind: 'StagedNetworkPolicy', namespace: 'shop', name: 'postgres', tier: undefined },
      },
    ],
    ['an unknown rule', {}],
    ['a rule whose prefix says only that it drops', { enforcer: 'unknown', prefix: 'DROP' }],
    ['a policy that rejects', { enforcer: 'network-policy', verdict: 'rejected' }],
    ['rules of a stranger', { enforcer: 'network-policy', refusedBy: 'sender' }],
    ['receiving from DNS', { peer: 'dns', port: 53 }],
    ['a rule that does not log', { enforcer: 'network-policy', logger: 'kernel-drop' }],
    [
      'DNS, by a rule that does not log',
      { direction: 'sending', peer: 'dns', port: 53, enforcer: 'network-policy', logger: 'kernel-drop' },
    ],
    [
      'no rule, SERVICE_BACKEND_NOT_FOUND for a Service of another Namespace',
      {
        direction: 'sending',
        dropReason: 'SERVICE_BACKEND_NOT_FOUND',
        peer: {
          service: {
            object: {
              apiVersion: 'v1',
              kind: 'Service',
              namespace: 'lab',
              name: 'api',
              uid: 'uid-of-api',
              resourceVersion: '5',
            },
          },
        },
      },
    ],
    [
      "no rule, L7 for another Namespace's Service",
      {
        direction: 'sending',
        dropReason: 'L7',
        peer: {
          service: {
            object: {
              apiVersion: 'v1',
              kind: 'Service',
              namespace: 'lab',
              name: 'api',
              uid: 'uid-of-api',
              resourceVersion: '5',
            },
          },
        },
      },
    ],
    ['no rule, PKT_TOO_BIG for a link whose MTU is known', { dropReason: 'PKT_TOO_BIG', nextMtu: 1450 }],
    ['another port of a node', { direction: 'sending', peer: 'node', port: 10250 }],
  ],
};

const own = { namespace: 'shop', node: nodeEnd().object?.name ?? '' };
const advice = (given: Partial<FlowDetails>): string => adviseOn(flow(given), own);

const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns' });
const denied = { enforcer: 'network-policy' } as const;
const shown = { ...denied, refusedBy: 'receiver' } as const;

type EndRow =
  | 'dns'
  | 'node'
  | 'external'
  | 'worker'
  | { external: Partial<Endpoint> }
  | { service: Partial<Endpoint> }
  | { worker: string; note: string }
  | { pod: string; note?: string };
type ErrorRow = Omit<NonNullable<FlowDetails['error']>, 'reporter'> & { reporter?: EndRow };
type Row = [name: string, Omit<Partial<FlowDetails>, 'peer' | 'error'> & { peer?: EndRow; error?: ErrorRow }];
type Case = readonly [name: string, Partial<FlowDetails>];

function endOf(given: EndRow): Endpoint {
  if (typeof given === 'string') return { dns, node: nodeEnd(), external: externalEnd(), worker: workerEnd(1) }[given];
  if ('external' in given) return externalEnd(given.external);
  if ('service' in given) return serviceEnd(given.service);
  if ('worker' in given) return { ...workerEnd(1, given.worker), note: given.note };
  return podEnd({ ...given, object: podRef(given.pod) });
}

/** A router reports an error, unless a row names another sender. */
function caseOf([name, { peer, error, ...given }]: Row): Case {
  const ofPeer = peer === undefined ? {} : { peer: endOf(peer) };
  const reporter = endOf(error?.reporter ?? { external: { address: '198.51.100.1' } });
  return [name, { ...given, ...ofPeer, ...(error === undefined ? {} : { error: { ...error, reporter } }) }];
}

/** The rule after a LOG rule is unknown. So if a policy is known only by its prefix, the advice is what to check. */
const cases: readonly Case[] = [
  ...tables.drops.map(caseOf),
  ...tables.ofPolicies.map(caseOf).flatMap(([name, given]): Case[] => [
    [`policy, ${name}`, { ...denied, ...given }],
    [`policy by its prefix alone, ${name}`, { ...denied, prefix: 'calico-drop:', ...given }],
  ]),
  ...[...reasons.keys(), 'reason 231', ...kernelReasons.keys(), ...awsReasons.keys()].map((dropReason): Case => [
    `no rule, ${dropReason}`,
    { dropReason },
  ]),
];

test('each case has the expected advice', async () => {
  const lines = cases.map(([name, given]) => `${name}: ${advice(given) || '(nothing)'}`);
  await expectLines(import.meta.dirname, 'advice.expected.txt', lines);
});

const policyNamed = (name: string, kind?: string, namespace?: string): PolicyName => {
  return { kind, namespace, name, tier: undefined };
};

test.each<[PolicyName, string]>([
  [policyNamed('deny', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  [policyNamed('deny', undefined, 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  // The log prefix was too short for the whole name.
  [policyNamed('den…', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy'],
  [policyNamed('deny', 'GlobalNetworkPolicy'), 'calicoctl get globalnetworkpolicy deny -o yaml'],
  [policyNamed('deny', 'NetworkPolicy.projectcalico.org', 'shop'), 'calicoctl get networkpolicy deny -n shop -o yaml'],
  [policyNamed('deny', 'ClusterNetworkPolicy'), 'kubectl get clusternetworkpolicy deny -o yaml'],
  [
    policyNamed('deny', 'AntreaNetworkPolicy', 'shop'),
    'kubectl -n shop get networkpolicies.crd.antrea.io deny -o yaml',
  ],
  [policyNamed('deny', 'AntreaClusterNetworkPolicy'), 'kubectl get clusternetworkpolicies.crd.antrea.io deny -o yaml'],
  // Strangers write logs, and readers paste commands.
  [policyNamed('$(reboot)', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy'],
])('a policy with a name is shown: %j', (policy, command) => {
  const commands = advice({ ...shown, policy }).split(': ');
  expect(commands.at(-1)).toBe(command);
});

test.each<PolicyName>([
  { kind: 'NetworkPolicy', namespace: ';reboot;', name: 'deny', tier: undefined },
  { kind: undefined, namespace: undefined, name: 'np/web.shop/ingress', tier: undefined },
  { kind: '$(reboot)', namespace: 'shop', name: 'deny', tier: undefined },
])('a policy that cannot be asked for is not shown: %j', (policy) => {
  expect(advice({ ...shown, policy })).toBe(advice(shown));
});

const admits = {
  outcome: 'admits',
  text: 'Policies admit this.',
  act: 'Ask.',
  policy: undefined,
  isOwn: true,
} as const;
const ofAws = { ...denied, logger: 'aws-network-policy-agent', refusedBy: 'sender' } as const;

test.each<[string, Partial<FlowDetails>]>([
  ['a Pod', {}],
  ['the cluster DNS', { direction: 'sending', peer: dns, port: 53 }],
  ['the API server', { direction: 'sending', peer: serviceEnd({ role: 'api-server' }) }],
])('if policies admit egress to %s that the agent of AWS reports as denied, its known fault is named', (_, given) => {
  expect(adviseOn(flow({ ...ofAws, ...given }), own, admits)).toMatch(/Policies admit this\. .*#582\.$/);
});

test.each<[string, Partial<FlowDetails>, 'admits' | 'denies']>([
  ['ingress', { ...ofAws, refusedBy: 'receiver' }, 'admits'],
  ['egress that policies deny', ofAws, 'denies'],
  ['another logger', { ...ofAws, logger: 'netfilter' }, 'admits'],
])('the fault of the agent of AWS is not named for %s', (_, given, outcome) => {
  expect(adviseOn(flow(given), own, { ...admits, outcome })).toBe('Policies admit this. Ask.');
});
