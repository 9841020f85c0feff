import { describe, expect, test } from 'vitest';
import { adviseOn } from '../../src/drops/advice.ts';
import type { FlowDetails } from '../../src/model/finding.ts';
import type { PolicyName } from '../../src/model/packet.ts';
import { externalEnd, flow, nodeEnd, podEnd, podRef, serviceEnd, workerEnd } from '../builders.ts';

const own = { namespace: 'shop', node: nodeEnd().object?.name ?? '' };
const advice = (given: Partial<FlowDetails>): string => adviseOn(flow(given), own);

const reporter = externalEnd({ address: '198.51.100.1' });
const tooBig = { reporter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 };
const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns' });
const denied = { enforcer: 'network-policy' } as const;

test.each<[string, Partial<FlowDetails>, string]>([
  [
    'path MTU',
    { error: tooBig },
    'If that is true, path-MTU discovery is broken: small packets arrive, large ones to 203.0.113.9 vanish and connections hang. Allow ICMP type 3 code 4 to Pods, or lower the MTU of Pods to 1400.',
  ],
  [
    'path MTU, IPv6, size unknown',
    { error: { ...tooBig, protocol: 'ICMPv6', type: 2, code: 0, mtu: undefined } },
    'Allow ICMPv6 type 2 to Pods, or lower the MTU of Pods.',
  ],
  [
    'ICMP error',
    { error: { ...tooBig, code: 3 } },
    'If that is true, the Pod waits for a time-out instead of failing at once. Allow ICMP errors (conntrack state RELATED) to Pods.',
  ],
  ['the smallest path MTU that is believed', { error: { ...tooBig, mtu: 576 } }, 'or lower the MTU of Pods to 576.'],
  [
    'a path MTU of an old router, which does not tell it',
    { error: { ...tooBig, mtu: 0 } },
    'or lower the MTU of Pods.',
  ],
  ...(
    [
      ['ICMP', 3, 4, 575],
      ['ICMP', 3, 4, 68],
      ['ICMP', 3, 4, 65_536],
      ['ICMPv6', 2, 0, 1279],
      ['ICMPv6', 2, 0, 0],
    ] as const
  ).map(([protocol, type, code, mtu]): [string, Partial<FlowDetails>, string] => [
    `an ${protocol} path MTU of ${mtu}`,
    { error: { reporter, protocol, type, code, mtu } },
    `No link is likely to take at most ${mtu} bytes, so the error is probably forged: change no MTU for it, and look for who sends it.`,
  ]),
  ...(
    [
      ['a path MTU that its target reports', tooBig, 'batch/worker-1'],
      ['an error about packets to somebody else', { ...tooBig, code: 3 }, '203.0.113.9'],
    ] as const
  ).map(([name, error, to]): [string, Partial<FlowDetails>, string] => [
    `a Pod: ${name}`,
    { error: { ...error, reporter: workerEnd(1) }, peer: to === '203.0.113.9' ? externalEnd() : workerEnd(1) },
    'Only a router can know that, and batch/worker-1 is a Pod: unless it routes for others, the error is forged. Look at what it runs, and change nothing before.',
  ]),
  [
    'a Pod that forges the address of the target',
    { error: { ...tooBig, code: 3, reporter: { ...workerEnd(1, '203.0.113.9'), note: 'not its own address' } } },
    'Only a router can know that, and batch/worker-1 is a Pod',
  ],
  [
    'a Pod that was spoken to says that nothing listens',
    { error: { ...tooBig, code: 3, reporter: workerEnd(1) }, peer: workerEnd(1) },
    'Allow ICMP errors (conntrack state RELATED) to Pods.',
  ],
  [
    'martian source',
    { martian: true, path: 'eth1', prefix: 'martian source' },
    "The kernel's reverse-path filter refused it: by its routes that source cannot be behind eth1. Fix the route back",
  ],
  // With dots sysctl would take the one in the name of a VLAN's interface for a step in the path.
  [
    'martian source on a VLAN',
    { martian: true, path: 'eth1.100', prefix: 'martian source' },
    'net/ipv4/conf/eth1.100/rp_filter to 2',
  ],
  // A container names its devices as it likes, and what it names is to be pasted.
  ...['a;reboot', '$(reboot)', '../all', '`id`', 'all', 'default', 'cali0da23704f98', 'eni0da23704f98'].map(
    (path): [string, Partial<FlowDetails>, string] => [
      `martian source on ${path}`,
      { martian: true, path, prefix: 'martian source' },
      "The kernel's reverse-path filter refused it: by its routes that source cannot be behind that device. Fix the route back.",
    ],
  ),
  [
    'a Pod that uses an address of another',
    { martian: true, path: 'cali1', prefix: 'martian source', direction: 'sending', ownAddressIsForeign: true },
    'a Pod may send from its own addresses only. Look at what this Pod runs.',
  ],
  ['ufw', { enforcer: 'host-firewall', prefix: '[UFW BLOCK]' }, 'ufw default allow routed'],
  [
    'ufw, to the node itself',
    { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', direction: 'sending', path: 'cali1 → this node' },
    'Let it accept what Pods send to the node (ufw allow from POD_RANGE), or turn it off on nodes.',
  ],
  [
    'ufw, from the node itself',
    { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: nodeEnd(), path: 'this node → cali1' },
    'Let it pass what the node sends to Pods (ufw allow out to POD_RANGE), or turn it off on nodes.',
  ],
  [
    'ufw, in front of probes',
    { enforcer: 'host-firewall', prefix: '[UFW BLOCK]', peer: nodeEnd() },
    "From the Pod's own node these are probably the kubelet's probes",
  ],
  [
    'another firewall',
    {
      enforcer: 'host-firewall',
      policy: { kind: 'Shorewall chain', namespace: undefined, name: 'net2fw', tier: undefined },
    },
    "The host's own firewall did this, not a NetworkPolicy; often since a reload",
  ],
  [
    'another firewall, in front of probes',
    { enforcer: 'host-firewall', peer: nodeEnd() },
    "From the Pod's own node these are probably the kubelet's probes",
  ],
  ['answer', { reply: true, ...denied }, 'The request got through and its answer did not'],
  [
    'DNS',
    { direction: 'sending', peer: dns, port: 53, protocol: 'UDP', ...denied },
    'This Pod cannot look up names. Allow egress to the cluster DNS on port 53, UDP and TCP: kubectl -n shop describe networkpolicy',
  ],
  [
    'metadata service',
    { direction: 'sending', peer: externalEnd({ address: '169.254.169.254', role: 'metadata' }), port: 80 },
    'the metadata service on purpose',
  ],
  [
    'API server by its Service',
    { direction: 'sending', peer: serviceEnd({ role: 'api-server' }), port: 443 },
    'This Pod cannot reach the Kubernetes API.',
  ],
  [
    'API server by its node',
    { direction: 'sending', peer: nodeEnd(), port: 6443 },
    'This Pod cannot reach the Kubernetes API.',
  ],
  ['probe', { peer: nodeEnd() }, "Traffic from nodes carries the kubelet's probes"],
  [
    'policy, receiver known',
    { ...denied, refusedBy: 'receiver', peer: workerEnd(1) },
    'No ingress rule for this Pod allows it: kubectl -n shop describe networkpolicy',
  ],
  [
    'policy, sender known',
    { ...denied, refusedBy: 'sender', peer: workerEnd(1) },
    'The egress rules for batch/worker-1 refused it: kubectl -n batch describe networkpolicy',
  ],
  [
    'policy, sent and refused here',
    { ...denied, direction: 'sending', refusedBy: 'sender', peer: workerEnd(1) },
    'No egress rule for this Pod allows it: kubectl -n shop describe networkpolicy',
  ],
  [
    'policy, sent and refused there',
    { ...denied, direction: 'sending', refusedBy: 'receiver', peer: workerEnd(1) },
    'The ingress rules for batch/worker-1 refused it: kubectl -n batch describe networkpolicy',
  ],
  [
    'policy, either side',
    { ...denied, peer: workerEnd(1) },
    'the ingress rules for this Pod (kubectl -n shop describe networkpolicy) and the egress rules of its peer (kubectl -n batch describe networkpolicy)',
  ],
  ['policy, a stranger', { ...denied, direction: 'sending' }, 'No egress rule for this Pod allows it'],
])('%s', (_, given, expected) => {
  expect(advice(given)).toContain(expected);
});

test.each<[string, Partial<FlowDetails>]>([
  ['an unknown rule', {}],
  ['a policy that rejects: its own words say it', { ...denied, verdict: 'rejected' }],
  ['rules of a stranger', { ...denied, refusedBy: 'sender' }],
  ['receiving from DNS', { peer: dns, port: 53 }],
  ['another port of a node', { direction: 'sending', peer: nodeEnd(), port: 10250 }],
])('no advice on %s', (_, given) => {
  expect(advice(given)).toBe('');
});

test.each<[PolicyName, string]>([
  [
    { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined },
    'kubectl -n shop describe networkpolicy deny',
  ],
  [
    { kind: undefined, namespace: 'shop', name: 'deny', tier: undefined },
    'kubectl -n shop describe networkpolicy deny',
  ],
  // The log prefix was too short for all of the name.
  [
    { kind: 'NetworkPolicy', namespace: 'shop', name: 'den…', tier: undefined },
    'kubectl -n shop describe networkpolicy',
  ],
  [
    { kind: 'GlobalNetworkPolicy', namespace: undefined, name: 'deny', tier: undefined },
    'calicoctl get globalnetworkpolicy deny -o yaml',
  ],
  [
    { kind: 'NetworkPolicy.projectcalico.org', namespace: 'shop', name: 'deny', tier: undefined },
    'calicoctl get networkpolicy deny -n shop -o yaml',
  ],
  [
    { kind: 'ClusterNetworkPolicy', namespace: undefined, name: 'deny', tier: undefined },
    'kubectl get clusternetworkpolicy deny -o yaml',
  ],
  [
    { kind: 'AntreaNetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined },
    'kubectl -n shop get networkpolicies.crd.antrea.io deny -o yaml',
  ],
  [
    { kind: 'AntreaClusterNetworkPolicy', namespace: undefined, name: 'deny', tier: undefined },
    'kubectl get clusternetworkpolicies.crd.antrea.io deny -o yaml',
  ],
  // Logs are written by strangers, and commands are pasted.
  [
    { kind: 'NetworkPolicy', namespace: 'shop', name: '$(reboot)', tier: undefined },
    'kubectl -n shop describe networkpolicy',
  ],
])('a policy with a name is shown: %j', (policy, command) => {
  expect(advice({ ...denied, refusedBy: 'receiver', policy })).toBe(`If it should pass: ${command}`);
});

test.each<PolicyName>([
  { kind: 'NetworkPolicy', namespace: ';reboot;', name: 'deny', tier: undefined },
  { kind: undefined, namespace: undefined, name: 'np/web.shop/ingress', tier: undefined },
  { kind: '$(reboot)', namespace: 'shop', name: 'deny', tier: undefined },
])('a policy that cannot be asked for is not shown: %j', (policy) => {
  expect(advice({ ...denied, refusedBy: 'receiver', policy })).toBe(
    'No ingress rule for this Pod allows it: kubectl -n shop describe networkpolicy',
  );
});

describe('advice that would mislead is not given', () => {
  const martian = { martian: true, path: 'eth1', prefix: 'martian source' };

  test('a martian destination has nothing to do with the reverse-path filter', () => {
    expect(advice({ ...martian, prefix: 'martian destination' })).not.toMatch(/reverse-path|rp_filter/);
  });

  test('who receives a spoofed packet did not send it', () => {
    expect(advice({ ...martian, peer: podEnd({ object: podRef('db-0') }) })).not.toContain('what this Pod runs');
  });

  test('a Pod that sends from its own address to another spoofs nothing', () => {
    expect(advice({ ...martian, direction: 'sending', peer: podEnd({ object: podRef('db-0') }) })).toContain(
      'Fix the route back',
    );
  });
});
