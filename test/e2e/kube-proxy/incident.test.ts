import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../agent-process.ts';
import { type AgentRig, createAgentRig, type StoredEvent } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { installFelixConfigurations, removeFelixConfigurations, setFelixConfiguration } from './felix.ts';
import { createScene, type Scene } from './scene.ts';

/** A real kube-proxy that can no longer write its rules, and what the agent tells of it. */

const connection = connect(inject('controlPlane'));
const patch =
  'kubectl patch felixconfiguration default --type=merge --patch=\'{"spec":{"bpfKubeProxyIptablesCleanupEnabled":false}}\'';
let rig: AgentRig;
let scene: Scene | undefined;

beforeAll(async () => {
  rig = await createAgentRig(connection);
});
afterEach(async () => {
  await rig.killAll();
  await scene?.end();
  scene = undefined;
});
afterAll(() => removeFelixConfigurations(connection));

async function begin(name: string, net: number): Promise<Scene> {
  scene = await createScene(connection, name, net, { podLogs: rig.newFolder() });
  return scene;
}

async function startAgent({ name, podLogs }: Scene, stateDir = rig.newFolder()): Promise<AgentProcess> {
  const agent = rig.start({ NODE_NAME: name, SOURCES: 'containers', POD_LOGS: podLogs, STATE_DIR: stateDir });
  await agent.untilReady();
  return agent;
}

/** Three, with successes in between: what is no flap. */
async function fight({ fail }: Scene): Promise<void> {
  for (let round = 0; round < 3; round++) await fail();
}

/** What the agent has told; kube-proxy writes an Event of its own when it starts. */
async function untilTold(
  namespace: string,
  matches: (events: StoredEvent[]) => boolean,
  object?: string,
  within?: number,
): Promise<StoredEvent[]> {
  return own(await rig.untilEvents(namespace, (all) => matches(own(all)), object, within));
}

function own(events: readonly StoredEvent[]): StoredEvent[] {
  return events.filter(({ reportingComponent }) => reportingComponent === 'kube-netfilter-tailer');
}

const codeOf = ({ message }: StoredEvent): string | undefined => /\[(KN\d+)[^\]]*\]$/.exec(message)?.[1];

