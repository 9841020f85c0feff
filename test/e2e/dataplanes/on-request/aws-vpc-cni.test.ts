import { spawn } from 'node:child_process';
import { isIPv6 } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../../agent-rig.ts';
import { connect } from '../../control-plane/connection.ts';
import type { Probe } from '../../network/prober.ts';
import { sendPackets } from '../../network/sending.ts';
import { outcomeOf } from '../../outcome.ts';
import { createInQuietHours } from '../../quiet-hours.ts';
import { type AwsNode, startAwsNode } from '../aws-vpc-cni.ts';
import {
  clusterPolicyEndpointOf,
  definePolicyEndpoints,
  networkPolicyOf,
  removePolicyEndpoints,
  policyEndpointOf,
  type SimplePolicy,
} from '../policy-endpoints.ts';
import { type Reading, startReading } from '../reading.ts';

/**
 * A real network policy agent of the AWS VPC CNI refuses real packets by NetworkPolicies and ClusterNetworkPolicies,
 * and an agent reads its log. An EKS cluster has one family of addresses, so each family has a node of its own.
 */

const controlPlane = connect(inject('controlPlane'));
const port = 5432;

const scenes = [
  { family: 'IPv4', place: 'aws-ipv4', nodeAddress: '192.168.69.1', prefix: '10.69.0.' },
  { family: 'IPv6', place: 'aws-ipv6', nodeAddress: 'fd00:69::1', prefix: 'fd00:69:1::' },
] as const;

interface Ends {
  readonly from: string;
  readonly to: string;
  readonly protocol: Probe['protocol'];
}

interface Case extends Ends {
  readonly title: string;
  readonly side: 'ingress' | 'egress';
  readonly tier?: 'ADMIN' | 'BASELINE' | 'DEFAULT';
  /** The NetworkPolicy that denies, and what the Events say after its name. */
  readonly policy?: string;
  readonly clause?: string;
}

const cases: readonly Case[] = [
  {
    title: 'ingress, TCP',
    from: 'client-web',
    to: 'db',
    protocol: 'tcp',
    side: 'ingress',
    policy: 'only-frontend',
    clause: ': ingress[0] allows only Pods app=client-frontend',
  },
  {
    title: 'ingress, UDP',
    from: 'client-frontend',
    to: 'db',
    protocol: 'udp',
    side: 'ingress',
    policy: 'only-frontend',
    clause: ': ingress[0] allows',
  },
  { title: 'egress, UDP', from: 'locked', to: 'client-open', protocol: 'udp', side: 'egress', policy: 'no-egress' },
  {
    title: 'egress, TCP',
    from: 'fenced',
    to: 'client-open',
    protocol: 'tcp',
    side: 'egress',
    policy: 'only-dns',
    clause: ': egress[0] allows',
  },
  {
    title: 'ingress, SCTP',
    from: 'client-web',
    to: 'fenced',
    protocol: 'sctp',
    side: 'ingress',
    policy: 'no-ingress',
  },
  {
    title: 'a ClusterNetworkPolicy of tier Admin',
    from: 'client-web',
    to: 'sealed',
    protocol: 'tcp',
    side: 'ingress',
    tier: 'ADMIN',
  },
  {
    title: 'a ClusterNetworkPolicy of tier Baseline',
    from: 'client-open',
    to: 'sealed',
    protocol: 'udp',
    side: 'ingress',
    tier: 'BASELINE',
  },
  {
    title: 'strict mode, no policy',
    from: 'client-web',
    to: 'bare',
    protocol: 'tcp',
    side: 'ingress',
    tier: 'DEFAULT',
  },
];

const verdictOfTier = {
  ADMIN: 'Denied by a ClusterNetworkPolicy of tier Admin',
  BASELINE: 'Denied by a ClusterNetworkPolicy of tier Baseline',
  DEFAULT: "Dropped by AWS's network policy agent: strict mode is on",
} as const;
const ofClusterPolicy = {
  'policy.kind': 'ClusterNetworkPolicy',
  'policy.verdict': 'denied',
  'policy.verdict_evidence': 'logged',
} as const;
const rowOfTier = {
  ADMIN: ofClusterPolicy,
  BASELINE: ofClusterPolicy,
  DEFAULT: { 'log.prefix': 'Tier DEFAULT' },
} as const;

/**
 * Pods whose names differ only after the last hyphen share their BPF programs. The kernel takes a second to check each
 * set.
 */
const names = ['client-web', 'client-open', 'client-frontend', 'db', 'locked', 'fenced', 'sealed', 'bare'];

