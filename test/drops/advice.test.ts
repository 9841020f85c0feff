import { expect, test } from 'vitest';
import { adviseOn } from '../../src/drops/advice.ts';
import { kernelReasons, reasons } from '../../src/drops/reasons.ts';
import type { FlowDetails } from '../../src/model/finding.ts';
import type { PolicyName } from '../../src/model/packet.ts';
import { externalEnd, flow, nodeEnd, podEnd, podRef, serviceEnd, workerEnd } from '../builders.ts';
import { expectLines } from '../expected-file.ts';

const own = { namespace: 'shop', node: nodeEnd().object?.name ?? '' };
const advice = (given: Partial<FlowDetails>): string => adviseOn(flow(given), own);

const reporter = externalEnd({ address: '198.51.100.1' });
const tooBig = { reporter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 };
const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns' });
const denied = { enforcer: 'network-policy' } as const;
const shown = { ...denied, refusedBy: 'receiver' } as const;
const martian = { martian: true, path: 'eth1', prefix: 'martian source' };

type Case = readonly [name: string, Partial<FlowDetails>];

/** Drops by a policy without a name. */
const policyCases: readonly Case[] = [
  ['receiver known', { refusedBy: 'receiver', peer: workerEnd(1) }],
  ['sender known', { refusedBy: 'sender', peer: workerEnd(1) }],
  ['sent and refused here', { direction: 'sending', refusedBy: 'sender', peer: workerEnd(1) }],
  ['sent and refused there', { direction: 'sending', refusedBy: 'receiver', peer: workerEnd(1) }],
  ['either side', { peer: workerEnd(1) }],
  ['either side, of one namespace', { peer: podEnd({ object: podRef('db-0') }) }],
  ['a stranger', { direction: 'sending' }],
];

const cases: readonly Case[] = [
  ['path MTU', { error: tooBig }],
  ['path MTU, IPv6, size unknown', { error: { ...tooBig, protocol: 'ICMPv6', type: 2, code: 0, mtu: undefined } }],
  ['ICMP error', { error: { ...tooBig, code: 3 } }],
  ['the smallest path MTU that is believed', { error: { ...tooBig, mtu: 576 } }],
  ['a path MTU of an old router, which does not tell it', { error: { ...tooBig, mtu: 0 } }],
  ...(
    [
      ['ICMP', 3, 4, 575],
      ['ICMP', 3, 4, 68],
      ['ICMP', 3, 4, 65_536],
      ['ICMPv6', 2, 0, 1279],
      ['ICMPv6', 2, 0, 0],
    ] as const
  ).map(([protocol, type, code, mtu]): Case => [
    `an ${protocol} path MTU of ${mtu}`,
    { error: { reporter, protocol, type, code, mtu } },
  ]),
  ...(
    [
      ['a path MTU that its target reports', tooBig, 'batch/worker-1'],
      ['an error about packets to somebody else', { ...tooBig, code: 3 }, '203.0.113.9'],
    ] as const
  ).map(([name, error, to]): Case => [
    `a Pod: ${name}`,
    { error: { ...error, reporter: workerEnd(1) }, peer: to === '203.0.113.9' ? externalEnd() : workerEnd(1) },
  ]),
  [
    'a Pod that forges the address of the target',
    { error: { ...tooBig, code: 3, reporter: { ...workerEnd(1, '203.0.113.9'), note: 'not its own address' } } },
  ],
  [
    'a Pod that was spoken to says that nothing listens',
    { error: { ...tooBig, code: 3, reporter: workerEnd(1) }, peer: workerEnd(1) },
  ],
  ['martian source', martian],
  // It has nothing to do with the reverse-path filter.
  ['martian destination', { ...martian, prefix: 'martian destination' }],
  // The receiver of a spoofed packet did not send it.
  ['martian source of a Pod', { ...martian, peer: podEnd({ object: podRef('db-0') }) }],
  [
    'martian source of a Pod that spoofs',
    { ...martian, peer: podEnd({ object: podRef('db-0'), note: 'not its own address' }) },
  ],
  // A Pod that sends from its own address spoofs nothing.
  ['martian source, to a Pod', { ...martian, direction: 'sending', peer: podEnd({ object: podRef('db-0') }) }],
  // sysctl would take a dot in the name of a VLAN's interface for a step in the path.
  ['martian source on a VLAN', { martian: true, path: 'eth1.100', prefix: 'martian source' }],
  // A container names its devices as it likes, and what it names is to be pasted.
  ...['a;reboot', '$(reboot)', '../all', '`id`', 'all', 'default', 'cali0da23704f98', 'eni0da23704f98'].map(
    (path): Case => [`martian source on ${path}`, { martian: true, path, prefix: 'martian source' }],
  ),
  [
    'a Pod that uses an address of another',
    { martian: true, path: 'cali1', prefix: 'martian source', direction: 'sending', ownAddressIsForeign: true },
  ],
  ['a ClusterNetworkPolicy of AWS, of the receiver', { ...denied, clusterTier: 'Admin', refusedBy: 'receiver' }],
  [
    'a ClusterNetworkPolicy of AWS, of the peer',
    { ...denied, clusterTier: 'Baseline', refusedBy: 'sender', peer: workerEnd(1) },
  ],
  ['a ClusterNetworkPolicy of AWS, without a direction', { ...denied, clusterTier: 'Admin', peer: workerEnd(1) }],
  ['ufw', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]' }],
  [
    'ufw, to the node itself',
    { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', direction: 'sending', path: 'cali1 → this node' },
  ],
  [
    'ufw, from the node itself',
    { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: nodeEnd(), path: 'this node → cali1' },
  ],
  ['ufw, in front of probes', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: nodeEnd() }],
  [
    'another firewall',
    {
      enforcer: 'host-firewall',
      policy: { kind: 'Shorewall chain', namespace: undefined, name: 'net2fw', tier: undefined },
    },
  ],
  ['another firewall, in front of probes', { enforcer: 'host-firewall', peer: nodeEnd() }],
  ['answer', { reply: true, ...denied }],
  ['DNS', { direction: 'sending', peer: dns, port: 53, protocol: 'UDP', ...denied }],
  [
    'metadata service',
    { direction: 'sending', peer: externalEnd({ address: '169.254.169.254', role: 'metadata' }), port: 80 },
  ],
  ['API server by its Service', { direction: 'sending', peer: serviceEnd({ role: 'api-server' }), port: 443 }],
  ['from the API server, which calls a webhook', { peer: serviceEnd({ role: 'api-server' }), port: 9443 }],
  ['API server by its node', { direction: 'sending', peer: nodeEnd(), port: 6443 }],
  ['probe', { peer: nodeEnd() }],
  ['DNS, by Cilium', { direction: 'sending', peer: dns, port: 53, protocol: 'UDP', ...denied, logger: 'hubble' }],
  ['API server by its node, by Cilium', { direction: 'sending', peer: nodeEnd(), port: 6443, logger: 'hubble' }],
  ['probe, by Cilium', { peer: nodeEnd(), logger: 'hubble' }],
  ...policyCases.map(([name, given]): Case => [`policy, ${name}`, { ...denied, ...given }]),
  ['policy of Cilium', { ...shown, logger: 'hubble' }],
  // The rule behind the LOG rule is not known, so the advice is what to check.
  ...policyCases.map(([name, given]): Case => [
    `policy by its prefix alone, ${name}`,
    { ...denied, prefix: 'calico-drop:', ...given },
  ]),
  ['policy, its name', { ...shown, policy: { kind: undefined, namespace: 'shop', name: 'postgres', tier: undefined } }],
  [
    'policy of Calico, its name',
    { ...shown, policy: { kind: 'StagedNetworkPolicy', namespace: 'shop', name: 'postgres', tier: undefined } },
  ],
  ['an unknown rule', {}],
  ['a policy that rejects: its own words say it', { ...denied, verdict: 'rejected' }],
  ['rules of a stranger', { ...denied, refusedBy: 'sender' }],
  ['receiving from DNS', { peer: dns, port: 53 }],
  ['a rule that does not log', { ...denied, logger: 'kernel-drop' }],
  ['DNS, by a rule that does not log', { direction: 'sending', peer: dns, port: 53, ...denied, logger: 'kernel-drop' }],
  ...[...reasons.keys(), 'reason 231', ...kernelReasons.keys()].map((dropReason): Case => [
    `no rule, ${dropReason}`,
    { dropReason },
  ]),
  ['no rule, PKT_TOO_BIG for a link whose MTU is known', { dropReason: 'PKT_TOO_BIG', nextMtu: 1450 }],
  ['another port of a node', { direction: 'sending', peer: nodeEnd(), port: 10250 }],
];

