import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { networkPolicy } from '../../explain/policies/objects.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import type { Probe } from '../network/prober.ts';
import { sendPackets } from '../network/sending.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import { type KubeRouter, startKubeRouter } from './kube-router.ts';
import { type Reading, startReading } from './reading.ts';

/** A real kube-router, and the one within k3s, refuse real packets by NetworkPolicies; a real ulogd writes their NFLOG packets, and an agent reads them. */

const controlPlane = connect(inject('controlPlane'));
const port = 5432;

const scenes = [
  { program: 'kube-router', backend: 'nft', ulogd: 'ulogd-kube-router.conf' },
  { program: 'k3s-kube-router', backend: 'legacy', ulogd: 'ulogd-k3s.conf' },
] as const;

interface Case {
  readonly title: string;
  readonly from: string;
  readonly to: string;
  /** The Pod whose policy denies. */
  readonly of: string;
  readonly policy: string;
  /** What the Events say after the name of the policy. */
  readonly clause: string;
  readonly protocol: Probe['protocol'];
  readonly family: 0 | 1;
}

const longName = 'only-the-frontend-may-reach-this-database';

const cases: readonly [Case, ...Case[]] = [
  {
    title: 'ingress, TCP',
    from: 'web',
    to: 'db',
    of: 'db',
    policy: 'only-frontend',
    clause: ': ingress[0] allows only Pods app=frontend',
    protocol: 'tcp',
    family: 0,
  },
  {
    title: 'egress, UDP',
    from: 'locked',
    to: 'open',
    of: 'locked',
    policy: 'no-egress',
    clause: '',
    protocol: 'udp',
    family: 0,
  },
  {
    title: 'ingress, UDP over IPv6, a policy with a long name',
    from: 'web',
    to: 'long',
    of: 'long',
    policy: longName,
    clause: ': ingress[0] allows',
    protocol: 'udp',
    family: 1,
  },
  {
    title: 'egress, TCP over IPv6',
    from: 'fenced',
    to: 'open',
    of: 'fenced',
    policy: 'only-dns',
    clause: ': egress[0] allows',
    protocol: 'tcp',
    family: 1,
  },
  {
    title: 'ingress from another Namespace, a policy of all Pods',
    from: 'web',
    to: 'shut',
    of: 'shut',
    policy: 'deny-all',
    clause: '',
    protocol: 'tcp',
    family: 0,
  },
];

const names = ['web', 'open', 'db', 'locked', 'long', 'fenced', 'shut'];

describe.each(scenes)('$program, iptables-$backend', ({ program, backend, ulogd }) => {
  const place = program;
  const subnet = program === 'kube-router' ? 67 : 68;
  const nodeAddresses = [`192.168.${subnet}.1`, `fd00:${subnet}::1`] as const;
  const pods = names.map((name, index) => ({
    name,
    addresses: [`10.67.${subnet}.${index + 10}`, `fd00:67:${subnet}::${index + 10}`],
  }));
  let rig: AgentRig;
  let kubeRouter: KubeRouter;
  let reading: Reading;
  let sentBefore = 0;

  beforeAll(async () => {
    rig = await createAgentRig(controlPlane);
    await createInQuietHours(controlPlane, [
      nodeObject(place, ...nodeAddresses),
      ...pods.map(({ name, addresses }) =>
        podObject({
          name,
          addresses,
          namespace: namespaceOf(name),
          node: place,
          hostIP: nodeAddresses[0],
          labels: { app: name },
        }),
      ),
      ...policiesIn(place),
      networkPolicy({ podSelector: {} }, 'deny-all', namespaceOf('shut')) as KubernetesObject,
    ]);
    kubeRouter = await startKubeRouter({
      connection: controlPlane,
      program,
      backend,
      node: place,
      nodeAddresses,
      pods,
      ulogd,
    });
    reading = await startReading(controlPlane, rig, place, kubeRouter.ulogd.output);
    const [first] = cases;
    sentBefore = await reading.untilPoliciesAreRead(place, first.to, (to) => send(first, to));
    for (const each of cases) await send(each);
    // On a new machine the program is built first, after other builds that are under way.
  }, 1_800_000);
  afterAll(async () => {
    await rig?.killAll();
    await kubeRouter?.stop();
  });

  test.each(cases)('$title', async ({ from, to, of, policy, clause, protocol }) => {
    const packet = `on port ${port}/${protocol.toUpperCase()}`;
    const [sender, receiver] = [namespaceOf(from), namespaceOf(to)];
    const verdict = `Denied by NetworkPolicy ${namespaceOf(of)}/${policy}${clause}`;
    await reading.untilMessage(receiver, to, `from ${sender}/${from} `, packet, verdict);
    const atSender = sender === receiver ? verdict : `Denied by ingress policies of namespace ${receiver}.`;
    await reading.untilMessage(sender, from, `to ${receiver}/${to} `, packet, atSender);
    const ends = { 'source.k8s.pod.name': from, 'destination.k8s.pod.name': to };
    const [row] = await reading.untilRows({ ...ends, 'destination.port': port });
    expect(row).toMatchObject({
      'network.packets': 1,
      'policy.verdict': 'denied',
      'policy.decided_by': `NetworkPolicy ${namespaceOf(of)}/${policy}`,
    });
  });

  test('doctor finds nothing to mend', async () => {
    const checks = await reading.doctor((command, args) => kubeRouter.place.run(command, args));
    // The agent's port is in another network namespace.
    expect(checks.filter(({ name, status }) => status !== 'ok' && name !== 'agent')).toEqual([]);
    expect(checks.find(({ name }) => name === 'prefix (none)')?.finding).toContain(
      `${sentBefore + cases.length} lines lately`,
    );
  });

  async function send({ from, to, protocol, family }: Case, toPort = port): Promise<void> {
    const ends = { source: addressOf(from, family), destination: addressOf(to, family) };
    await sendPackets(kubeRouter.namespaceOf(from), [{ protocol, ...ends, sourcePort: 45_000, port: toPort }]);
  }

  function namespaceOf(pod: string): string {
    return pod === 'shut' ? `${place}-shut` : place;
  }

  function addressOf(pod: string, family: 0 | 1): string {
    return pods.find(({ name }) => name === pod)?.addresses[family] ?? '';
  }
});

function policiesIn(namespace: string): KubernetesObject[] {
  const onlyFrontend = [{ from: [{ podSelector: { matchLabels: { app: 'frontend' } } }], ports: [{ port }] }];
  return [
    networkPolicy({ podSelector: { matchLabels: { app: 'db' } }, ingress: onlyFrontend }, 'only-frontend', namespace),
    networkPolicy({ podSelector: { matchLabels: { app: 'long' } }, ingress: onlyFrontend }, longName, namespace),
    networkPolicy({ podSelector: { matchLabels: { app: 'locked' } }, policyTypes: ['Egress'] }, 'no-egress', namespace),
    networkPolicy(
      {
        podSelector: { matchLabels: { app: 'fenced' } },
        policyTypes: ['Egress'],
        egress: [{ ports: [{ port: 53, protocol: 'UDP' }] }],
      },
      'only-dns',
      namespace,
    ),
  ] as KubernetesObject[];
}
