/** A packet that a policy denies, from one Pod to another on another node: real packets, real rules, real agents. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { agentOn, apply, kubectl, NAMESPACE, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import type { Node } from './node.ts';
import { denyOn, packetsIn, podOf, type RunningPod, send, startWorkloads, untilEvents } from './pods.ts';
import { createPluginShell } from '../kubectl-plugin/plugin-shell.ts';
import { createOwnFolder } from '../own-folder.ts';

const cluster = connectCluster(inject('cluster'));
const [first, second] = cluster.nodes;
const [shop, batch] = ['drops-shop', 'drops-batch'];
/** Packets of the flow that is counted. */
const PACKETS = 137;
let postgres: RunningPod;
let worker: RunningPod;
let dropped: () => Promise<number>;

beforeAll(async () => {
  await rollOut(cluster, { components: ['audit-file', 'live-drops'], env: { AUDIT_INTERVAL: '10' } });
  await startWorkloads(
    cluster,
    {
      namespace: shop,
      name: 'postgres',
      node: second.name,
      port: { name: 'pg', containerPort: 5432, protocol: 'UDP' },
    },
    { namespace: batch, name: 'worker', node: first.name },
  );
  const from = [{ podSelector: { matchLabels: { app: 'frontend' } } }];
  await apply(cluster, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'default-deny', namespace: shop },
    spec: { podSelector: {}, ingress: [{ from, ports: [{ port: 5432, protocol: 'UDP' }] }] },
  });
  postgres = await podOf(cluster, shop, 'postgres');
  worker = await podOf(cluster, batch, 'worker');
  dropped = await denyOn(second, postgres.address, 5432);
});

afterAll(async () => {
  await second.run(['iptables', '-w', '-F', 'FORWARD']);
  await kubectl(cluster, 'delete', 'namespace', shop, batch, '--ignore-not-found', '--wait=false');
  await removeAgents(cluster);
});

test('both Pods get an Event, which says whose packets, and the clause of the policy', async () => {
  await send(cluster, worker, postgres.address, 5432, PACKETS);
  expect(await dropped()).toBe(PACKETS);
  const [onReceiver] = await untilEvents(cluster, shop, postgres.name, (events) => packetsIn(events) === PACKETS);
  expect(onReceiver?.message).toContain(`from ${batch}/${worker.name} (${worker.address}) on port 5432/UDP (pg)`);
  expect(onReceiver?.message).toContain(
    `${shop}/default-deny ingress[0]: UDP 5432 matches, from[0] wants podSelector app=frontend`,
  );
  const [onSender] = await untilEvents(cluster, batch, worker.name, (events) => packetsIn(events) === PACKETS);
  expect(onSender?.message).toContain(`to ${shop}/${postgres.name} (${postgres.address}) on port 5432/UDP (pg)`);
});

test('the rows of the audit are what was sent, on the node that dropped it', async () => {
  await expect.poll(async () => packets(await rowsOf(second)), { timeout: 60_000 }).toBe(PACKETS);
  for (const row of await rowsOf(second))
    expect(row).toMatchObject({
      'source.k8s.pod.name': worker.name,
      'destination.port': 5432,
      'network.transport': 'udp',
    });
  expect(await rowsOf(first)).toEqual([]);
});

test('kubectl drops lists the drops of the namespace, why explains them, top has the flow, and doctor finds nothing wrong', async () => {
  const folder = createOwnFolder('plugin');
  const plugin = createPluginShell(cluster.controlPlane, folder, shop);
  const drops = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr, code } = await plugin.kubectl(['drops', ...args]);
    expect({ code, stderr, args }).toMatchObject({ stderr: '' });
    return stdout;
  };
  const list = await drops();
  expect(list).toMatch(new RegExp(`${postgres.name}.*${PACKETS}`));
  expect(await drops('why', postgres.name)).toContain('default-deny');
  expect(await drops('top')).toMatch(/5432\/UDP/);
  rmSync(folder, { recursive: true });
  const agent = await agentOn(cluster, second.name);
  const doctor = '-- kube-netfilter-tailer doctor'.split(' ');
  const { stdout } = await cluster.controlPlane.kubectl(['-n', NAMESPACE, 'exec', agent, ...doctor]);
  expect(stdout).toMatch(/^ok +rights /m);
  expect(stdout).not.toMatch(/^failed /m);
});

interface Row {
  readonly 'destination.k8s.pod.name'?: string;
  readonly 'network.packets': number;
}

/** Rows about the Pod `postgres` in the audit's file on a node. */
async function rowsOf(node: Node): Promise<Row[]> {
  const { stdout } = await node.shell('cat /var/log/kube-netfilter-tailer/audit.ndjson');
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines
    .map((line) => JSON.parse(line) as Row)
    .filter((row) => row['destination.k8s.pod.name'] === postgres.name);
}

function packets(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + row['network.packets'], 0);
}
