import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { networkPolicy } from '../../../explain/policies/objects.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, type StoredEvent } from '../../agent-rig.ts';
import { connect } from '../../control-plane/connection.ts';
import type { KubernetesObject } from '../../control-plane/creatable.ts';
import type { Probe } from '../../network/prober.ts';
import { sendPackets } from '../../network/sending.ts';
import { createInQuietHours } from '../../quiet-hours.ts';
import { type Cilium, ciliumNode, installCilium, startCilium } from '../cilium.ts';
import { type Reading, startReading } from '../reading.ts';

/**
 * A real cilium-agent denies real packets by policies of Kubernetes and Cilium; an agent reads what its Hubble exports.
 */

const controlPlane = connect(inject('controlPlane'));
const node = 'cilium-node';
const shop = 'cilium-shop';
const shut = 'cilium-shut';
const port = 5432;

interface Case {
  readonly title: string;
  readonly from: string;
  /** A Pod; undefined: the host outside of the cluster. */
  readonly to: string | undefined;
  /** The policy as Events name it, with what they say of its rules. */
  readonly verdict: string;
  readonly decidedBy: string;
  readonly protocol: Probe['protocol'];
  readonly family: 0 | 1;
}

const cases: readonly [Case, ...Case[]] = [
  {
    title: 'ingress, TCP, a policy of Kubernetes',
    from: 'web',
    to: 'db',
    verdict: `NetworkPolicy ${shop}/only-frontend: ingress[0] allows only Pods app=frontend`,
    decidedBy: `NetworkPolicy ${shop}/only-frontend`,
    protocol: 'tcp',
    family: 0,
  },
  {
    title: 'egress, UDP over IPv6, a policy of Kubernetes',
    from: 'locked',
    to: 'open',
    verdict: `NetworkPolicy ${shop}/no-egress`,
    decidedBy: `NetworkPolicy ${shop}/no-egress`,
    protocol: 'udp',
    family: 1,
  },
  {
    title: 'ingress, UDP, a policy of all Pods of another Namespace',
    from: 'web',
    to: 'closed',
    verdict: `NetworkPolicy ${shut}/deny-all`,
    decidedBy: `NetworkPolicy ${shut}/deny-all`,
    protocol: 'udp',
    family: 0,
  },
  {
    title: "egress, TCP to a host outside, a policy of Cilium's",
    from: 'fenced',
    to: undefined,
    verdict: `CiliumNetworkPolicy ${shop}/only-dns`,
    decidedBy: `CiliumNetworkPolicy ${shop}/only-dns`,
    protocol: 'tcp',
    family: 0,
  },
  {
    title: 'ingress, TCP over IPv6, a rule that denies',
    from: 'web',
    to: 'bank',
    verdict: `CiliumNetworkPolicy ${shop}/no-web`,
    decidedBy: `CiliumNetworkPolicy ${shop}/no-web`,
    protocol: 'tcp',
    family: 1,
  },
];

const pods = [
  ...['web', 'db', 'locked', 'open', 'fenced', 'bank'].map((name) => ({ namespace: shop, name })),
  { namespace: shut, name: 'closed' },
];
const namespaceOf = (pod: string): string => pods.find(({ name }) => name === pod)?.namespace ?? '';

let rig: AgentRig;
let cilium: Cilium;
let reading: Reading;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  const flows = join(rig.newFolder(), 'events.log');
  await installCilium(controlPlane);
  await createInQuietHours(controlPlane, [
    {
      ...nodeObject(node, ciliumNode.address),
      spec: { podCIDR: '10.69.0.0/24', podCIDRs: ['10.69.0.0/24', 'fd00:69::/64'] },
    },
    ...pods.map(({ namespace, name }) =>
      podObject({ namespace, name, node, addresses: [], labels: { app: name }, hostIP: ciliumNode.address }),
    ),
    ...policies(),
  ]);
  // The filter is the one of docs/logging/cilium.md.
  const hubble = {
    'hubble-export-file-path': flows,
    'hubble-export-allowlist': '{"verdict":["DROPPED","ERROR"]}',
    'hubble-drop-events': 'true',
  };
  cilium = await startCilium({ connection: controlPlane, node, pods, settings: hubble });
  reading = await startReading(controlPlane, rig, node, flows);
  const [first] = cases;
  await reading.untilPoliciesAreRead(shop, 'db', (to) => send(first, to));
  for (const each of cases) await send(each);
  // On a new machine the program is built first, after other builds that are under way.
}, 3_600_000);
afterAll(async () => {
  await rig?.killAll();
  await cilium?.stop();
});