test('what is advised in each case is in advice.expected.txt', async () => {
  const lines = cases.map(([name, given]) => `${name}: ${advice(given) || '(nothing)'}`);
  await expectLines(import.meta.dirname, 'advice.expected.txt', lines);
});

const policyNamed = (name: string, kind?: string, namespace?: string): PolicyName => {
  return { kind, namespace, name, tier: undefined };
};

test.each<[PolicyName, string]>([
  [policyNamed('deny', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  [policyNamed('deny', undefined, 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  // The log prefix was too short for all of the name.
  [policyNamed('den…', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy'],
  [policyNamed('deny', 'GlobalNetworkPolicy'), 'calicoctl get globalnetworkpolicy deny -o yaml'],
  [policyNamed('deny', 'NetworkPolicy.projectcalico.org', 'shop'), 'calicoctl get networkpolicy deny -n shop -o yaml'],
  [policyNamed('deny', 'ClusterNetworkPolicy'), 'kubectl get clusternetworkpolicy deny -o yaml'],
  [
    policyNamed('deny', 'AntreaNetworkPolicy', 'shop'),
    'kubectl -n shop get networkpolicies.crd.antrea.io deny -o yaml',
  ],
  [policyNamed('deny', 'AntreaClusterNetworkPolicy'), 'kubectl get clusternetworkpolicies.crd.antrea.io deny -o yaml'],
  // Logs are written by strangers, and commands are pasted.
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

const admits = { outcome: 'admits', text: 'Policies admit this.', policy: undefined } as const;
const ofAws = { ...denied, logger: 'aws-network-policy-agent', refusedBy: 'sender' } as const;

test.each<[string, Partial<FlowDetails>]>([
  ['a Pod', {}],
  ['the cluster DNS', { direction: 'sending', peer: dns, port: 53 }],
  ['the API server', { direction: 'sending', peer: serviceEnd({ role: 'api-server' }) }],
])('where policies admit egress to %s that the agent of AWS calls denied, its known fault is named', (_, given) => {
  expect(adviseOn(flow({ ...ofAws, ...given }), own, admits)).toMatch(/Policies admit this\. .*#582\.$/);
});

test.each<[string, Partial<FlowDetails>, 'admits' | 'denies']>([
  ['ingress', { ...ofAws, refusedBy: 'receiver' }, 'admits'],
  ['egress that policies deny', ofAws, 'denies'],
  ['another logger', { ...ofAws, logger: 'netfilter' }, 'admits'],
])('the fault of the agent of AWS is not named for %s', (_, given, outcome) => {
  expect(adviseOn(flow(given), own, { ...admits, outcome })).toBe('Policies admit this.');
});
