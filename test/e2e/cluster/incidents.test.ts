/** Breaks a node's Service rules under the real kube-proxy of a real node, and reads the agents' Events about it. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { StoredEvent } from '../agent-rig.ts';
import { agentOn, kubectl, NAMESPACE, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import { fillConntrack, limitConntrack } from './conntrack.ts';
import { installFelixConfigurations, removeFelixConfigurations, setFelixConfiguration } from './felix.ts';
import type { Node } from './node.ts';
import { startWorkloads, untilEvents } from './pods.ts';

const cluster = connectCluster(inject('cluster'));
const [first, second] = cluster.nodes;
const shop = 'incidents-shop';
/** Unused Services: with them, the log of kube-proxy at -v=9 is rotated several times a minute. */
const MANY = 150;
const ROTATIONS = 3;
/** The lines of failed attempts on each node. They are collected in time, because the kubelet keeps only three logs. */
const failures = new Map<Node, Set<string>>();
const rotations = new Map<Node, Set<string>>();
const KUBE_PROXY_LOGS = '/var/log/pods/kube-system_kube-proxy-*/kube-proxy/*';
const WITHIN_MS = 60_000;
/** Failures within 2 s of each other are one attempt. */
const BETWEEN_ATTEMPTS_MS = 3000;
let change = 0;

beforeAll(async () => {
  // Agents that start read earlier lines, and use the earlier configuration for a minute.
  await installFelixConfigurations(cluster.controlPlane);
  await setFelixConfiguration(cluster.controlPlane, { bpfEnabled: true }, `node.${second.name}`);
  await rollOut(cluster, { components: ['admission-policy', 'node-condition'] });
  await startWorkloads(cluster, { namespace: shop, name: 'db', node: second.name });
  await changeService();
  await cluster.controlPlane.apply(...Array.from({ length: MANY }, (_, index) => unusedService(index)).flat());
  await setVerbosity(9);
});

afterAll(async () => {
  await setVerbosity(0);
  await kubectl(cluster, 'delete', 'namespace', shop, '--wait=false');
  await removeAgents(cluster);
  await removeFelixConfigurations(cluster.controlPlane);
});

test('a firewall that flushes all rules is KN102 on the Node, on the Pod of its kube-proxy and on a Service', async () => {
  await failTimes(3, first, () => first.run(['nft', 'flush', 'ruleset']));
  const onNode = (await untilEvents(cluster, 'default', first.name, (events) => has(events, '[KN102]'))).find(
    ({ type }) => type === 'Warning',
  );
  expect(onNode).toMatchObject({ reason: 'ServiceChainMissing' });
  await untilEvents(cluster, 'kube-system', await kubeProxyOn(first), (events) => has(events, '[KN102]'));
  const [, namespace = '', service = ''] = /Services? (\S+)\/(\S+) port/.exec(onNode?.message ?? '') ?? [];
  await untilEvents(cluster, namespace, service, (events) => has(events, 'KN102'));
  await untilCondition('True', 'ServiceChainMissing');
});

test('each failed attempt is counted once, however often the kubelet rotates the log', async () => {
  const before = await rotationsOn(first);
  while ((await rotationsOn(first)) < before + ROTATIONS)
    await failTimes(1, first, () => first.run(['nft', 'flush', 'ruleset']));
  const { size: attempts } = await failuresOf(first);
  // A flush in the middle of an attempt may make it fail in another way.
  const sum = async (): Promise<number> => (await countedOn(first)).values().reduce((total, count) => total + count, 0);
  await expect.poll(sum, { timeout: WITHIN_MS, interval: 1000 }).toBe(attempts);
}, 900_000);

test('if FelixConfiguration lets felix delete the chains of kube-proxy, the same is KN101', async () => {
  await failTimes(2, second, () => second.run(['nft', 'flush', 'ruleset']));
  const events = await untilEvents(cluster, 'default', second.name, (found) => has(found, '[KN101'));
  expect(events.find(({ message }) => message.includes('[KN101'))).toMatchObject({
    reason: 'CalicoDeletesServiceChains',
    type: 'Warning',
  });
});

test('a full connection tracking table is KN401 on its Node and not on the other', async () => {
  const restore = await limitConntrack(512);
  try {
    await fillConntrack(first, 1024);
    await delay(BETWEEN_ATTEMPTS_MS);
    await fillConntrack(first, 1024);
    await untilEvents(cluster, 'default', first.name, (events) => has(events, '[KN401]'));
  } finally {
    await restore();
  }
  const events = await untilEvents(cluster, 'default', second.name, () => true);
  expect(has(events, '[KN401]')).toBe(false);
});

test('an incident without further failures is over: a Normal Event on the Node and the Pod', async () => {
  const over = ({ type, message }: StoredEvent): boolean =>
    type === 'Normal' && message.startsWith(`Resolved on ${first.name}: `) && message.includes('[KN102]');
  const all = (await countedOn(first)).get('KN102');
  const isWhole = (found: readonly StoredEvent[]): boolean => found.some(over) && countOf(found, '[KN102]') === all;
  await untilEvents(cluster, 'default', first.name, isWhole, 300_000);
  await untilEvents(cluster, 'kube-system', await kubeProxyOn(first), (found) => found.some(over));
  await untilCondition('False', 'NetfilterRulesCurrent');
}, 900_000);

test('the admission policy has refused no write of an agent', async () => {
  const metrics = await metricsOf(first);
  expect(metrics).toMatch(/event_writes_total\{verb="update",result="ok"\} [1-9]/);
  expect(metrics).not.toMatch(/event_writes_total\{[^}]*result="(?:forbidden|denied|invalid)"\} [1-9]/);
});

