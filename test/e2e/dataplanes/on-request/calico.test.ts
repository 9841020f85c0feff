import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { interfaceNames } from '../../../../src/explain/resolving/pod-index.ts';
import { networkPolicy } from '../../../explain/policies/objects.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../../agent-rig.ts';
import { setFelixConfiguration } from '../../cluster/felix.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import type { KubernetesObject } from '../../control-plane/creatable.ts';
import { readShipped } from '../../logging/node-shell.ts';
import type { Probe } from '../../network/prober.ts';
import { sendPackets } from '../../network/sending.ts';
import { createInQuietHours } from '../../quiet-hours.ts';
import { type CalicoObject, calicoObject, createCalico, installCalico } from '../../vendors/calico.ts';
import { type DataPlane, type Felix, startFelix } from '../felix.ts';
import { type Reading, startReading } from '../reading.ts';

/**
 * A real Felix denies real packets by the policies of deploy/logging/calico, and an agent reads what the kernel prints of them. The module
 * proxy has release 3.28, which logs with iptables only. For the other data planes, CALICO has to be a checkout of a release from 3.32 on, in
 * which `make -C felix build` was run.
 */
const { CALICO } = process.env;
const checkout = CALICO === undefined ? undefined : resolve(CALICO);

const dataPlanes: readonly DataPlane[] =
  checkout === undefined
    ? ['iptables-nft', 'iptables-legacy']
    : ['iptables-nft', 'iptables-legacy', 'nftables', 'eBPF'];

interface Case {
  readonly title: string;
  readonly from: string;
  readonly to: string;
  /** The policy that denies what no other policy allows: its name, and the text before it. */
  readonly policy: readonly [string, string];
  readonly rule: string;
  /** The policy with the rule that comes closest to allowing the packet, if it is not the one that denies. */
  readonly behind?: string;
  readonly closest: string;
  /** What the policy allows, according to the Events. */
  readonly allows: string;
  readonly protocol: Probe['protocol'];
  readonly port: number;
  readonly family: 0 | 1;
}

const cases: readonly [Case, ...Case[]] = [
  {
    title: "ingress, TCP, Calico's own policy",
    from: 'client',
    to: 'postgres',
    policy: ['NetworkPolicy.projectcalico.org shop/', 'postgres'],
    rule: 'ingress[2]',
    closest: 'ingress[0]',
    allows: 'only endpoints app=web in shop. To allow Pods app=client, extend that rule',
    protocol: 'tcp',
    port: 5432,
    family: 0,
  },
  {
    title: "ingress, UDP over IPv6, Calico's own policy",
    from: 'web',
    to: 'postgres',
    policy: ['NetworkPolicy.projectcalico.org shop/', 'postgres'],
    rule: 'ingress[2]',
    closest: 'ingress[0]',
    allows: 'only 5432/TCP',
    protocol: 'udp',
    port: 5432,
    family: 1,
  },
  {
    title: 'egress, UDP, behind a policy of Kubernetes',
    from: 'worker',
    to: 'web',
    policy: ['GlobalNetworkPolicy ', 'deny-out'],
    rule: 'egress[1]',
    behind: 'NetworkPolicy fenced/only-dns',
    closest: 'egress[0]',
    allows: 'only 53/UDP',
    protocol: 'udp',
    port: 514,
    family: 0,
  },
  {
    title: 'ingress, TCP over IPv6, behind a policy of Kubernetes',
    from: 'client',
    to: 'queue',
    policy: ['GlobalNetworkPolicy ', 'deny-in'],
    rule: 'ingress[1]',
    behind: 'NetworkPolicy fenced/only-producers',
    closest: 'ingress[0]',
    allows: 'only Pods app=producer in fenced. To allow Pods app=client in shop, extend that rule',
    protocol: 'tcp',
    port: 5672,
    family: 1,
  },
];

const namespaces: Readonly<Record<string, string>> = {
  web: 'shop',
  client: 'shop',
  postgres: 'shop',
  worker: 'fenced',
  queue: 'fenced',
};

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
  await installCalico(controlPlane, checkout);
  const patch = checkout === undefined ? 'felix-configuration-old.patch.yaml' : 'felix-configuration.patch.yaml';
  const settings = load(await readShipped(`calico/${patch}`)) as { spec: Record<string, string> };
  await setFelixConfiguration(controlPlane, settings.spec, 'default');
  await createInQuietHours(controlPlane, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'fenced', labels: { 'log-denied-ingress': '', 'log-denied-egress': '' } },
    },
    networkPolicy(
      {
        podSelector: { matchLabels: { app: 'worker' } },
        policyTypes: ['Egress'],
        egress: [{ ports: [{ port: 53, protocol: 'UDP' }] }],
      },
      'only-dns',
      'fenced',
    ) as KubernetesObject,
    networkPolicy(
      {
        podSelector: { matchLabels: { app: 'queue' } },
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'producer' } } }], ports: [{ port: 5672 }] }],
      },
      'only-producers',
      'fenced',
    ) as KubernetesObject,
  ]);
  await create(calicoObject('ClusterInformation', 'default', { clusterGUID: 'e2e', datastoreReady: true }));
  for (const [name, order] of checkout === undefined ? [] : tiers)
    await create(calicoObject('Tier', name, { order, defaultAction: name === 'default' ? 'Deny' : 'Pass' }));
  for (const file of ['network-policy-crd.yaml', 'global-network-policy-crd.yaml'])
    for (const policy of loadAll(await readShipped(`calico/${file}`)) as CalicoObject[]) await create(asStored(policy));
}, 1_800_000);
afterAll(() => controlPlane?.stop());