test.each(cases)('$title', async ({ from, to, verdict, decidedBy, protocol }) => {
  const packet = `on port ${port}/${protocol.toUpperCase()}`;
  const sender = namespaceOf(from);
  if (to === undefined) {
    await reading.untilMessage(sender, from, `to ${ciliumNode.outside} `, packet, `Denied by ${verdict}`);
  } else {
    const receiver = namespaceOf(to);
    await reading.untilMessage(receiver, to, `from ${sender}/${from} `, packet, `Denied by ${verdict}`);
    const atSender = sender === receiver ? verdict : `ingress policies of namespace ${receiver}.`;
    await reading.untilMessage(sender, from, `to ${receiver}/${to} `, packet, `Denied by ${atSender}`);
  }
  const rows = await reading.untilRows({
    'source.k8s.pod.name': from,
    'destination.port': port,
    ...(to === undefined ? {} : { 'destination.k8s.pod.name': to }),
  });
  // Hubble exports two lines for each packet.
  expect(rows).toMatchObject([{ 'network.packets': 1, 'policy.verdict': 'denied', 'policy.decided_by': decidedBy }]);
});

test('doctor finds the Events that Cilium itself writes, and nothing to mend', async () => {
  await rig.untilEvents(shop, (events) => events.some(isCiliums));
  const checks = await reading.doctor((command, args) => cilium.place.run(command, args), {
    KUBECONFIG: controlPlane.adminKubeconfig,
  });
  const found = checks.filter(({ name, status }) => status !== 'ok' && !ofThisNode.has(name));
  expect(found).toMatchObject([
    { name: 'cilium-events', finding: expect.stringContaining('Events of the component cilium') as unknown },
  ]);
});

function isCiliums({ reason, source }: StoredEvent): boolean {
  return reason === 'PacketDrop' && source.component === 'cilium';
}

/** The agent's port is in another network namespace, and the administrator has rights that an agent must not have. */
const ofThisNode: ReadonlySet<string> = new Set(['agent', 'nf-log-all-netns', 'rights']);

async function send({ from, to, protocol, family }: Case, toPort = port): Promise<void> {
  const destination = to === undefined ? ciliumNode.outside : cilium.addressesOf(to)[family];
  const ends = { source: cilium.addressesOf(from)[family] ?? '', destination: destination ?? '' };
  await sendPackets(cilium.namespaceOf(from), [{ protocol, ...ends, sourcePort: 45_000, port: toPort }]);
}

function policies(): KubernetesObject[] {
  return [
    networkPolicy(
      { podSelector: app('db'), ingress: [{ from: [{ podSelector: app('frontend') }], ports: [{ port }] }] },
      'only-frontend',
      shop,
    ),
    networkPolicy({ podSelector: app('locked'), policyTypes: ['Egress'] }, 'no-egress', shop),
    networkPolicy({ podSelector: {} }, 'deny-all', shut),
    ciliumPolicy('only-dns', {
      endpointSelector: app('fenced'),
      egress: [{ toEntities: ['all'], toPorts: [{ ports: [{ port: '53', protocol: 'UDP' }] }] }],
    }),
    ciliumPolicy('no-web', {
      endpointSelector: app('bank'),
      ingress: [{ fromEntities: ['cluster'] }],
      ingressDeny: [{ fromEndpoints: [app('web')] }],
    }),
  ] as KubernetesObject[];
}

function ciliumPolicy(name: string, spec: object): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { namespace: shop, name }, spec };
}

function app(name: string): object {
  return { matchLabels: { app: name } };
}
