/** Breaks a node's Service rules under the real kube-proxy of a real node, and reads what the agents write of it. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { fillConntrack, limitConntrack } from '../kube-proxy/conntrack.ts';
import { installFelixConfigurations, removeFelixConfigurations, setFelixConfiguration } from '../kube-proxy/felix.ts';
import { apply, kubectl, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import type { Node } from './node.ts';
import { startWorkloads, untilEvents } from './pods.ts';

const cluster = connectCluster(inject('cluster'));
const [first, second] = cluster.nodes;
const shop = 'incidents-shop';
const failed = /"Sync failed"/g;
const WITHIN_MS = 60_000;
let change = 0;

beforeAll(async () => {
  // Agents that start read what was logged before, and know for a minute what was configured then.
  await installFelixConfigurations(cluster.controlPlane);
  await setFelixConfiguration(cluster.controlPlane, { bpfEnabled: true }, `node.${second.name}`);
  await rollOut(cluster);
  await startWorkloads(cluster, { namespace: shop, name: 'db', node: second.name });
  await changeService();
});

afterAll(async () => {
  await kubectl(cluster, 'delete', 'namespace', shop, '--wait=false');
  await removeAgents(cluster);
  await removeFelixConfigurations(cluster.controlPlane);
});

test('a firewall that flushes all rules is KN102 on the Node, on the Pod of its kube-proxy and on a Service', async () => {
  await failTimes(2, first, () => first.run(['nft', 'flush', 'ruleset']));
  const onNode = (await untilEvents(cluster, 'default', first.name, (events) => has(events, '[KN102]'))).find(
    ({ type }) => type === 'Warning',
  );
  expect(onNode).toMatchObject({ reason: 'ServiceChainMissing' });
  await untilEvents(cluster, 'kube-system', await kubeProxyOn(first), (events) => has(events, '[KN102]'));
  const [, namespace = '', service = ''] = /Services? (\S+)\/(\S+) port/.exec(onNode?.message ?? '') ?? [];
  await untilEvents(cluster, namespace, service, (events) => has(events, 'KN102'));
});

test('the same where FelixConfiguration lets felix delete the chains of kube-proxy: KN101', async () => {
  await failTimes(2, second, () => second.run(['nft', 'flush', 'ruleset']));
  const events = await untilEvents(cluster, 'default', second.name, (found) => has(found, '[KN101'));
  expect(events.find(({ message }) => message.includes('[KN101'))).toMatchObject({
    reason: 'CalicoDeletesServiceChains',
    type: 'Warning',
  });
});

test('a connection tracking table that is full: KN401 on the Node that has it, and not on the other', async () => {
  const restore = await limitConntrack(512);
  try {
    await fillConntrack(runnerOf(first), 1024);
    // Failures within 2 s of each other are one attempt.
    await delay(3000);
    await fillConntrack(runnerOf(first), 1024);
    await untilEvents(cluster, 'default', first.name, (events) => has(events, '[KN401]'));
  } finally {
    await restore();
  }
  const events = await untilEvents(cluster, 'default', second.name, () => true);
  expect(has(events, '[KN401]')).toBe(false);
});

function has(events: readonly { readonly message: string }[], code: string): boolean {
  return events.some(({ message }) => message.includes(code));
}

/** So many times: what breaks the rules, then a change of a Service, with which kube-proxy fails. */
async function failTimes(times: number, node: Node, breakRules: () => Promise<unknown>): Promise<void> {
  for (let round = 0; round < times; round++) {
    const before = await failuresOf(node);
    const deadline = performance.now() + WITHIN_MS;
    do {
      await breakRules();
      await changeService();
      // Where kube-proxy wrote all its rules in between, it does not fail: the rules are broken again.
    } while (!(await hasFailed(node, before)) && performance.now() < deadline);
    expect(await failuresOf(node)).toBeGreaterThan(before);
    await expect.poll(() => node.run(['iptables-save', '-t', 'nat']), { timeout: WITHIN_MS }).toContain(`${shop}/db`);
    // Failures within 2 s of each other are one attempt.
    await delay(3000);
  }
}

/** Whether it fails within the five seconds after which it writes all its rules. */
async function hasFailed(node: Node, before: number): Promise<boolean> {
  const deadline = performance.now() + 6000;
  while (performance.now() < deadline) {
    if ((await failuresOf(node)) > before) return true;
    await delay(200);
  }
  return false;
}

/** Attempts that failed, as all logs of kube-proxy's container say. */
async function failuresOf(node: Node): Promise<number> {
  const logs = await node.shell('cat /var/log/pods/kube-system_kube-proxy-*/kube-proxy/*.log');
  return [...logs.stdout.matchAll(failed)].length;
}

async function changeService(): Promise<void> {
  await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db', namespace: shop },
    spec: { selector: { app: 'db' }, ports: [{ name: 'db', port: 5432, targetPort: 5000 + ++change }] },
  });
}

async function kubeProxyOn(node: Node): Promise<string> {
  const pods = ['get', 'pods', '-l=k8s-app=kube-proxy', `--field-selector=spec.nodeName=${node.name}`];
  return kubectl(cluster, '-n', 'kube-system', ...pods, '-o=jsonpath={.items[0].metadata.name}');
}

/** The node as the functions of ../kube-proxy want it. */
function runnerOf(node: Node): Parameters<typeof fillConntrack>[0] {
  return { run: (command, args, input) => node.outcome([command, ...args], input) };
}
