import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { conditionType } from '../../src/incidents/reporting/message.ts';
import { chainHash } from '../../src/resolving/service-chains/chain-name.ts';
import { type AgentRig, createAgentRig, kubeconfigWith, nodeObject } from './agent-rig.ts';
import { rulesIn } from './granted.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { createObjects } from './control-plane/objects.ts';
import { type CriLog, createCriLog } from './kube-proxy/cri-log.ts';
import { failedSync } from './kube-proxy/failed-sync.ts';

/** The condition of a Node at a real API server, with the rights of the component. */

/** The API server is its own: with the Nodes of other tests, at times thousands, a write would be spread over more than a minute. */
let connection: ControlPlane;
/** The kubelet's condition, of which nothing may be lost. */
const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
let rig: AgentRig;

beforeAll(async () => {
  connection = await startControlPlane();
  rig = await createAgentRig(connection);
}, 120_000);
afterAll(async () => {
  await rig?.killAll();
  await connection?.stop();
});

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastHeartbeatTime: string;
  lastTransitionTime: string;
}

async function conditionsOf(name: string): Promise<Condition[]> {
  const { body } = await connection.request('GET', `/api/v1/nodes/${name}`);
  return (body as { status: { conditions?: Condition[] } }).status.conditions ?? [];
}

async function ours(name: string): Promise<Condition | undefined> {
  return (await conditionsOf(name)).find(({ type }) => type === conditionType);
}

/** A Node with kube-proxy's log, and an agent that keeps its condition. */
async function scene(name: string, address: string, KUBECONFIG: string) {
  await createObjects(connection, { items: [nodeObject(name, address)] });
  const status = { conditions: [ready], addresses: [{ type: 'InternalIP', address }] };
  const contentType = 'application/merge-patch+json';
  await connection.request('PATCH', `/api/v1/nodes/${name}/status`, { body: { status }, contentType });
  const podLogs = rig.newFolder();
  const log = createCriLog({
    podLogs,
    namespace: 'kube-system',
    pod: `kube-proxy-${name}`,
    uid: name,
    container: 'kube-proxy',
  });
  const env = { NODE_NAME: name, SOURCES: 'containers', POD_LOGS: podLogs, NODE_CONDITION: 'true', KUBECONFIG };
  return { log, env: { ...env, STATE_DIR: rig.newFolder() } };
}

/** Two attempts to write a rule fail: that is an incident. */
async function fail(log: CriLog, name: string): Promise<void> {
  for (let attempt = 0; attempt < 2; attempt++) {
    for (const line of failedSync(`KUBE-SVC-${chainHash(`${name}/dbtcp`)}`, new Date())) log.write(line);
    await delay(3000);
  }
}

async function until(name: string, expected: Partial<Condition>): Promise<void> {
  await expect.poll(() => ours(name), { timeout: 90_000, interval: 200 }).toMatchObject(expected);
}

test('a Node says that its rules are stale while they are, over a restart, and an agent without state clears it', async () => {
  const name = 'condition-node';
  const rules = rulesIn('deploy/base/rbac.yaml', 'deploy/components/node-condition/rbac.yaml');
  const { log, env } = await scene(name, '192.168.84.1', await kubeconfigWith(connection, 'node-condition', rules));
  log.write('I1122 10:00:00.000000       1 server.go:1] "Starting"');
  const agent = rig.start(env);
  await agent.untilReady();
  await until(name, { status: 'False', reason: 'NetfilterRulesCurrent' });

  await fail(log, name);
  await until(name, { status: 'True', reason: 'ServiceChainMissing' });
  const stale = await ours(name);
  expect(stale?.message).toMatch(/^KN102: .* Details: kubectl describe node condition-node$/);
  expect(await conditionsOf(name)).toContainEqual(expect.objectContaining(ready));
  const described = await connection.kubectl(['describe', 'node', name]);
  expect(described.stdout).toMatch(/^ {2}NetfilterRulesStale +True /m);
  await agent.kill();

  const again = rig.start(env);
  await again.untilReady();
  await expect
    .poll(async () => (await ours(name))?.lastHeartbeatTime, { timeout: 60_000, interval: 200 })
    .not.toBe(stale?.lastHeartbeatTime);
  expect(await ours(name)).toMatchObject({ status: 'True', lastTransitionTime: stale?.lastTransitionTime });
  await again.kill();

  const forgetful = rig.start({ ...env, STATE_DIR: rig.newFolder() });
  await forgetful.untilReady();
  await until(name, { status: 'False' });
  expect(await conditionsOf(name)).toContainEqual(expect.objectContaining(ready));
});
