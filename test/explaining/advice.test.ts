import { describe, expect, test } from 'vitest';
import { adviseOn } from '../../src/explaining/advice.ts';
import type { FlowStory } from '../../src/model.ts';
import { externalEnd, flow, nodeEnd, podEnd, podRef, serviceEnd, workerEnd } from '../builders.ts';

const own = { namespace: 'shop' };
const advice = (given: Partial<FlowStory>): string => adviseOn(flow(given), own);

const reporter = externalEnd({ address: '198.51.100.1' });
const tooBig = { reporter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 };
const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns' });
const denied = { enforcer: 'network-policy' } as const;

test.each<[string, Partial<FlowStory>, string]>([
  [
    'path MTU',
    { error: tooBig },
    'Path-MTU discovery is broken: small packets arrive, large ones to 203.0.113.9 vanish and connections hang. Allow ICMP type 3 code 4 to Pods, or lower the MTU of Pods to 1400.',
  ],
  [
    'path MTU, IPv6, size unknown',
    { error: { ...tooBig, protocol: 'ICMPv6', type: 2, code: 0, mtu: undefined } },
    'Allow ICMPv6 type 2 to Pods, or lower the MTU of Pods.',
  ],
  [
    'ICMP error',
    { error: { ...tooBig, code: 3 } },
    'Without this answer the Pod waits for a time-out instead of failing at once.',
  ],
  ['martian source', { martian: true, path: 'eth1', prefix: 'martian source' }, 'set net.ipv4.conf.eth1.rp_filter=2.'],
  // sysctl takes the dot in the name of a VLAN's interface for a step in the path.
  [
    'martian source on a VLAN',
    { martian: true, path: 'eth1.100', prefix: 'martian source' },
    'net/ipv4/conf/eth1.100/rp_filter=2',
  ],
  [
    'firewalld',
    {
      enforcer: 'host-firewall',
      policy: { kind: 'firewalld zone', namespace: undefined, name: 'public', tier: undefined },
    },
    "The host's own firewall did this, not a NetworkPolicy. After a firewalld or ufw reload its rules stand before",
  ],
  ['ufw', { enforcer: 'host-firewall' }, 'After a firewalld or ufw reload'],
  [
    'another firewall',
    {
      enforcer: 'host-firewall',
      policy: { kind: 'Shorewall chain', namespace: undefined, name: 'net2fw', tier: undefined },
    },
    "The host's own firewall did this, not a NetworkPolicy. Let it accept",
  ],
  ['answer', { reply: true, ...denied }, 'The request got through and its answer did not'],
  [
    'DNS',
    { direction: 'sending', peer: dns, port: 53, protocol: 'UDP', ...denied },
    'This Pod cannot look up names. Allow egress to the cluster DNS on port 53, UDP and TCP: kubectl -n shop get networkpolicy',
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
    'No ingress rule for this Pod allows it: kubectl -n shop get networkpolicy',
  ],
  [
    'policy, sender known',
    { ...denied, refusedBy: 'sender', peer: workerEnd(1) },
    'The egress rules for batch/worker-1 refused it: kubectl -n batch get networkpolicy',
  ],
  [
    'policy, sent and refused here',
    { ...denied, direction: 'sending', refusedBy: 'sender', peer: workerEnd(1) },
    'No egress rule for this Pod allows it: kubectl -n shop get networkpolicy',
  ],
  [
    'policy, sent and refused there',
    { ...denied, direction: 'sending', refusedBy: 'receiver', peer: workerEnd(1) },
    'The ingress rules for batch/worker-1 refused it: kubectl -n batch get networkpolicy',
  ],
  [
    'policy, either side',
    { ...denied, peer: workerEnd(1) },
    'the ingress rules for this Pod (kubectl -n shop get networkpolicy) and the egress rules of its peer (kubectl -n batch get networkpolicy)',
  ],
  ['policy, a stranger', { ...denied, direction: 'sending' }, 'No egress rule for this Pod allows it'],
])('%s', (_, given, expected) => {
  expect(advice(given)).toContain(expected);
});

test.each<[string, Partial<FlowStory>]>([
  ['an unknown rule', {}],
  ['a policy that rejects: its own words say it', { ...denied, verdict: 'rejected' }],
  ['rules of a stranger', { ...denied, refusedBy: 'sender' }],
  ['receiving from DNS', { peer: dns, port: 53 }],
  ['another port of a node', { direction: 'sending', peer: nodeEnd(), port: 10250 }],
])('nothing is said of %s', (_, given) => {
  expect(advice(given)).toBe('');
});

describe('what would lead astray is not said', () => {
  test('a martian destination has nothing to do with the reverse-path filter', () => {
    expect(advice({ martian: true, path: 'eth1', prefix: 'martian destination' })).not.toContain('rp_filter');
  });

  test('`get networkpolicy` does not list a policy of another kind', () => {
    const policy = { kind: 'GlobalNetworkPolicy', namespace: undefined, name: 'deny-all', tier: undefined };
    expect(advice({ ...denied, refusedBy: 'receiver', policy })).not.toMatch(/get networkpolicy\b/);
  });
});