/** The condition is among the kubelet's own, of which nothing may be lost. */
async function untilCondition(status: string, reason: string): Promise<void> {
  const path = `/api/v1/nodes/${first.name}`;
  const conditions = async (): Promise<object[]> => {
    const { body } = await cluster.controlPlane.request('GET', path);
    return (body as { status: { conditions: object[] } }).status.conditions;
  };
  const ours = expect.objectContaining({ type: 'NetfilterRulesStale', status, reason }) as object;
  await expect.poll(conditions, { timeout: 90_000, interval: 200 }).toContainEqual(ours);
  expect(await conditions()).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
}

function countOf(events: readonly StoredEvent[], code: string): number {
  const open = events.filter(({ type, message }) => type === 'Warning' && message.includes(code));
  return open.reduce((sum, { count }) => sum + count, 0);
}

function has(events: readonly { readonly message: string }[], code: string): boolean {
  return events.some(({ message }) => message.includes(code));
}

/**
 * Waits until kube-proxy has written all rules since its start: a flush during that would make it fail in another way.
 */
async function untilSynced(node: Node): Promise<void> {
  const completed = `zgrep -h '"SyncProxyRules complete" ipFamily="IPv4"' ${KUBE_PROXY_LOGS}`;
  await expect
    .poll(async () => (await node.shell(completed)).stdout, { timeout: WITHIN_MS, interval: 500 })
    .not.toBe('');
}

/** The failures of kube-proxy that the agent of a node has counted, by cause. */
async function countedOn(node: Node): Promise<Map<string, number>> {
  const metrics = await metricsOf(node);
  const counts = [...metrics.matchAll(/^kube_netfilter_tailer_failures_total\{code="(KN1\d\d)"\} (\d+)$/gm)];
  return new Map(counts.map(([, code = '', count]) => [code, Number(count)]));
}

async function metricsOf({ name, run }: Node): Promise<string> {
  const pod = await agentOn(cluster, name);
  const ip = await kubectl(cluster, '-n', NAMESPACE, 'get', 'pod', pod, '-o=jsonpath={.status.podIP}');
  return run(['curl', '-s', `http://${ip}:9090/metrics`]);
}

/** Repeatedly breaks the rules and then changes a Service, so that kube-proxy fails. */
async function failTimes(times: number, node: Node, breakRules: () => Promise<unknown>): Promise<void> {
  await untilSynced(node);
  for (let round = 0; round < times; round++) {
    const before = (await failuresOf(node)).size;
    const deadline = performance.now() + WITHIN_MS;
    do {
      await breakRules();
      await changeService();
      // If kube-proxy wrote all its rules in between, it does not fail. Then the rules are broken again.
    } while (!(await hasFailed(node, before)) && performance.now() < deadline);
    expect((await failuresOf(node)).size).toBeGreaterThan(before);
    await expect
      .poll(() => node.run(['iptables-save', '-t', 'nat']), { timeout: WITHIN_MS, interval: 500 })
      .toContain(`${shop}/db`);
    await delay(BETWEEN_ATTEMPTS_MS);
  }
}

/** Whether kube-proxy fails within five seconds, after which it would write all its rules. */
async function hasFailed(node: Node, before: number): Promise<boolean> {
  const deadline = performance.now() + 6000;
  while (performance.now() < deadline) {
    if ((await failuresOf(node)).size > before) return true;
    await delay(200);
  }
  return false;
}

/** The lines of failed attempts so far. */
async function failuresOf(node: Node): Promise<Set<string>> {
  const lines = failures.get(node) ?? new Set();
  failures.set(node, lines);
  const { stdout } = await node.shell(`zgrep -h '] "Sync failed"' ${KUBE_PROXY_LOGS}`);
  for (const line of stdout.split('\n')) if (line !== '') lines.add(line);
  return lines;
}

/** How often the kubelet has rotated the log of kube-proxy, by the times in the names of rotated logs. */
async function rotationsOn(node: Node): Promise<number> {
  const names = rotations.get(node) ?? new Set();
  rotations.set(node, names);
  const { stdout } = await node.shell(`ls ${KUBE_PROXY_LOGS}`);
  for (const [time] of stdout.matchAll(/\d{8}-\d{6}/g)) names.add(time);
  return names.size;
}

async function changeService(): Promise<void> {
  await cluster.controlPlane.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db', namespace: shop },
    spec: { selector: { app: 'db' }, ports: [{ name: 'db', port: 5432, targetPort: 5000 + ++change }] },
  });
}

function unusedService(index: number): object[] {
  const metadata = { name: `unused-${index}`, namespace: shop };
  const ports = [{ name: 'http', port: 80 }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': metadata.name } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [`10.244.9.${index + 1}`] }],
    },
  ];
}

/** Restarts every kube-proxy. */
async function setVerbosity(verbosity: number): Promise<void> {
  const path = '/spec/template/spec/containers/0/command/3';
  const patch = JSON.stringify([
    verbosity === 0 ? { op: 'remove', path } : { op: 'add', path, value: `-v=${verbosity}` },
  ]);
  await kubectl(cluster, '-n', 'kube-system', 'patch', 'daemonset', 'kube-proxy', '--type=json', '-p', patch);
  await kubectl(cluster, '-n', 'kube-system', 'rollout', 'status', 'daemonset/kube-proxy', '--timeout=120s');
}

async function kubeProxyOn(node: Node): Promise<string> {
  const pods = ['get', 'pods', '-l=k8s-app=kube-proxy', `--field-selector=spec.nodeName=${node.name}`];
  return kubectl(cluster, '-n', 'kube-system', ...pods, '-o=jsonpath={.items[0].metadata.name}');
}
