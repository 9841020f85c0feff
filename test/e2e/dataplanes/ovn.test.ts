import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { networkPolicy } from '../../explain/policies/objects.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createNamespaceGroup, type NamespaceGroup } from '../network/namespaces.ts';
import { run } from '../network/command.ts';
import type { Probe } from '../network/prober.ts';
import { sendEchoRequests, sendPackets } from '../network/sending.ts';
import { outcomeOf } from '../outcome.ts';
import { createOwnFolder } from '../own-folder.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import { type Ovn, startOvn } from './ovn.ts';
import { type Reading, startReading } from './reading.ts';

/**
 * A real OVN drops real packets by ACLs with the names that OVN-Kubernetes and Kube-OVN give theirs, and an agent reads
 * what its ovn-controller prints about them. The controllers of both projects run in on-request/, which needs built
 * checkouts.
 */

const controlPlane = connect(inject('controlPlane'));
const node = 'ovn-node';
const namespace = 'ovn-shop';
const outside = '203.0.113.9';

interface Case {
  readonly title: string;
  /** The name of the ACL. */
  readonly acl: string;
  readonly direction: 'to-lport' | 'from-lport';
  readonly verdict: 'drop' | 'reject';
  /** The Pod to whose port the ACL belongs. `web` sends to it, or it sends to an address outside. */
  readonly of: string;
  readonly protocol: Probe['protocol'] | 'icmp';
  readonly family: 0 | 1;
  /** What the Events say about the packet. */
  readonly packet: string;
  /** What the Event on the Pod says about the policy. */
  readonly policy: string;
  /** The policy in the row of the audit. */
  readonly decidedBy: string;
}

const port = 5432;

const cases: readonly Case[] = [
  {
    title: 'OVN-Kubernetes, no NetworkPolicy of the receiver admits it',
    acl: `NP:${namespace}:Ingress`,
    direction: 'to-lport',
    verdict: 'drop',
    of: 'db',
    protocol: 'tcp',
    family: 0,
    packet: 'on port 5432/TCP',
    policy: `${namespace}/only-frontend: ingress[0] allows only Pods app=frontend in ${namespace}. To allow Pods app=web`,
    decidedBy: `NetworkPolicy ${namespace}/only-frontend`,
  },
  {
    title: 'OVN-Kubernetes, no NetworkPolicy of the sender admits it',
    acl: `NP:${namespace}:Egress`,
    direction: 'from-lport',
    verdict: 'drop',
    of: 'locked',
    protocol: 'udp',
    family: 0,
    packet: 'on port 5432/UDP',
    policy: `${namespace}/no-egress`,
    decidedBy: `NetworkPolicy ${namespace}/no-egress`,
  },
  {
    title: 'OVN-Kubernetes, an EgressFirewall',
    acl: `EF:${namespace}:0`,
    direction: 'from-lport',
    verdict: 'drop',
    of: 'fenced',
    protocol: 'tcp',
    family: 0,
    packet: 'on port 5432/TCP',
    policy: `EgressFirewall ${namespace}/default`,
    decidedBy: `EgressFirewall ${namespace}/default`,
  },
  {
    title: 'OVN-Kubernetes, an AdminNetworkPolicy, and ICMP over IPv6',
    acl: 'ANP:lockdown:Ingress:0',
    direction: 'to-lport',
    verdict: 'drop',
    of: 'sealed',
    protocol: 'icmp',
    family: 1,
    packet: 'ICMPv6 echo request',
    policy: 'AdminNetworkPolicy lockdown',
    decidedBy: 'AdminNetworkPolicy lockdown',
  },
  {
    title: 'OVN-Kubernetes, the BaselineAdminNetworkPolicy, and UDP over IPv6',
    acl: 'BANP:default:Ingress:0',
    direction: 'to-lport',
    verdict: 'drop',
    of: 'basic',
    protocol: 'udp',
    family: 1,
    packet: 'on port 5432/UDP',
    policy: 'BaselineAdminNetworkPolicy default',
    decidedBy: 'BaselineAdminNetworkPolicy default',
  },
  {
    title: 'Kube-OVN, a NetworkPolicy that does not admit it, and TCP over IPv6',
    acl: `${namespace}/kube-ovn`,
    direction: 'to-lport',
    verdict: 'drop',
    of: 'kube',
    protocol: 'tcp',
    family: 1,
    packet: 'on port 5432/TCP',
    policy: `Denied by NetworkPolicy ${namespace}/kube-ovn: ingress[0] allows only Pods app=frontend in ${namespace}. To allow Pods app=web`,
    decidedBy: `NetworkPolicy ${namespace}/kube-ovn`,
  },
  {
    title: 'Kube-OVN, an AdminNetworkPolicy that rejects SCTP',
    acl: 'anp/lockdown/ingress/IPv4/3',
    direction: 'to-lport',
    verdict: 'reject',
    of: 'sctp',
    protocol: 'sctp',
    family: 0,
    packet: 'on port 5432/SCTP',
    policy: 'AdminNetworkPolicy lockdown',
    decidedBy: 'AdminNetworkPolicy lockdown',
  },
  {
    title: 'Kube-OVN, a ClusterNetworkPolicy, egress',
    acl: 'cnp/tenants/egress/IPv4/0',
    direction: 'from-lport',
    verdict: 'drop',
    of: 'tenant',
    protocol: 'udp',
    family: 0,
    packet: 'on port 5432/UDP',
    policy: 'ClusterNetworkPolicy tenants',
    decidedBy: 'ClusterNetworkPolicy tenants',
  },
];