async function describeOf(...what: string[]): Promise<string> {
  const { code, stdout, stderr } = await connection.kubectl(['describe', ...what]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.slice(stdout.indexOf('Events:'));
}

test('chains that somebody deletes: all whom it concerns are told, and told when it is over', async () => {
  const here = await begin('incident-fight', 101);
  const { name, proxyPod } = here;
  await startAgent(here);
  await fight(here);
  await untilTold('kube-system', ([event]) => event?.count === 3, proxyPod);

  const onPod = await describeOf('pod', proxyPod, '-n', 'kube-system');
  expect(onPod).toMatch(/Warning +\S+ .*kube-netfilter-tailer.*\[KN102\]/);
  expect(onPod).toContain(`${name}/db port 5432 (behind it ${name}/db on ${name}-other)`);
  expect(await describeOf('node', name)).toMatch(/Warning +\S+ .*\[KN102\]/);
  const onService = await connection.kubectl(['events', '--for', 'service/db', '-n', name]);
  expect(onService.stdout).toMatch(/Warning +\S+ +Service\/db +.*\[KN102\]/);
  // Whose rules were written is not named, and nothing is wrong with what has the node's own network.
  const pointed = await untilTold(name, (all) => targets(all).includes('Pod/web'), undefined, 60_000);
  expect(targets(pointed)).toEqual(['Pod/sick', 'Pod/web', 'Service/db']);
  expect(typesOf(pointed)).toEqual({ 'Pod/sick': 'Warning', 'Pod/web': 'Normal', 'Service/db': 'Warning' });
  expect(await describeOf('pod', 'sick', '-n', name)).toMatch(
    new RegExp(`Warning +NodeNetworkDegraded .*kubectl describe node ${name} \\[KN102\\]`),
  );

  // A fight is over only after some time in which it did not go on.
  await here.change();
  const ended = await untilTold('kube-system', (all) => all.length === 2, proxyPod, 150_000);
  expect(ended.find(({ type }) => type === 'Normal')?.message).toMatch(
    /^Over on incident-fight: .* with 3 failures .* The last attempt succeeded\. .*\[KN102\]$/,
  );
  for (const [namespace, object] of [
    ['default', name],
    [name, 'db'],
    [name, 'sick'],
    [name, 'web'],
  ] as const) {
    const both = await untilTold(namespace, (all) => all.length === 2, object, 30_000);
    const over = both.filter(({ message }) => message.startsWith(`Over on ${name}`));
    expect(over.map(({ type }) => type)).toEqual(['Normal']);
  }
  expect(await describeOf('node', name)).toMatch(/Normal +\S+ .*Over on incident-fight: /);
  expect(targets(await rig.events(name))).not.toContain('Pod/monitor');
}, 420_000);

test('an agent that is killed in the middle goes on with the same incident, and counts each failure once', async () => {
  const here = await begin('incident-killed', 104);
  const { name, proxyPod } = here;
  const stateDir = rig.newFolder();
  const agent = await startAgent(here, stateDir);
  await fight(here);
  await untilTold('default', ([event]) => event?.count === 3, name);
  await agent.kill();
  // Nobody reads it now.
  await here.fail();
  await startAgent(here, stateDir);
  await here.fail();
  const total = here.failures();
  expect(total).toBe(5);
  for (const [namespace, object] of [
    ['kube-system', proxyPod],
    ['default', name],
    [name, 'db'],
  ] as const) {
    const events = await untilTold(namespace, ([event]) => event?.count === total, object, 40_000);
    expect(events.map(codeOf)).toEqual(['KN102']);
  }
}, 180_000);

test('a lock that another program holds: told while it lasts, and that it is over', async () => {
  const here = await begin('incident-lock', 105);
  const { name, proxyPod } = here;
  await startAgent(here);
  const letGo = await here.place.holdLock();
  await here.change();
  await untilTold('default', (all) => all.length === 1, name, 60_000);
  await letGo();
  expect(await describeOf('node', name)).toMatch(/Warning +\S+ .*xtables lock.*\[KN104\]/);
  const both = await untilTold('kube-system', (all) => all.length === 2, proxyPod, 150_000);
  expect(both.map(codeOf)).toEqual(['KN104', 'KN104']);
  expect(both.map(({ type }) => type).toSorted()).toEqual(['Normal', 'Warning']);
}, 300_000);

test('with FelixConfiguration that says why: the command that ends it', async () => {
  await installFelixConfigurations(connection);
  await setFelixConfiguration(connection, { bpfEnabled: true });
  const here = await begin('incident-felix', 102);
  await startAgent(here);
  await fight(here);
  const { name, proxyPod } = here;
  await untilTold('kube-system', ([event]) => event?.count === 3, proxyPod);
  for (const text of [
    await describeOf('pod', proxyPod, '-n', 'kube-system'),
    await describeOf('node', name),
    (await connection.kubectl(['events', '--for', 'service/db', '-n', name])).stdout,
  ]) {
    expect(text).toContain(patch);
    expect(text).toContain('[KN101, KN102]');
  }
}, 120_000);

test('FelixConfiguration of this node alone: the clean-up is off, so it is not felix', async () => {
  await installFelixConfigurations(connection);
  await setFelixConfiguration(connection, { bpfEnabled: true });
  await setFelixConfiguration(connection, { bpfKubeProxyIptablesCleanupEnabled: false }, 'node.incident-spared');
  const here = await begin('incident-spared', 103);
  await startAgent(here);
  await fight(here);
  const [event] = await untilTold('kube-system', ([first]) => first?.count === 3, here.proxyPod);
  expect(event?.message).toContain('[KN102]');
  expect(event?.message).not.toContain('kubectl patch');
}, 120_000);

function targets(events: readonly StoredEvent[]): string[] {
  return [...new Set(events.map(({ involvedObject }) => `${involvedObject.kind}/${involvedObject.name}`))].toSorted();
}

function typesOf(events: readonly StoredEvent[]): Record<string, string> {
  return Object.fromEntries(
    events.map(({ involvedObject, type }) => [`${involvedObject.kind}/${involvedObject.name}`, type]),
  );
}
