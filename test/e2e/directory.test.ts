import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { createDirectoryFinder } from '../../src/directory/client.ts';
import { createSteadyClock } from '../../src/platform/clock.ts';
import { readManifests } from '../deploy/manifests.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, untilMetric } from './agent-rig.ts';
import { bundle, bundleNode } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { makeAccount, rulesIn } from './granted.ts';

/** The shared directory at a real API server, with the rights of its component, asked by agents with those of the base. */

const controlPlane = connect(inject('controlPlane'));
const namespace = 'kube-netfilter-tailer';
const name = 'kube-netfilter-tailer-directory';
const node = 'directory-node';
let rig: AgentRig;
let kubeconfig: string;
const replicas: AgentProcess[] = [];
/** A port of the Pods that are looked up. */
const postgres = { name: 'postgres', containerPort: 5432 };

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  const rights = 'deploy/components/shared-directory/rbac.yaml';
  const items = readManifests(rights);
  const token = await makeAccount(controlPlane, { namespace, name }, items, rulesIn(rights));
  kubeconfig = await controlPlane.writeKubeconfig('directory', token);
  await createObjects(controlPlane, {
    items: [nodeObject(node, '192.168.83.1'), nodeObject('directory-other', '192.168.83.2')],
  });
  await Promise.all(['one', 'two'].map((each) => startReplica(each)));
});
afterEach(() => rig.killAll());
afterAll(() => Promise.all(replicas.map((replica) => replica.kill())));

test('the Pod of another node is found without a question to the API server', async () => {
  const { place, log } = await scene('directory-remote', '10.83.1.1', { db: ['10.83.2.9', 'fd00:83::9'] });
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, ...(await directorySettings()) });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.1.1', '10.83.2.9', 5432) + dropLine('10.83.1.1', '192.168.83.2', 443));
  const events = await rig.untilEvents(place, (all) => all.length === 3);
  const { body: pod } = await controlPlane.request('GET', `/api/v1/namespaces/${place}/pods/db`);
  expect(events.find(({ involvedObject }) => involvedObject.name === 'db')?.involvedObject.uid).toBe(
    (pod as { metadata: { uid: string } }).metadata.uid,
  );
  expect(events.map(({ message }) => message)).toContainEqual(expect.stringContaining('on port 5432/TCP (postgres).'));
  await untilMetric(agent, /pod_lookup_ways_total\{way="directory",result="hit"\} 1$/m);
  const { body } = await agent.get('/metrics');
  // The informer's own list.
  expect(body).toMatch(/api_requests_total\{verb="GET",resource="pods",code="200"\} 1$/m);
  expect(body).not.toMatch(/resource="(?:ipamblocks|ippools|configmaps)"/);
});

test('an address goes to the Pod that had it then', async () => {
  const { place, log } = await scene('directory-reused', '10.83.1.2', { past: ['10.83.2.10'] });
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, ...(await directorySettings()) });
  await agent.untilReady();
  const then = new Date();
  await controlPlane.kubectl(['delete', 'pod', 'past', '-n', place, '--grace-period=0', '--force']);
  const startTime = new Date(Date.now() + 4000).toISOString().replace(/\.\d+/, '');
  await createObjects(controlPlane, {
    items: [
      podObject({ namespace: place, name: 'next', node: 'directory-other', addresses: ['10.83.2.10'], startTime }),
    ],
  });
  for (const replica of replicas) await untilMetric(replica, /tombstones [1-9]\d*$/m);
  appendFileSync(log, dropLine('10.83.1.2', '10.83.2.10', 80, { time: new Date(then.getTime() - 1000) }));
  const events = await rig.untilEvents(place, (all) => all.length === 2);
  expect(events.map(({ involvedObject }) => involvedObject.name).toSorted()).toEqual(['past', 'web']);
});

describe('who may ask', () => {
  test.each([
    ['the agent, with a token for the directory', 'kube-netfilter-tailer', name, undefined],
    ['the agent, with a token for the API server', 'kube-netfilter-tailer', undefined, 'answers 401'],
    ['another account, with a token for the directory', 'default', name, 'answers 401'],
  ])('%s', async (_, account, audience, refusal) => {
    const folder = await folderWith(await tokenOf(account, audience));
    const { find } = createDirectoryFinder({
      folder,
      clock: createSteadyClock(),
      random: Math.random,
      timeout: 20_000,
    });
    if (refusal === undefined) await expect(find('10.83.9.9')).resolves.toEqual({ pods: [], node: undefined });
    else await expect(find('10.83.9.9')).rejects.toThrow(refusal);
  });

  test('a token of that account that the API server has not signed is refused', async () => {
    const [header = '', claims = ''] = (await tokenOf('kube-netfilter-tailer', name)).split('.');
    const folder = await folderWith(`${header}.${claims}.${'A'.repeat(342)}`);
    const { find } = createDirectoryFinder({
      folder,
      clock: createSteadyClock(),
      random: Math.random,
      timeout: 20_000,
    });
    await expect(find('10.83.9.9')).rejects.toThrow('answers 401');
  });
});

