import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import {
  type AgentRig,
  createAgentRig,
  dropLine,
  nodeObject,
  podObject,
  type StoredEvent,
  sumOf,
  untilMetric,
} from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { createInQuietHours } from './quiet-hours.ts';

/** The agent at a real API server: what it publishes, and what it does when things go wrong. Lines come from a file. */

const controlPlane = connect(inject('controlPlane'));
const node = 'agent-node';
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [nodeObject(node, '192.168.80.1'), nodeObject('other-node', '192.168.80.2')],
  });
});
afterEach(() => rig.killAll());

test('a drop between Pods of two nodes has Events on both, the remote Pod being looked up', async () => {
  const { namespace, log } = await scene('remote', { web: ['10.80.1.1', 'fd00:80::1'] });
  const ports = [{ name: 'postgres', containerPort: 5432 }];
  await createObjects(controlPlane, {
    items: [podObject({ namespace, name: 'db', node: 'other-node', addresses: ['10.80.2.1', 'fd00:80::2'], ports })],
  });
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}` });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.80.1.1', '10.80.2.1', 5432));
  const events = await rig.untilEvents(namespace, (all) => all.length === 2);
  expect(messagesOf(events)).toEqual({
    db: [expect.stringContaining(` ${namespace}/web (10.80.1.1) on port 5432/TCP (postgres).`)],
    web: [expect.stringContaining(` ${namespace}/db (10.80.2.1) on port 5432/TCP (postgres).`)],
  });
  expect(events[0]).toMatchObject({
    source: { component: 'kube-netfilter-tailer', host: node },
    related: { kind: 'Pod' },
    reportingComponent: 'kube-netfilter-tailer',
    reportingInstance: `kube-netfilter-tailer-${node}`,
  });
  expect(annotationsOn(events, 'db')).toMatchObject({
    schema: '1',
    node,
    direction: 'receiving',
    verdict: 'dropped',
    protocol: 'TCP',
    port: '5432',
    peer: `Pod/${namespace}/web`,
  });
  expect(annotationsOn(events, 'web')).toMatchObject({ direction: 'sending', peer: `Pod/${namespace}/db` });

  // Its second address cannot be looked up, but came along with the first.
  appendFileSync(log, dropLine('fd00:80::1', 'fd00:80::2', 5433));
  const more = await rig.untilEvents(namespace, (all) => all.length === 4);
  expect(messagesOf(more)['db']).toContainEqual(expect.stringContaining('on port 5433/TCP.'));
});

test('a drop is given to the Pod that had the address then, also when it is gone', async () => {
  const { namespace, log } = await scene('reused', { first: ['10.80.1.3'] });
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}` });
  await agent.untilReady();
  const { body } = await agent.get('/metrics');
  const [, pods = ''] = /cached_objects\{resource="pods"\} (\d+)$/m.exec(body) ?? [];
  const then = new Date();
  const gone = await controlPlane.kubectl(['delete', 'pod', 'first', '-n', namespace, '--grace-period=0', '--force']);
  expect(gone.code).toBe(0);
  const startTime = new Date(Date.now() + 3000).toISOString().replace(/\.\d+/, '');
  await createObjects(controlPlane, {
    items: [podObject({ namespace, name: 'second', node, addresses: ['10.80.1.3'], startTime })],
  });
  // One was taken out, and another one put in.
  await untilMetric(agent, /tombstones 1$/m);
  await untilMetric(agent, new RegExp(`cached_objects\\{resource="pods"\\} ${pods}$`, 'm'));
  appendFileSync(log, dropLine('203.0.113.9', '10.80.1.3', 80, { time: new Date(then.getTime() - 2000) }));
  const events = await rig.untilEvents(namespace, (all) => all.length === 1);
  expect(messagesOf(events)).toEqual({ first: [expect.stringContaining('80/TCP')] });
});

test('when the state is lost, counts go on from what the Event says', async () => {
  const { namespace, log } = await scene('forgotten', { web: ['10.80.3.4'] });
  const settings = { NODE_NAME: node, SOURCES: `file:${log}` };
  const agent = rig.start(settings);
  await agent.untilReady();
  appendFileSync(log, dropLine('203.0.113.9', '10.80.3.4', 80).repeat(4));
  const [first] = await rig.untilEvents(namespace, (all) => sumOf(all) === 4);
  await agent.kill();
  // An agent that knew no annotations but its own left the Event so.
  const plain = { 'kube-netfilter-tailer/schema': null, 'kube-netfilter-tailer/peer': null };
  const path = `/api/v1/namespaces/${namespace}/events/${first?.metadata.name}`;
  const patched = await controlPlane.request('PATCH', path, { body: { metadata: { annotations: plain } } });
  expect(patched.status).toBe(200);
  const next = rig.start(settings);
  await next.untilReady();
  // Stamps are cut to seconds: those of the first run must be over, or packets of the two runs could not be distinguished.
  const later = new Date(Date.parse(first?.lastTimestamp ?? '') + 2000);
  await delay(Math.max(0, later.getTime() - Date.now()));
  appendFileSync(log, dropLine('203.0.113.9', '10.80.3.4', 80).repeat(2));
  const events = await rig.untilEvents(namespace, (all) => sumOf(all) === 6);
  expect(events).toHaveLength(1);
  expect(annotationsOn(events, 'web')).toMatchObject({
    schema: '1',
    peer: 'external/203.0.113.9',
    state: expect.any(String),
  });
});

test('settings and state: without NODE_NAME it says what is missing, and ends', async () => {
  const agent = rig.start({ METRICS_ADDRESS: 'nonsense' });
  expect(await agent.untilExit()).toEqual({ code: 2, signal: null });
  expect(agent.errors).toMatch(/NODE_NAME or --node: .*spec\.nodeName/);
  expect(agent.errors).toMatch(/METRICS_ADDRESS "nonsense": must be :PORT/);
});

/** Pods on the agent's node, in a namespace of their own, and an empty log. */
async function scene(
  namespace: string,
  pods: Readonly<Record<string, readonly string[]>>,
): Promise<{ namespace: string; log: string }> {
  await createInQuietHours(
    controlPlane,
    Object.entries(pods).map(([name, addresses]) => podObject({ namespace, name, node, addresses })),
  );
  return { namespace, log: rig.newLog() };
}

function messagesOf(events: StoredEvent[]): Record<string, string[]> {
  const messages: Record<string, string[]> = {};
  for (const { involvedObject, message } of events) (messages[involvedObject.name] ??= []).push(message);
  return messages;
}

/** Annotations of the only Event of an object, without their prefix. */
function annotationsOn(events: StoredEvent[], object: string): Record<string, string> {
  const [event, ...others] = events.filter(({ involvedObject }) => involvedObject.name === object);
  expect(others).toEqual([]);
  const entries = Object.entries(event?.metadata.annotations ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key.replace('kube-netfilter-tailer/', ''), value]));
}
