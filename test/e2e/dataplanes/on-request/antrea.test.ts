import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkPolicy } from '../../../explain/policies/objects.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../../agent-rig.ts';
import { API_SERVER } from '../../cluster/cluster.ts';
import { CONTROL_ADDRESS, createLan } from '../../cluster/lan.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import type { KubernetesObject } from '../../control-plane/creatable.ts';
import type { Probe } from '../../network/prober.ts';
import { outcomeOf } from '../../outcome.ts';
import { createOwnFolder } from '../../own-folder.ts';
import { createInQuietHours } from '../../quiet-hours.ts';
import { type Antrea, installAntrea, startAntrea, startAntreaMachine } from '../antrea.ts';
import { type Reading, startReading } from '../reading.ts';

/**
 * A real antrea-agent on a kernel of Debian in QEMU denies real packets by policies of Kubernetes and Antrea; an agent
 * reads what it logs. ANTREA has to be a checkout of Antrea with antrea-agent, antrea-controller and antrea-cni in its
 * folder `bin` (../README.md).
 */
const { ANTREA } = process.env;
const checkout = ANTREA === undefined ? undefined : resolve(ANTREA);
if (checkout === undefined) console.warn('[antrea] skipped: ANTREA names no checkout of Antrea that was built');

const node = 'antrea-node';
const shop = 'antrea-shop';
const port = 5432;

interface Case {
  readonly title: string;
  readonly from: string;
  readonly to: string;
  /** What Events say about the denial on the Pod whose policy denies. */
  readonly verdict: string;
  readonly decidedBy: string;
  readonly action: 'dropped' | 'rejected';
  readonly protocol: Probe['protocol'];
  readonly family: 0 | 1;
}

const ofKubernetes: readonly [Case, ...Case[]] = [
  {
    title: 'ingress, TCP',
    from: 'web',
    to: 'db',
    verdict: `Denied by NetworkPolicy ${shop}/only-frontend: ingress[0] allows only Pods app=frontend`,
    decidedBy: `NetworkPolicy ${shop}/only-frontend`,
    action: 'dropped',
    protocol: 'tcp',
    family: 0,
  },
  {
    title: 'egress, UDP over IPv6',
    from: 'locked',
    to: 'open',
    verdict: `Denied by NetworkPolicy ${shop}/no-egress`,
    decidedBy: `NetworkPolicy ${shop}/no-egress`,
    action: 'dropped',
    protocol: 'udp',
    family: 1,
  },
];

/** A name that Antrea accepts for a rule. */
const strangeName = `web Ingress Allow 1 ${shop}/open 10.99.0.1 1 10.99.0.2 2 TCP 60 x [9 packets in 1s]`;

const ofAntrea: readonly Case[] = [
  {
    title: 'ingress, TCP, a rule that drops and whose name reads like another packet',
    from: 'web',
    to: 'bank',
    verdict: `Denied by AntreaNetworkPolicy ${shop}/no-web`,
    decidedBy: `AntreaNetworkPolicy ${shop}/no-web`,
    action: 'dropped',
    protocol: 'tcp',
    family: 0,
  },
  {
    title: 'egress, UDP, a rule that rejects',
    from: 'fenced',
    to: 'open',
    verdict: `Rejected by AntreaNetworkPolicy ${shop}/only-dns`,
    decidedBy: `AntreaNetworkPolicy ${shop}/only-dns`,
    action: 'rejected',
    protocol: 'udp',
    family: 0,
  },
  {
    title: 'ingress, TCP over IPv6, a policy of the cluster, with a label',
    from: 'web',
    to: 'vault',
    verdict: 'Denied by AntreaClusterNetworkPolicy antrea-strict',
    decidedBy: 'AntreaClusterNetworkPolicy antrea-strict',
    action: 'dropped',
    protocol: 'tcp',
    family: 1,
  },
];

const pods = ['web', 'db', 'locked', 'open', 'bank', 'fenced', 'vault'].map((name) => ({
  namespace: shop,
  name,
}));

