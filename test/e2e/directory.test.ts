import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest';
import { createCertificate } from '../../src/agent/directory/certificate.ts';
import { createDirectoryFinder } from '../../src/agent/directory/client.ts';
import { encodeReplica } from '../../src/agent/directory/replicas.ts';
import { createSteadyClock } from '../../src/base/platform/clock.ts';
import { readManifests } from '../deploy/manifests.ts';
import { type AgentProcess, startAgent } from './agent-process.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, untilMetric } from './agent-rig.ts';
import { bundle, bundleNode } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { makeAccount, rulesIn } from './granted.ts';

/**
 * The shared directory at a real API server, with the rights of its component. Agents with the rights of the base ask
 * it.
 */

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

test('the Pod of another node is found without a request to the API server', async () => {
  const { place, log } = await scene('directory-remote', '10.83.1.1', { db: ['10.83.2.9', 'fd00:83::9'] });
  // Other tests may have policies in the cluster, because of which an agent would read Pods.
  const settings = { NODE_NAME: node, SOURCES: `file:${log}`, POLICIES: 'off', ...(await directorySettings()) };
  const agent = rig.start(settings);
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
  // The only request is the informer's list.
  expect(body).toMatch(/api_requests_total\{verb="GET",resource="pods",code="200"\} 1$/m);
  expect(body).not.toMatch(/resource="(?:ipamblocks|ippools|configmaps)"/);
  expect(agent.log.map(({ msg }) => msg)).not.toContainEqual(expect.stringContaining('networkpolicies'));
});

test('a Pod that does not exist has its Event; an Event in a namespace that does not exist is given up', async () => {
  const { place, log } = await scene('directory-invented', '10.83.1.3', {});
  const { key, certificate } = createCertificate('127.0.0.1', Date.now() - 60_000, Date.now() + 3_600_000);
  const lying = createServer({ key, cert: certificate }, ({ url = '' }, response) => {
    const address = decodeURIComponent(url.split('/').at(-1) ?? '');
    const where = address === '10.83.2.11' ? place : 'nowhere';
    const pod = { namespace: where, name: 'never-was', uid: where };
    response.end(JSON.stringify({ pods: [{ ...pod, node: 'directory-other', addresses: [address] }] }));
  });
  await new Promise<void>((resolve) => lying.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = lying.address() as AddressInfo;
    const folder = join(rig.newFolder(), 'directory');
    mkdirSync(folder);
    writeFileSync(join(folder, 'token'), 'a-token');
    writeFileSync(join(folder, 'one'), encodeReplica({ host: '127.0.0.1', port, certificate }));
    const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, POD_LOOKUPS: 'directory', DIRECTORY: folder });
    await agent.untilReady();
    appendFileSync(log, dropLine('10.83.1.3', '10.83.2.11', 80) + dropLine('10.83.1.3', '10.83.2.12', 80));
    const events = await rig.untilEvents(place, (all) => all.length === 3);
    expect(events.filter(({ involvedObject }) => involvedObject.name === 'never-was')).toMatchObject([{ count: 1 }]);
    expect(events.map(({ message }) => message)).toContainEqual(expect.stringContaining(' nowhere/never-was ('));
    await untilMetric(agent, /events_abandoned_total\{reason="gone"\} 1$/m);
  } finally {
    lying.closeAllConnections();
    lying.close();
  }
});

test.each([
  ['the agent, with a token for the directory', 'kube-netfilter-tailer', name, undefined],
  ['the agent, with a token for the API server', 'kube-netfilter-tailer', undefined, 'answers 401'],
  ['another account, with a token for the directory', 'default', name, 'answers 401'],
])('a replica answers only the agent: %s', async (_, account, audience, refusal) => {
  const folder = await folderWith(await tokenOf(account, audience));
  const { find } = createDirectoryFinder({ folder, clock: createSteadyClock(), random: Math.random, timeout: 20_000 });
  if (refusal === undefined) await expect(find('10.83.9.9', 'shop')).resolves.toEqual({ pods: [], node: undefined });
  else await expect(find('10.83.9.9', 'shop')).rejects.toThrow(refusal);
});

test('while both replicas are gone, packets are reported with the bare address; new replicas are asked once they are published', async () => {
  const { place, log } = await scene('directory-away', '10.83.1.2', { cache: ['10.83.2.10'] });
  const settings = await directorySettings();
  const agent = rig.start({ NODE_NAME: node, SOURCES: `file:${log}`, POLICIES: 'off', ...settings });
  await agent.untilReady();
  await Promise.all(replicas.splice(0).map((replica) => replica.kill()));
  const drop = (): void => appendFileSync(log, dropLine('10.83.1.2', '10.83.2.10', 6379));
  drop();
  const [event] = await rig.untilEvents(place, (all) => all.length > 0, undefined, 20_000);
  expect(event).toMatchObject({ count: 1, message: expect.stringContaining(' 10.83.2.10 ') as string });
  await agent.untilLog(({ problem }) => problem === 'directory');

  await Promise.all(['three', 'four'].map((each) => startReplica(each)));
  await publishTo(settings.DIRECTORY);
  const isNamed = async (): Promise<boolean> => {
    drop();
    return (await rig.events(place, 'cache')).length > 0;
  };
  await vi.waitUntil(isNamed, { timeout: 120_000, interval: 4000 });
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

/** A folder with the files that the kubelet writes. */
async function folderWith(token: string): Promise<string> {
  const folder = join(rig.newFolder(), 'directory');
  mkdirSync(folder);
  writeFileSync(join(folder, 'token'), token);
  await publishTo(folder);
  return folder;
}

/** Writes the replicas' ConfigMap into that folder. */
async function publishTo(folder: string): Promise<void> {
  const { body } = await controlPlane.request('GET', `/api/v1/namespaces/${namespace}/configmaps/${name}`);
  const { data = {} } = body as { data?: Record<string, string> };
  for (const [each, text] of Object.entries(data)) writeFileSync(join(folder, each), text);
}

async function directorySettings(): Promise<{ POD_LOOKUPS: string; DIRECTORY: string }> {
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
