/** Puts the agents of a cluster through the events of a year: each packet is still counted once. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { agentOn, kubectl, NAMESPACE, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import { AGENT_IMAGE } from './global-setup.ts';
import { denyOn, packetsIn, podOf, type RunningPod, send, startWorkloads, untilEvents } from './pods.ts';

const cluster = connectCluster(inject('cluster'));
const [first, second] = cluster.nodes;
const shop = 'life-shop';
/**
 * One for each step: the second write of an Event comes half a minute after the first, and later ones at growing
 * intervals.
 */
const senders = ['upgrade', 'kill', 'boot'] as const;
const nextImage = `${AGENT_IMAGE.journal}-next`;
/** The packets of each step, and the pause between them: about ten seconds in all. */
const [PACKETS, PAUSE_MS] = [400, 20];
/** Each call of kubectl takes a third of a second of processor time. */
const interval = 1000;
let target: RunningPod;
let sent = 0;

beforeAll(async () => {
  for (const node of cluster.nodes) await node.tagImage(AGENT_IMAGE.journal, nextImage);
  await rollOut(cluster);
  await startWorkloads(
    cluster,
    { namespace: shop, name: 'target', node: second.name },
    ...senders.map((name) => ({ namespace: shop, name, node: first.name })),
  );
  target = await podOf(cluster, shop, 'target');
  await denyOn(second, target.address, 5432);
});

afterAll(async () => {
  await second.run(['iptables', '-w', '-F', 'FORWARD']);
  await kubectl(cluster, 'delete', 'namespace', shop, '--wait=false');
  await removeAgents(cluster);
});

test('each packet is counted once over an upgrade of the DaemonSet, a killed container and a reboot of the node', async () => {
  await during('upgrade', upgrade);
  await during('kill', killContainer);
  await bootAgain();
  await during('boot', () => Promise.resolve());
  await untilEvents(cluster, shop, target.name, (events) => packetsIn(events) === sent);
}, 1_200_000);

/** Sends packets while `happens` runs. */
async function during(step: (typeof senders)[number], happens: () => Promise<unknown>): Promise<void> {
  const sending = send(cluster, await podOf(cluster, shop, step), target.address, 5432, PACKETS, PAUSE_MS);
  sent += PACKETS;
  await happens();
  await sending;
}

async function upgrade(): Promise<void> {
  const before = await agentOn(cluster, second.name);
  await rollOut(cluster, { image: nextImage });
  expect(await agentOn(cluster, second.name)).not.toBe(before);
}

async function killContainer(): Promise<void> {
  const agent = await agentOn(cluster, second.name);
  await second.run(['pkill', '-KILL', '-f', 'kube-netfilter-tailer run']);
  const restarts = '-o=jsonpath={.status.containerStatuses[0].restartCount}';
  await expect
    .poll(() => kubectl(cluster, '-n', NAMESPACE, 'get', 'pod', agent, restarts), { timeout: 60_000, interval })
    .toBe('1');
}

async function bootAgain(): Promise<void> {
  const agent = await agentOn(cluster, second.name);
  await second.reboot();
  // Until the kubelet reports them, the Pods look as they did before.
  await untilRestarted(NAMESPACE, agent);
  await untilRestarted(shop, target.name);
  target = await podOf(cluster, shop, 'target');
  await second.run(['iptables', '-w', '-F', 'FORWARD']);
  await denyOn(second, target.address, 5432);
}

/** Resolves when a Pod of one container, which ran before, runs again. */
async function untilRestarted(namespace: string, pod: string): Promise<void> {
  const status = '-o=jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}';
  await expect
    .poll(() => kubectl(cluster, '-n', namespace, 'get', 'pod', pod, status), { timeout: 180_000, interval })
    .toMatch(/^[1-9]\d* true$/);
}