test('packets are reported with the bare address while the directory is away, and doctor says why', async () => {
  const { place, log } = await scene('directory-away', '10.83.1.3', { db: ['10.83.2.11'] });
  const settings = await directorySettings();
  for (const replica of replicas.splice(0)) await replica.kill();
  await controlPlane.kubectl(['delete', 'pod', 'one', 'two', '-n', namespace, '--grace-period=0', '--force']);
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, ...settings });
  await agent.untilReady();
  appendFileSync(log, dropLine('10.83.1.3', '10.83.2.11', 5432));
  const [event] = await rig.untilEvents(place, (all) => all.length === 1);
  expect(event?.message).toContain('10.83.2.11');
  await untilMetric(agent, /pod_lookup_ways_total\{way="directory",result="failed"\} [1-9]/m);
  await agent.untilLog(({ unused }) => String(unused).includes('directory ('));

  // Two come up again under other names, and take out the entries of those that are gone.
  await Promise.all(['three', 'four'].map((each) => startReplica(each)));
  while (
    Object.keys(await published())
      .toSorted()
      .join(' ') !== 'four three'
  )
    await delay(500);
  const folder = settings['DIRECTORY'] ?? '';
  await writeReplicas(folder);
  const deadline = performance.now() + 60_000;
  for (let port = 6000; performance.now() < deadline; port++) {
    appendFileSync(log, dropLine('10.83.1.3', '10.83.2.11', port));
    await delay(2000);
    if ((await rig.events(place, 'db')).length > 0) return;
  }
  throw new Error('the directory is not asked again');
});

async function startReplica(podName: string): Promise<void> {
  const pod = podObject({ namespace, name: podName, node: 'directory-other', addresses: ['127.0.0.1'] });
  await createObjects(controlPlane, { items: [pod] });
  const replica = startAgent(
    [bundleNode, bundle],
    {
      KUBECONFIG: kubeconfig,
      POD_NAME: podName,
      POD_NAMESPACE: namespace,
      POD_IP: '127.0.0.1',
      LISTEN_ADDRESS: '127.0.0.1:0',
      METRICS_ADDRESS: '127.0.0.1:0',
    },
    [],
    'directory',
  );
  replicas.push(replica);
  await replica.untilReady();
}

async function published(): Promise<Record<string, string>> {
  const { body } = await controlPlane.request('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`);
  return (body as { data?: Record<string, string> }).data ?? {};
}

/** Writes the files as the kubelet does. */
async function writeReplicas(folder: string): Promise<void> {
  for (const [each, text] of Object.entries(await published())) writeFileSync(join(folder, each), text);
}

async function folderWith(token: string): Promise<string> {
  const folder = join(rig.newFolder(), 'directory');
  mkdirSync(folder);
  writeFileSync(join(folder, 'token'), token);
  await writeReplicas(folder);
  expect(readFileSync(join(folder, 'token'), 'utf8')).toBe(token);
  return folder;
}

async function directorySettings(): Promise<Record<string, string>> {
  const folder = await folderWith(await tokenOf('kube-netfilter-tailer', name));
  return { POD_LOOKUPS: 'directory', DIRECTORY: folder };
}

async function tokenOf(account: string, audience: string | undefined): Promise<string> {
  await controlPlane.kubectl(['create', 'serviceaccount', account, '-n', namespace]);
  const more = audience === undefined ? [] : [`--audience=${audience}`];
  return (await controlPlane.succeed(['create', 'token', account, '-n', namespace, ...more])).trim();
}

async function scene(
  place: string,
  here: string,
  there: Readonly<Record<string, readonly string[]>>,
): Promise<{ place: string; log: string }> {
  const pods = Object.entries(there).map(([each, addresses]) =>
    podObject({ namespace: place, name: each, node: 'directory-other', addresses, ports: [postgres] }),
  );
  await createObjects(controlPlane, {
    items: [podObject({ namespace: place, name: 'web', node, addresses: [here] }), ...pods],
  });
  return { place, log: rig.newLog() };
}
