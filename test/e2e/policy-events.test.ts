import { appendFileSync } from 'node:fs';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { policiesFile, rightsFile } from '../../src/kubernetes/rights.ts';
import { networkPolicy } from '../policies/objects.ts';
import { type AgentRig, createAgentRig, dropLine, kubeconfigWith, nodeObject, podObject } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { rulesIn } from './granted.ts';

/** Tests which policy denied a packet, in the Events of an agent with the rights that the base grants, at a real API server. */

const controlPlane = connect(inject('controlPlane'));
const node = 'policies-node';
let rig: AgentRig;
let reading: string;
let withoutPolicies: string;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  reading = await kubeconfigWith(controlPlane, 'policies', rulesIn(rightsFile, policiesFile));
  // Other tests deploy the base, which gives the rig's own account the right.
  withoutPolicies = await kubeconfigWith(controlPlane, 'no-policies', rulesIn(rightsFile));
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

test('without the right an Event is as before, and the log has one line of it', async () => {
  const { shop, log } = await scene('unread', 4);
  await controlPlane.apply(networkPolicy({ podSelector: {} }, 'default-deny', shop));
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: withoutPolicies });
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