const pods = ['web', 'open', ...cases.map((each) => each.of)].map((name, index) => ({
  name,
  addresses: [`10.66.1.${index + 1}`, `fd00:66::${index + 1}`] as const,
}));
const onlyFrontend = [{ from: [{ podSelector: { matchLabels: { app: 'frontend' } } }], ports: [{ port }] }];
const policies = [
  networkPolicy({ podSelector: { matchLabels: { app: 'db' } }, ingress: onlyFrontend }, 'only-frontend', namespace),
  networkPolicy({ podSelector: { matchLabels: { app: 'kube' } }, ingress: onlyFrontend }, 'kube-ovn', namespace),
  networkPolicy({ podSelector: { matchLabels: { app: 'locked' } }, policyTypes: ['Egress'] }, 'no-egress', namespace),
] as KubernetesObject[];

let group: NamespaceGroup;
let ovn: Ovn;
let rig: AgentRig;
let reading: Reading;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createInQuietHours(controlPlane, [
    nodeObject(node, '192.168.66.1'),
    ...pods.map((pod) => podObject({ ...pod, namespace, node, labels: { app: pod.name } })),
    ...policies,
  ]);
  group = await createNamespaceGroup();
  ovn = await startOvn(group, createOwnFolder('ovn'));
  await ovn.addSwitch(pods);
  await ovn.nbctl('meter-add', 'acl-logging', 'drop', '20', 'pktps');
  for (const each of [...cases, admitted]) await addAcl(each);
  await ovn.untilInForce();
  reading = await startReading(controlPlane, rig, node, ovn.aclLog);
});
afterAll(async () => {
  await rig?.killAll();
  await ovn?.stop();
  await group?.remove();
});

const admitted = {
  acl: `NP:${namespace}:open:Ingress:0`,
  direction: 'to-lport',
  verdict: 'allow-related',
  of: 'open',
} as const;

test('a packet that a policy admits arrives, and its line is not a drop', async () => {
  await run('ip', ['netns', 'exec', ovn.namespaceOf('web'), 'ping', '-c', '1', '-W', '20', addressOf('open', 0)]);
  const [line] = await ovn.linesOf(admitted.acl);
  expect(line).toContain('verdict=allow');
});

test.each(cases)('$title', async (each) => {
  const { acl, verdict, of, direction, packet, policy, decidedBy } = each;
  await send(each);
  const [line] = await ovn.linesOf(acl);
  expect(line).toContain(`verdict=${verdict}, severity=info, direction=${direction}: `);
  expect(line).toContain(',nw_frag=no,');
  const isInside = direction === 'to-lport';
  const [sender, receiver] = isInside ? ['web', of] : [of, undefined];
  await reading.untilMessage(namespace, of, packet, policy);
  if (isInside) await reading.untilMessage(namespace, 'web', `to ${namespace}/${of} `, packet);
  const [row] = await reading.untilRows({ 'source.k8s.pod.name': sender, 'destination.k8s.pod.name': receiver });
  expect(row).toMatchObject({ 'network.packets': 1, 'policy.verdict': 'denied', 'policy.decided_by': decidedBy });
});

test('later fragments are told apart in the audit', async () => {
  const ping = ['ping', '-c', '1', '-W', '0.1', '-s', '2000', addressOf('db', 0)];
  // ping ends with 1, because nothing answers.
  await run('ip', ['netns', 'exec', ovn.namespaceOf('web'), ...ping]).catch(() => {});
  const [row] = await reading.untilRows({ 'packet.later_fragment': true });
  expect(row).toMatchObject({ 'network.transport': 'icmp', 'destination.k8s.pod.name': 'db' });
});

test('doctor finds nothing to mend', async () => {
  const checks = await reading.doctor((command, args) => outcomeOf(spawn(command, args)));
  expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  expect(checks.find(({ name }) => name === 'log-rules')?.finding).toMatch(/ovn-acl does: \d+ lines lately/);
});

test('at the end, admitted packets are not reported', async () => {
  expect(await rig.events(namespace, 'open')).toEqual([]);
});

async function addAcl({
  acl,
  direction,
  verdict,
  of,
}: Pick<Case, 'acl' | 'direction' | 'of'> & { verdict: string }): Promise<void> {
  const ports = `pg_${of}`;
  await ovn.nbctl('pg-add', ports, of);
  const match = `${direction === 'to-lport' ? 'outport' : 'inport'} == @${ports} && ip`;
  const logging = ['--log', '--severity=info', `--name=${acl}`, '--meter=acl-logging'];
  await ovn.nbctl('--type=port-group', ...logging, 'acl-add', ports, direction, '1000', match, verdict);
}

async function send({ of, direction, protocol, family }: Case): Promise<void> {
  const from = direction === 'to-lport' ? 'web' : of;
  const source = addressOf(from, family);
  const destination = direction === 'to-lport' ? addressOf(of, family) : outside;
  if (protocol === 'icmp') await sendEchoRequests(ovn.namespaceOf(from), destination, 1);
  else await sendPackets(ovn.namespaceOf(from), [{ protocol, source, sourcePort: 45_000, destination, port }]);
}

function addressOf(pod: string, family: 0 | 1): string {
  return pods.find(({ name }) => name === pod)?.addresses[family] ?? '';
}