describe.skipIf(checkout === undefined)('a real Antrea', () => {
  const ending: (() => unknown)[] = [];
  let controlPlane: ControlPlane;
  let rig: AgentRig;
  let antrea: Antrea;
  let reading: Reading;

  beforeAll(async () => {
    const folder = createOwnFolder('antrea');
    ending.unshift(() => rmSync(folder, { recursive: true, force: true }));
    const log = join(folder, 'np.log');
    const lan = await createLan();
    ending.unshift(lan.remove);
    const place = { network: lan.control, address: CONTROL_ADDRESS, nodes: new Map<string, string>() };
    const flags = ['--disable-admission-plugins=ServiceAccount,TaintNodesByCondition'];
    controlPlane = await startControlPlane({ place, flags });
    ending.unshift(controlPlane.stop);
    await installAntrea(controlPlane, checkout ?? '');
    const machine = await startAntreaMachine(node, lan, folder);
    ending.unshift(machine.end);
    rig = await createAgentRig(controlPlane);
    ending.unshift(() => rig.killAll());
    const ranges = ['10.71.0.0/24', 'fd00:71::/64'];
    await createInQuietHours(controlPlane, [
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: shop, annotations: { 'networkpolicy.antrea.io/enable-logging': 'true' } },
      },
      { ...nodeObject(node, ...machine.addresses), spec: { podCIDR: ranges[0], podCIDRs: ranges } },
      ...pods.map(({ namespace, name }) =>
        podObject({ namespace, name, node, addresses: [], labels: { app: name }, hostIP: machine.addresses[0] }),
      ),
      ...policies(),
    ]);
    antrea = await startAntrea({
      connection: controlPlane,
      checkout: checkout ?? '',
      server: API_SERVER,
      machine,
      pods,
      log,
    });
    ending.unshift(() => antrea.stop());
    reading = await startReading(controlPlane, rig, node, log);
    // A policy is in force some time after the Pods have joined, and nothing tells when; until then packets arrive.
    for (const each of ofKubernetes) await antrea.untilDenied(each.from, each.to, () => send(each, port - 1));
    const [first] = ofKubernetes;
    await reading.untilPoliciesAreRead(shop, first.to, (to) => send(first, to));
    for (const each of ofKubernetes) await send(each);
  }, 3_600_000);
  afterAll(async () => {
    for (const each of ending.splice(0)) await each();
  });

  describe('policies of Kubernetes', () => {
    test.each(ofKubernetes)('$title', untilTold);
  });

  describe("Antrea's own policies", () => {
    beforeAll(async () => {
      await controlPlane.apply(...antreaPolicies());
      await antrea.untilRealized();
      for (const each of ofAntrea) await send(each);
    }, 600_000);

    test.each(ofAntrea)('$title', untilTold);
  });

  test('doctor finds nothing to mend', async () => {
    const checks = await reading.doctor((command, args) => outcomeOf(spawn(command, args)));
    expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  });

  async function untilTold({ from, to, verdict, decidedBy, action, protocol }: Case): Promise<void> {
    const packet = `on port ${port}/${protocol.toUpperCase()}`;
    await reading.untilMessage(shop, to, `from ${shop}/${from} `, packet, verdict);
    await reading.untilMessage(shop, from, `to ${shop}/${to} `, packet, verdict);
    const rows = await reading.untilRows({
      'source.k8s.pod.name': from,
      'destination.k8s.pod.name': to,
      'destination.port': port,
    });
    expect(rows).toMatchObject([{ 'network.packets': 1, 'event.action': action, 'policy.decided_by': decidedBy }]);
  }

  async function send({ from, to, protocol, family }: Case, toPort = port): Promise<void> {
    const [source = '', destination = ''] = [from, to].map((pod) => antrea.addressesOf(pod)[family]);
    await antrea.send(from, [{ protocol, source, sourcePort: 45_000, destination, port: toPort }]);
  }
});

function policies(): KubernetesObject[] {
  return [
    networkPolicy(
      { podSelector: app('db'), ingress: [{ from: [{ podSelector: app('frontend') }], ports: [{ port }] }] },
      'only-frontend',
      shop,
    ),
    networkPolicy({ podSelector: app('locked'), policyTypes: ['Egress'] }, 'no-egress', shop),
  ] as KubernetesObject[];
}

function antreaPolicies(): object[] {
  const rule = { enableLogging: true };
  return [
    antreaPolicy('NetworkPolicy', 'no-web', {
      appliedTo: [{ podSelector: app('bank') }],
      ingress: [{ ...rule, action: 'Drop', name: strangeName, from: [{ podSelector: app('web') }] }],
    }),
    antreaPolicy('NetworkPolicy', 'only-dns', {
      appliedTo: [{ podSelector: app('fenced') }],
      egress: [
        { action: 'Allow', ports: [{ port: 53, protocol: 'UDP' }] },
        { ...rule, action: 'Reject' },
      ],
    }),
    antreaPolicy('ClusterNetworkPolicy', 'antrea-strict', {
      appliedTo: [{ podSelector: app('vault') }],
      ingress: [{ ...rule, action: 'Drop', name: 'all', logLabel: 'closed' }],
    }),
  ];
}

function antreaPolicy(kind: string, name: string, spec: object): object {
  const metadata = kind === 'NetworkPolicy' ? { namespace: shop, name } : { name };
  return { apiVersion: 'crd.antrea.io/v1beta1', kind, metadata, spec: { priority: 5, tier: 'application', ...spec } };
}

function app(name: string): object {
  return { matchLabels: { app: name } };
}