/** The tiers that Calico makes itself. */
const tiers = [
  ['kube-admin', 1000],
  ['default', 1_000_000],
  ['kube-baseline', 10_000_000],
] as const;

/** Follows the comments of the files about releases: 3.28 has no tiers, and since 3.32 names do not begin with them. */
function asStored(policy: CalicoObject): CalicoObject {
  if (checkout === undefined) return { ...policy, spec: { ...policy.spec, tier: undefined } };
  const { metadata } = policy;
  return { ...policy, metadata: { ...metadata, name: metadata.name.replace(/^default\./, '') } };
}

async function create(object: CalicoObject): Promise<void> {
  const { status, body } = await createCalico(controlPlane, object);
  if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${JSON.stringify(body)}`);
}

describe.each(dataPlanes)('%s', (dataPlane) => {
  const node = `calico-${dataPlane.toLowerCase()}`;
  const net = 70 + dataPlanes.indexOf(dataPlane);
  const nodeAddresses = [`192.168.${net}.1`, `fd00:${net}::1`] as const;
  const pods = Object.entries(namespaces).map(([app, namespace], index) => ({
    app,
    namespace,
    name: named(app),
    device: interfaceNames(namespace, named(app))[0] ?? '',
    addresses: [`10.70.${net}.${index + 10}`, `fd00:70:${net}::${index + 10}`],
  }));
  let rig: AgentRig;
  let felix: Felix;
  let reading: Reading;
  let tracefs: string | undefined;

  beforeAll(async () => {
    rig = await createAgentRig(controlPlane);
    await createInQuietHours(controlPlane, [
      nodeObject(node, ...nodeAddresses),
      ...pods.map(({ app, ...pod }) => podObject({ ...pod, node, labels: { app }, hostIP: nodeAddresses[0] })),
    ]);
    felix = await startFelix({ connection: controlPlane, dataPlane, checkout, node, nodeAddresses, pods });
    if (dataPlane === 'eBPF') execFileSync('mount', ['-t', 'tracefs', 'tracefs', (tracefs = rig.newFolder())]);
    const SOURCES = tracefs === undefined ? 'kernel' : `bpf-trace:${tracefs}`;
    reading = await startReading(controlPlane, rig, node, { SOURCES });
    // The policy allows this packet.
    await send({ from: 'web', to: 'postgres', protocol: 'tcp', port: 5432, family: 0 });
    const [first, ...others] = cases;
    await send(first);
    // From then on the agent knows the policies. If they come late, earlier packets are reported without them.
    await reading.untilMessage(namespaceOf(first.to), named(first.to), 'Denied by ');
    for (const each of others) await send(each);
    // On a new machine the program is built first, after other builds that are under way.
  }, 1_800_000);
  afterAll(async () => {
    await rig?.killAll();
    if (tracefs !== undefined) execFileSync('umount', [tracefs]);
    await felix?.stop();
  });

  test.each(cases)('$title', async ({ from, to, policy, rule, behind, closest, allows, protocol, port }) => {
    const packet = `on port ${port}/${protocol.toUpperCase()}`;
    const [sender, receiver] = [namespaceOf(from), namespaceOf(to)];
    const denied = `Denied by ${policy.join(checkout === undefined ? 'default.' : '')} ${rule}`;
    const own = `${denied}${behind === undefined ? '' : ` behind ${behind}`}: ${closest} allows ${allows}.`;
    const others = sender === receiver ? own : `${denied}. To allow it, ask its owners`;
    const [atReceiver, atSender] = rule.startsWith('ingress') ? [own, others] : [others, own];
    await reading.untilMessage(receiver, named(to), `from ${sender}/${named(from)} `, packet, atReceiver);
    await reading.untilMessage(sender, named(from), `to ${receiver}/${named(to)} `, packet, atSender);
    const rows = await reading.untilRows({
      'source.k8s.pod.name': named(from),
      'destination.k8s.pod.name': named(to),
      'network.transport': protocol,
    });
    expect(rows).toMatchObject([
      {
        'network.packets': 1,
        'policy.verdict': 'denied',
        'policy.decided_by': policy.join(''),
        'policy.rule': rule,
        'policy.nearest': `${behind ?? policy.join('')} ${closest}`,
      },
    ]);
  });

  test('doctor finds nothing to mend', async () => {
    const checks = await reading.doctor((command, args) => felix.place.run(command, args));
    const wrong = new Set(checks.filter(({ status }) => status !== 'ok').map(({ name }) => name));
    // The agent's port is in another network namespace, and the rules are not in the kernel's first one.
    expect(wrong.difference(new Set(['agent', 'nf-log-all-netns']))).toEqual(new Set());
  });

  async function send({
    from,
    to,
    protocol,
    port,
    family,
  }: Pick<Case, 'from' | 'to' | 'protocol' | 'port' | 'family'>): Promise<void> {
    const ends = { source: addressOf(from, family), destination: addressOf(to, family) };
    await sendPackets(felix.namespaceOf(named(from)), [{ protocol, ...ends, sourcePort: 45_000, port }]);
  }

  function named(app: string): string {
    return `${app}-${dataPlane.toLowerCase()}`;
  }

  function namespaceOf(app: string): string {
    return namespaces[app] ?? '';
  }

  function addressOf(app: string, family: 0 | 1): string {
    return pods.find((pod) => pod.app === app)?.addresses[family] ?? '';
  }
});
