import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import type { FlowRecord } from '../../src/audit/fields.ts';
import { policiesFile, rightsFile } from '../../src/kubernetes/rights.ts';
import { networkPolicy } from '../policies/objects.ts';
import {
  type AgentRig,
  createAgentRig,
  dropLine,
  kubeconfigWith,
  nodeObject,
  podObject,
  untilMetric,
} from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { rulesIn } from './granted.ts';

/** Tests which policy denied a packet, in the Events of an agent with the rights that the base grants, at a real API server. */

const controlPlane = connect(inject('controlPlane'));
const node = 'policies-node';
let rig: AgentRig;
let reading: string;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  reading = await kubeconfigWith(controlPlane, 'policies', rulesIn(rightsFile, policiesFile));
  await createObjects(controlPlane, { items: [nodeObject(node, '192.168.83.1')] });
});
afterEach(() => rig.killAll());

const allowFrontend = {
  podSelector: { matchLabels: { app: 'postgres' } },
  ingress: [{ from: [{ podSelector: { matchLabels: { app: 'frontend' } } }], ports: [{ port: 5432 }] }],
};

test('the Event of the Pod that is isolated names the policy and the clause, and that of its peer names neither', async () => {
  const { shop, batch, log } = await scene('denied', 1);
  await controlPlane.apply(networkPolicy(allowFrontend, 'allow-frontend', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: reading });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.1.2', '10.83.1.1', 5432));
  const [received] = await rig.untilEvents(shop, (all) => all.length === 1);
  expect(received?.message).toContain(`${shop}/allow-frontend ingress[0]`);
  expect(received?.message).toContain('has app=worker');
  const [sent] = await rig.untilEvents(batch, (all) => all.length === 1);
  expect(sent?.message).toContain(`kubectl -n ${shop} describe networkpolicy`);
  expect(sent?.message).not.toContain('allow-frontend');
  expect(Buffer.byteLength(received?.message ?? '')).toBeLessThan(600);
});

test('a policy that was written since the last Event is seen by the next', async () => {
  const { shop, batch, log } = await scene('changed', 2);
  await controlPlane.apply(networkPolicy(allowFrontend, 'allow-frontend', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: reading });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.2.2', '10.83.2.1', 5432));
  await rig.untilEvents(shop, (all) => all.length === 1);
  const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': batch } } }];
  await controlPlane.apply(networkPolicy({ ...allowFrontend, ingress: [{ from }] }, 'allow-batch', shop));
  appendFileSync(log, dropLine('10.83.2.2', '10.83.2.1', 5433));
  const events = await rig.untilEvents(shop, (all) => all.length === 2);
  const admitted = events.find(({ message }) => message.includes('5433/TCP'))?.message;
  expect(admitted).toContain(`${shop}/allow-batch ingress[0]`);
});

test('Events of many connections of one Pod take one list of its policies', async () => {
  const { shop, log } = await scene('many', 3);
  await controlPlane.apply(networkPolicy({ podSelector: {} }, 'default-deny', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: reading });
  await agent.untilReady();
  const now = new Date();
  const ports = [80, 443, 5432];
  appendFileSync(log, ports.map((port) => dropLine('10.83.3.2', '10.83.3.1', port, { time: now })).join(''));
  const events = await rig.untilEvents(shop, (all) => all.length === ports.length);
  for (const { message } of events) expect(message).toContain(`${shop}/default-deny`);
  // One for each of the two Namespaces.
  await untilMetric(agent, /api_requests_total\{verb="GET",resource="networkpolicies",code="200"\} 2$/m);
});

test('a row of the audit after the Event has the verdict', async () => {
  const { shop, log } = await scene('audit', 6);
  await controlPlane.apply(networkPolicy(allowFrontend, 'allow-frontend', shop));
  const file = join(rig.folder, 'policies-audit.ndjson');
  const env = {
    NODE_NAME: node,
    SOURCES: `file:${log}`,
    KUBECONFIG: reading,
    AUDIT: `file:${file}`,
    AUDIT_INTERVAL: '1',
  };
  const agent = rig.start(env);
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.6.2', '10.83.6.1', 5432));
  await rig.untilEvents(shop, (all) => all.length === 1);
  appendFileSync(log, dropLine('10.83.6.2', '10.83.6.1', 5432));
  const rows = (): FlowRecord[] =>
    (existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
      .filter((row) => row !== '')
      .map((row) => JSON.parse(row) as FlowRecord);
  await expect
    .poll(() => rows().reduce((sum, row) => sum + (row['network.packets'] ?? 0), 0), { timeout: 60_000 })
    .toBe(2);
  expect(rows().at(-1)).toMatchObject({
    'policy.verdict': 'denied',
    'policy.verdict_evidence': 'evaluated',
    'policy.direction': 'ingress',
    'policy.decided_by': `NetworkPolicy ${shop}/allow-frontend`,
    'policy.nearest': `NetworkPolicy ${shop}/allow-frontend ingress[0]`,
  });
});

test('without the right an Event is as before, and the log has one line of it', async () => {
  const { shop, log } = await scene('unread', 4);
  await controlPlane.apply(networkPolicy({ podSelector: {} }, 'default-deny', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}` });
  await agent.untilReady();
  for (const port of [80, 443]) appendFileSync(log, dropLine('10.83.4.2', '10.83.4.1', port));
  const events = await rig.untilEvents(shop, (all) => all.length === 2);
  for (const { message } of events) {
    expect(message).toContain(`kubectl -n ${shop} describe networkpolicy`);
    expect(message).not.toContain('default-deny');
  }
  expect(agent.log.filter(({ msg }) => String(msg).includes('networkpolicies'))).toHaveLength(1);
  const { body } = await agent.get('/metrics');
  expect(body).not.toMatch(/resource="networkpolicies"/);
  for (const path of ['/healthz', '/readyz']) expect((await agent.get(path)).status).toBe(200);
});

test('with POLICIES=off nothing is read, and nothing is in the log', async () => {
  const { shop, log } = await scene('off', 5);
  await controlPlane.apply(networkPolicy({ podSelector: {} }, 'default-deny', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: reading, POLICIES: 'off' });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.5.2', '10.83.5.1', 80));
  const [event] = await rig.untilEvents(shop, (all) => all.length === 1);
  expect(event?.message).toContain(`kubectl -n ${shop} describe networkpolicy`);
  expect(agent.log.filter(({ msg }) => String(msg).includes('networkpolicies'))).toEqual([]);
});

/** postgres-0 of one Namespace, 10.83.N.1, and worker-7 of another, 10.83.N.2; a log without lines. */
async function scene(name: string, net: number): Promise<{ shop: string; batch: string; log: string }> {
  const [shop, batch] = [`policies-${name}-shop`, `policies-${name}-batch`];
  const labelled = (namespace: string, pod: string, app: string, host: number) => {
    const object = podObject({ namespace, name: pod, node, addresses: [`10.83.${net}.${host}`] });
    return { ...object, metadata: { ...object.metadata, labels: { app } } };
  };
  await createObjects(controlPlane, {
    items: [labelled(shop, 'postgres-0', 'postgres', 1), labelled(batch, 'worker-7', 'worker', 2)],
  });
  return { shop, batch, log: rig.newLog() };
}
