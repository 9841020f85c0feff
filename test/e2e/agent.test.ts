import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import {
  accountWith,
  type AgentRig,
  createAgentRig,
  dropLine,
  nodeObject,
  podObject,
  type StoredEvent,
  sumOf,
  untilMetric,
} from './agent-rig.ts';
import type { Rule } from './granted.ts';
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

// The line is one of an older kernel, which names no namespace; how full the table of this machine is, its own kernel says.
test("a full connection tracking table is an Event on the Node, which says that the node's own has room", async () => {
  const full = 'agent-full';
  await createInQuietHours(controlPlane, [nodeObject(full, '192.168.80.3')]);
  const log = rig.newLog();
  const agent = rig.start({ NODE_NAME: full, SOURCES: `file:${log}` });
  await agent.untilReady();
  // Once would be none.
  for (const ago of [5000, 0]) {
    const time = new Date(Date.now() - ago).toISOString();
    const line = `${time} ${full} kernel: nf_conntrack: nf_conntrack: table full, dropping packet\n`;
    appendFileSync(log, line.repeat(ago === 0 ? 2 : 3));
  }
  await rig.untilEvents('default', ([event]) => event?.count === 5, full);
  const { stdout } = await controlPlane.kubectl(['describe', 'node', full]);
  expect(stdout).toMatch(
    /Warning +ConntrackTableFull +\S+ \(x5 over \S+\) +kube-netfilter-tailer +New connections of a Pod .* agent-full: .*, not the node's own \(\d+ of \d+ entries\)\. .*\[KN401\]/,
  );
});

// The /proc is mounted as by conntrack-details; the kernel's own is as full as this machine has it.
test('a connection tracking table that is nearly full is an Event on the Node, and two metrics', async () => {
  const name = 'agent-nearly-full';
  await createInQuietHours(controlPlane, [nodeObject(name, '192.168.80.4')]);
  const proc = rig.newFolder();
  mkdirSync(join(proc, 'sys/net/netfilter'), { recursive: true });
  // Its mode shows that the namespace is the host's.
  for (const [file, text] of Object.entries({ count: '950\n', max: '1000\n', buckets: '256\n' }))
    writeFileSync(join(proc, `sys/net/netfilter/nf_conntrack_${file}`), text, { mode: 0o644 });
  const agent = rig.start({ NODE_NAME: name, SOURCES: `file:${rig.newLog()}`, PROC_ROOT: proc });
  await agent.untilReady();
  const [event] = await rig.untilEvents('default', (all) => all.length > 0, name);
  expect(event).toMatchObject({ reason: 'ConntrackTableNearlyFull', type: 'Warning' });
  expect(event?.message).toContain('(950 of 1000 entries)');
  expect(event?.metadata.annotations).toMatchObject({ 'kube-netfilter-tailer/code': 'KN404' });
  await untilMetric(agent, /^kube_netfilter_tailer_conntrack_entries 950$/m);
  await untilMetric(agent, /^kube_netfilter_tailer_conntrack_limit 1000$/m);
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
  const contentType = 'application/merge-patch+json';
  const patched = await controlPlane.request('PATCH', path, {
    body: { metadata: { annotations: plain } },
    contentType,
  });
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

test('a missing right is named once, with a metric, and the rest goes on', async () => {
  const { namespace, log } = await scene('rights', { web: ['10.80.5.1'] });
  const watching = rule(['pods', 'nodes', 'services'], ['list', 'watch']);
  const token = await accountWith(controlPlane, 'no-services', [rule(['pods', 'nodes'], ['list', 'watch'])]);
  const kubeconfig = await controlPlane.writeKubeconfig('no-services', token);
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, KUBECONFIG: kubeconfig });
  const entry = await agent.untilLog(({ msg }) => /Missing right: list services/.test(String(msg)));
  expect(entry).toMatchObject({ level: 'error', verb: 'list', resource: 'services' });
  await untilMetric(agent, /missing_permission\{verb="list",resource="services"\} 1$/m);
  expect((await agent.get('/readyz')).body).toContain('services');

  // Given the right to list Services, but not to write Events.
  await accountWith(controlPlane, 'no-services', [watching]);
  await agent.untilReady();
  await untilMetric(agent, /missing_permission\{verb="list",resource="services"\} 0$/m);
  appendFileSync(log, dropLine('203.0.113.9', '10.80.5.1', 80).repeat(3));
  await agent.untilLog(({ msg }) => /Missing right: create events/.test(String(msg)));
  expect(agent.log.filter(({ msg }) => /Missing right: list services/.test(String(msg)))).toHaveLength(1);
  expect(await rig.events(namespace)).toEqual([]);

  // Tried again a minute later.
  await accountWith(controlPlane, 'no-services', [watching, rule(['events'], ['create', 'patch', 'get'])]);
  await rig.untilEvents(namespace, (all) => sumOf(all) === 3);
  await agent.untilLog(({ msg }) => /The right to create events is there now/.test(String(msg)));
});

test('settings and state: without NODE_NAME it says what is missing, and ends', async () => {
  const agent = rig.start({ METRICS_ADDRESS: 'nonsense' });
  expect(await agent.untilExit()).toEqual({ code: 2, signal: null });
  expect(agent.errors).toMatch(/NODE_NAME or --node: .*spec\.nodeName/);
  expect(agent.errors).toMatch(/METRICS_ADDRESS "nonsense": must be :PORT/);
});

test('a Node that does not exist', async () => {
  const agent = rig.start({ NODE_NAME: 'agent-nod', SOURCES: `file:${rig.newLog()}` });
  const { msg, nodes } = await agent.untilLog(({ problem, nodes: some }) => problem === 'node' && some !== undefined);
  expect(msg).toContain('agent-nod');
  // The first few, of whichever test file made them.
  expect((nodes as string[]).length).toBeGreaterThan(0);
  expect(nodes).not.toContain('agent-nod');
});

function rule(resources: string[], verbs: string[]): Rule {
  return { apiGroups: [''], resources, verbs };
}

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
