/** A packet that a policy denies, from one Pod to another on another node: real packets, real rules, real agents. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { agentOn, kubectl, NAMESPACE, removeAgents, rollOut } from './agents.ts';
import { connectCluster } from './cluster.ts';
import type { Node } from './node.ts';
import { denyOn, packetsIn, podOf, type RunningPod, send, startWorkloads, untilEvents } from './pods.ts';
import type { Outcome } from '../outcome.ts';
import { createPluginShell, type PluginShell } from '../kubectl-plugin/plugin-shell.ts';
import { openTerminal, type Terminal } from '../kubectl-plugin/terminal.ts';
import { createOwnFolder } from '../own-folder.ts';

const cluster = connectCluster(inject('cluster'));
const [first, second] = cluster.nodes;
const [shop, batch] = ['drops-shop', 'drops-batch'];
/** Packets of the flow that is counted. */
const PACKETS = 137;
let postgres: RunningPod;
let worker: RunningPod;
let dropped: () => Promise<number>;
const folder = createOwnFolder('plugin');
let plugin: PluginShell;

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
  await cluster.controlPlane.apply({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'default-deny', namespace: shop },
    spec: { podSelector: {}, ingress: [{ from, ports: [{ port: 5432, protocol: 'UDP' }] }] },
  });
  postgres = await podOf(cluster, shop, 'postgres');
  worker = await podOf(cluster, batch, 'worker');
  dropped = await denyOn(second, postgres.address, 5432);
  plugin = createPluginShell(cluster.controlPlane, folder, shop);
});

afterAll(async () => {
  rmSync(folder, { recursive: true });
  await second.run(['iptables', '-w', '-F', 'FORWARD']);
  await kubectl(cluster, 'delete', 'namespace', shop, batch, '--ignore-not-found', '--wait=false');
  await removeAgents(cluster);
});

test('both Pods get an Event, which names the senders and the clause of the policy', async () => {
  await send(cluster, worker, postgres.address, 5432, PACKETS);
  expect(await dropped()).toBe(PACKETS);
  const [onReceiver] = await untilEvents(cluster, shop, postgres.name, (events) => packetsIn(events) === PACKETS);
  expect(onReceiver?.message).toContain(`from ${batch}/${worker.name} (${worker.address}) on port 5432/UDP (pg)`);
  expect(onReceiver?.message).toContain(
    `${shop}/default-deny: ingress[0] allows only Pods app=frontend in ${shop}. To allow Pods app=worker`,
  );
  const [onSender] = await untilEvents(cluster, batch, worker.name, (events) => packetsIn(events) === PACKETS);
  expect(onSender?.message).toContain(`to ${shop}/${postgres.name} (${postgres.address}) on port 5432/UDP (pg)`);
  expect(onSender?.message).not.toContain('default-deny');
});

test('the rows of the audit equal the packets sent, on the node that dropped them', async () => {
  await expect.poll(async () => packets(await rowsOf(second)), { timeout: 60_000, interval: 500 }).toBe(PACKETS);
  for (const row of await rowsOf(second))
    expect(row).toMatchObject({
      'source.k8s.pod.name': worker.name,
      'destination.port': 5432,
      'network.transport': 'udp',
    });
  expect(await rowsOf(first)).toEqual([]);
});

test('kubectl drops lists the drops of the namespace, why explains them, top has the flow, and doctor finds no problem', async () => {
  expect(await drops()).toMatchObject({ stderr: '', stdout: expect.stringMatching(`${postgres.name}.*${PACKETS}`) });
  expect((await drops('why', postgres.name)).stdout).toContain('default-deny');
  expect(await drops('top')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^FROM .* 5432\/UDP /ms) });
  const agent = await agentOn(cluster, second.name);
  const doctor = '-- kube-netfilter-tailer doctor'.split(' ');
  const { stdout } = await cluster.controlPlane.kubectl(['-n', NAMESPACE, 'exec', agent, ...doctor]);
  for (const check of ['settings', 'api-server', 'clock', 'node', 'rights', 'agent', 'state'])
    expect(stdout).toMatch(new RegExp(`^ok +${check} `, 'm'));
  expect(stdout).not.toMatch(/^problem /m);
});

const shows = (lines: readonly string[], port: number): boolean => lines.some((line) => line.includes(` ${port}/UDP `));
/** A picture is drawn in several pieces; its last line shows the keys. */
const isWhole = (lines: readonly string[]): boolean => lines.at(-1)?.startsWith('<q> quit') === true;

test('top in a terminal: shows rows and colours, follows keys and a larger window, and restores the screen at the end', async () => {
  // A second flow, because the selected row has no colours.
  await denyOn(second, postgres.address, 80);
  await send(cluster, worker, postgres.address, 80, 3);
  const terminal = openTop({ columns: 95, lines: 20 });
  await terminal.until((lines) => shows(lines, 5432) && shows(lines, 80) && isWhole(lines));
  expect(terminal.isOnSecondScreen()).toBe(true);
  await terminal.until(() => terminal.hasColours());
  terminal.type('/80/udp');
  await terminal.until((lines) => shows(lines, 80) && !shows(lines, 5432) && lines.at(-1) === 'filter: 80/udp_');
  terminal.type('\r\u001B');
  await terminal.until((lines) => shows(lines, 5432));
  terminal.grow();
  await terminal.until((lines) => lines[2]?.includes('PACKETS') === true && isWhole(lines));
  terminal.type('q');
  expect(await terminal.untilExit()).toBe(0);
  expect(terminal.isOnSecondScreen()).toBe(false);
  expect(terminal.written()).toContain('\u001B[?25h');
});

test('top in a terminal without capabilities (TERM=dumb) prints plain tables', async () => {
  const terminal = openTop({ columns: 80, lines: 24 }, { TERM: 'dumb' }, '--count', '1');
  expect(await terminal.untilExit()).toBe(0);
  expect(terminal.written()).not.toContain('\u001B');
});

test("a user with the Role of live-drops sees the flows; a user without it gets the API server's answer", async () => {
  const [apiGroup, name] = ['rbac.authorization.k8s.io', 'kube-netfilter-tailer-drops'];
  await cluster.controlPlane.apply({
    apiVersion: `${apiGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'viewer', namespace: NAMESPACE },
    roleRef: { apiGroup, kind: 'Role', name },
    subjects: [{ apiGroup, kind: 'User', name: 'viewer' }],
  });
  await expect
    .poll(async () => (await drops('top', '--as', 'viewer')).stdout, { timeout: 60_000 })
    .toContain('5432/UDP');
  const { code, stdout, stderr } = await drops('top', '--as', 'stranger');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^kubectl drops top: .*cannot list resource "pods"/);
});

test.each([
  ['no agent', ['--agents-namespace', 'default']],
  ['an agent that does not serve flows', ['--agents-port', '1']],
])('top, %s: prints one line, with exit status 1', async (_, args) => {
  const { code, stdout, stderr } = await drops('top', ...args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^kubectl drops top: .+\n$/);
});

function drops(...args: readonly string[]): Promise<Outcome> {
  return plugin.kubectl(['drops', ...args]);
}

function openTop(
  size: { columns: number; lines: number },
  env: Record<string, string> = {},
  ...args: string[]
): Terminal {
  const command = [cluster.controlPlane.kubectlPath, 'drops', 'top', '--interval', '1', ...args];
  return openTerminal(command, { ...plugin.env, ...env }, size);
}

interface Row {
  readonly 'destination.k8s.pod.name'?: string;
  readonly 'network.packets': number;
}

/** Rows about the Pod `postgres` in the audit file of a node. */
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