describe.each(scenes)('$family', ({ place, nodeAddress, prefix }) => {
  const pods = names.map((name, index) => ({
    name,
    namespace: place,
    address: `${prefix}${index + 10}`,
    mode: name === 'bare' ? ('strict' as const) : ('standard' as const),
  }));
  let rig: AgentRig;
  let node: AwsNode;
  let reading: Reading;

  beforeAll(async () => {
    rig = await createAgentRig(controlPlane);
    await definePolicyEndpoints(controlPlane);
    const policies = policiesIn(place);
    await createInQuietHours(controlPlane, [
      nodeObject(place, nodeAddress),
      ...pods.map(({ name, address }) =>
        podObject({
          name,
          addresses: [address],
          namespace: place,
          node: place,
          hostIP: nodeAddress,
          labels: { app: name },
        }),
      ),
      ...policies.map(networkPolicyOf),
    ]);
    node = await startAwsNode({ connection: controlPlane, node: place, nodeAddress, pods });
    const here = { nodeAddress, pods };
    await createInQuietHours(controlPlane, [
      ...policies.map((policy) => policyEndpointOf(policy, here)),
      clusterPolicyEndpointOf({ name: `${place}-admin`, tier: 'Admin', of: 'sealed', port, protocol: 'TCP' }, here),
      clusterPolicyEndpointOf(
        { name: `${place}-baseline`, tier: 'Baseline', of: 'sealed', port, protocol: 'UDP' },
        here,
      ),
    ]);
    await node.untilInForce(policies.length, 2);
    reading = await startReading(controlPlane, rig, place, node.log);
    await reading.untilPoliciesAreRead(place, 'db', (other) =>
      send({ from: 'client-web', to: 'db', protocol: 'tcp' }, other),
    );
    for (const each of cases) await send(each);
    // On a new machine the programs are built first, after other builds that are under way.
  }, 1_800_000);
  afterAll(async () => {
    await rig?.killAll();
    await node?.stop();
    await removePolicyEndpoints(controlPlane);
  });

  test.each(cases)('$title', async (each) => {
    const { from, to, protocol, side, tier, policy = '', clause = '' } = each;
    const [line] = await node.untilLines(1, ...textsOf(each), 'DENY');
    const record = JSON.parse(line ?? '') as { msg: string };
    expect(record.msg).toMatch(new RegExp(`Verdict:? DENY Direction:? ${side},? Tier:? ${tier ?? 'NETWORK_POLICY'}$`));
    const packet = `on port ${port}/${protocol.toUpperCase()}`;
    const verdict = tier ? verdictOfTier[tier] : `Denied by NetworkPolicy ${place}/${policy}${clause}`;
    await reading.untilMessage(place, to, `from ${place}/${from} `, packet, verdict);
    await reading.untilMessage(place, from, `to ${place}/${to} `, packet, verdict);
    const [row] = await reading.untilRows({
      'source.k8s.pod.name': from,
      'destination.k8s.pod.name': to,
      'destination.port': port,
    });
    const ofPolicy = { 'policy.verdict': 'denied', 'policy.decided_by': `NetworkPolicy ${place}/${policy}` } as const;
    expect(row).toMatchObject({ 'network.packets': 1, ...(tier ? rowOfTier[tier] : ofPolicy) });
  });

  test('doctor finds nothing to mend', async () => {
    const checks = await reading.doctor((command, args) => outcomeOf(spawn(command, args)));
    expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(checks.find(({ name }) => name === 'log-rules')?.finding).toMatch(
      /aws-network-policy-agent does: \d+ lines lately/,
    );
  });

  test('nothing is reported about packets that policies admit', async () => {
    // The policy of `db` is for ingress only. For such Pods, users have reported lines about allowed egress
    // (aws-network-policy-agent#582).
    const admitted: readonly Ends[] = [
      { from: 'db', to: 'client-open', protocol: 'udp' },
      { from: 'client-frontend', to: 'db', protocol: 'tcp' },
    ];
    for (const each of admitted) {
      await send(each);
      // One line about the sender's egress, one about the receiver's ingress.
      const lines = await node.untilLines(2, ...textsOf(each));
      expect(lines.filter((line) => !line.includes('ACCEPT'))).toEqual([]);
    }
    expect(reading.rowsOf({ 'source.k8s.pod.name': 'db' })).toEqual([]);
  });

  test('an ICMP error that answers an admitted datagram is denied over IPv4 only', async () => {
    const answer = [`Src IP: ${addressOf('client-open')} `, `Dest IP: ${addressOf('db')} `];
    if (isIPv6(nodeAddress)) {
      expect(await node.untilLines(0, ...answer)).toEqual([]);
      return;
    }
    expect((await node.untilLines(2, ...answer)).at(-1)).toMatch(/Port: 0 Proto ICMP Verdict DENY Direction ingress/);
    const verdict = `Denied by NetworkPolicy ${place}/only-frontend`;
    await reading.untilMessage(place, 'db', `from ${place}/client-open `, 'ICMP', verdict);
    const [row] = await reading.untilRows({ 'source.k8s.pod.name': 'client-open', 'destination.k8s.pod.name': 'db' });
    expect(row).toMatchObject({ 'network.transport': 'icmp', 'policy.verdict': 'denied' });
  });

  test('each dropped packet has its line', async () => {
    const lines = await node.untilLines(0, 'Flow Info', 'DENY');
    expect(await node.metric('network_policy_drop_count_total')).toBe(lines.length);
  });

  function textsOf({ from, to, protocol }: Ends): readonly string[] {
    return [
      `Src IP: ${addressOf(from)} `,
      `Dest IP: ${addressOf(to)} Dest Port: ${port} `,
      ` ${protocol.toUpperCase()} `,
    ];
  }

  async function send({ from, to, protocol }: Ends, at = port): Promise<void> {
    const ends = { source: addressOf(from), destination: addressOf(to) };
    await sendPackets(node.namespaceOf(from), [{ protocol, ...ends, sourcePort: 45_000, port: at }]);
  }

  function addressOf(pod: string): string {
    return pods.find(({ name }) => name === pod)?.address ?? '';
  }
});

function policiesIn(namespace: string): SimplePolicy[] {
  return [
    {
      name: 'only-frontend',
      namespace,
      of: 'db',
      direction: 'Ingress',
      allows: { peer: 'client-frontend', port, protocol: 'TCP' },
    },
    { name: 'no-egress', namespace, of: 'locked', direction: 'Egress' },
    { name: 'only-dns', namespace, of: 'fenced', direction: 'Egress', allows: { port: 53, protocol: 'UDP' } },
    { name: 'no-ingress', namespace, of: 'fenced', direction: 'Ingress' },
  ];
}
