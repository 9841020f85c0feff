/**
 * `npm run bench -- lookups`: CPU time of the API server for one look-up of a Pod by its address, in each way, and
 * for what an Event needs to name the policy that denied; all in one run. There are 20,000 Pods of about 14 KB, 100
 * on each node, and 200 Namespaces with 20 NetworkPolicies each. Only ratios count.
 *
 *     node test/bench/lookups.ts               20,000 Pods
 *     node test/bench/lookups.ts --pods 2000
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { createAuthenticator } from '../../src/agent/directory/authenticator.ts';
import { createCertificate } from '../../src/agent/directory/certificate.ts';
import { createDirectoryFinder } from '../../src/agent/directory/client.ts';
import { unlimitedMemory } from '../../src/base/platform/memory-budget.ts';
import { createPodWatch, ownersIn, startDirectoryServer } from '../../src/agent/directory/server.ts';
import { audience, encodeReplica } from '../../src/agent/directory/replicas.ts';
import { readKubeconfig } from '../../src/agent/kubernetes/kubeconfig.ts';
import { type Connection as ApiConnection, createConnection } from '../../src/agent/kubernetes/connection.ts';
import { countAll } from '../../src/agent/kubernetes/list-watch.ts';
import { listPods, createPodCidrFinder } from '../../src/agent/kubernetes/pod-finders.ts';
import { createCalicoBlockFinder } from '../../src/agent/kubernetes/calico-block.ts';
import { isAllowed } from '../../src/agent/kubernetes/rights.ts';
import { createPolicyReader } from '../../src/agent/kubernetes/policy-objects.ts';
import { createSteadyClock } from '../../src/base/platform/clock.ts';
import type { PodFinder } from '../../src/explain/resolving/lookups/lookup.ts';
import { definitionOf } from '../deploy/custom-resources.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import type { KubernetesObject } from '../e2e/control-plane/creatable.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { inTurns } from '../e2e/in-turns.ts';
import { networkPolicy } from '../explain/policies/objects.ts';
import { preparePrograms } from '../programs/install.ts';
import { createPods } from './cluster.ts';
import { benchNode, benchPod } from './pods.ts';
import { processorTimeOf } from './used.ts';

const clock = createSteadyClock();
const podsPerNode = 100;
const blockSize = 64;
const settleSeconds = 8;
const group = 'crd.projectcalico.org';
const namespaces = Array.from({ length: 200 }, (_, number) => `policies-${number}`);
const policiesOfOne = 20;

const { values } = parseArgs({ options: { pods: { type: 'string', default: '20000' } } });
const pods = Number(values.pods);

await preparePrograms('measuring');
const plane = await startControlPlane();
try {
  await createCluster(plane);
  // Lets etcd and the caches of the API server settle.
  await delay(20_000);
  const connection = createConnection({
    access: readKubeconfig(plane.adminKubeconfig),
    userAgent: 'bench',
    onRequest: () => {},
    clock,
  });
  const pid = plane.pidOf('kube-apiserver');
  const idle = await idleShare(pid);
  const rows: string[][] = [['one look-up', 'CPU of the API server', 'of the selector', 'requests']];
  let selector = 0;

  const measure = async (what: string, times: number, requests: string, one: (number: number) => Promise<unknown>) => {
    // Warms up, to exclude the cost of first requests and of garbage from the last measurement.
    for (let number = 0; number < Math.min(3, times); number++) await one(number);
    await delay(settleSeconds * 1000);
    const began = { cpu: processorTimeOf(pid), at: performance.now() };
    await inTurns(2, [0, times], one);
    const seconds = (performance.now() - began.at) / 1000;
    const cost = Math.max(0, (processorTimeOf(pid) - began.cpu - idle * seconds) / times);
    selector ||= cost;
    rows.push([what, `${(cost * 1000).toFixed(2)} ms`, `${((cost / selector) * 100).toFixed(1)} %`, requests]);
    console.error(rows.at(-1)?.join('  '));
  };

  await measure('by status.podIP', 60, '1 list', async (number) => {
    expectFound({ pods: await listPods({ connection, clock }, `status.podIP=${addressOf(spread(number, 60))}`) });
  });
  const blocks = createCalicoBlockFinder({ connection, clock });
  const blockCount = Math.min(250, Math.floor(pods / blockSize));
  await measure("in Calico's blocks, the first of a block", blockCount, '2 GETs', async (number) => {
    expectFound(await blocks.find(addressOf(number * blockSize), 'shop'));
  });
  await measure("in Calico's blocks, another of the block", blockCount * 8, '1 GET', async (number) => {
    expectFound(await blocks.find(addressOf(Math.floor(number / 8) * blockSize + 1 + (number % 8)), 'shop'));
  });
  const nodes = Math.floor(pods / podsPerNode);
  const ranges = {
    homeOf: (address: string) => {
      const [, second = 0, third = 0, last = 0] = address.split('.').map(Number);
      const number = ((second - 64) << 16) + (third << 8) + last;
      return benchNode(Math.floor(number / podsPerNode)).metadata.name;
    },
    followed: () => true,
    describe: () => '',
  };
  const cidr = createPodCidrFinder({ connection, ranges, clock });
  await measure(`in the range of a node, ${podsPerNode} Pods at once`, nodes, '1 list', async (number) => {
    expectFound(await cidr.find(addressOf(number * podsPerNode), 'shop'));
  });
  await measure(
    `the same for each of its ${podsPerNode} Pods`,
    nodes * podsPerNode,
    '1 list in 100',
    async (number) => {
      const again = number % podsPerNode === 0 ? createPodCidrFinder({ connection, ranges, clock }) : undefined;
      if (again !== undefined) expectFound(await again.find(addressOf(number), 'shop'));
    },
  );
  const directory = await startDirectory(plane, connection);
  await measure('in the shared directory', 20_000, 'none', async (number) => {
    expectFound(await directory.find(addressOf(number % pods), 'shop'));
  });
  await directory.stop();
  await measure('the size of the cluster, once an hour', 200, '2 lists, limit 1', async () => {
    await countAll(connection, '/api/v1/pods');
    await countAll(connection, '/api/v1/nodes');
  });
  const policies = createPolicyReader(connection, clock.now, () => {});
  await measure(`a Namespace and its ${policiesOfOne} NetworkPolicies`, 2000, '2 lists', async (number) => {
    const read = await policies.namespace(namespaces[number % namespaces.length] ?? '');
    if (read.policies.length !== policiesOfOne) throw new Error(`${read.policies.length} policies`);
  });
  await measure('a Pod by its name', 2000, '1 list', async (number) => {
    if ((await policies.pod('bench', benchPod(spread(number, 2000), 0).metadata.name)) === undefined)
      throw new Error('no Pod');
  });
  await measure('all that the first Event of a node asks of policies', 300, '14', async (number) => {
    const first = createPolicyReader(connection, clock.now, () => {});
    await isAllowed(connection, 'list', 'networkpolicies', 'networking.k8s.io');
    const names = [number, number + 1].map((each) => namespaces[each % namespaces.length] ?? '');
    const ofPods = [number, number + 300].map((each) => benchPod(spread(each, 600), 0).metadata.name);
    await Promise.all([
      first.cluster(),
      ...names.map((name) => first.namespace(name)),
      ...ofPods.map((name) => first.pod('bench', name)),
    ]);
  });
  console.log(`\n${pods.toLocaleString('en-US')} Pods\n${alignColumns(rows).join('\n')}`);
} finally {
  await plane.stop();
}

/** One replica, with a token that the API server reviews. */
async function startDirectory(
  { succeed }: Connection,
  connection: ApiConnection,
): Promise<{ find: PodFinder['find']; stop: () => Promise<void> }> {
  const host = '127.0.0.1';
  const watch = createPodWatch({
    memory: unlimitedMemory(),
    connection,
    report: { watchFailed: () => {}, synced: () => {}, unusable: () => {} },
    clock,
    random: Math.random,
  });
  watch.start();
  while (!watch.synced) await delay(100);
  await succeed(['create', 'serviceaccount', 'agent', '-n', 'bench']);
  const token = await succeed(['create', 'token', 'agent', '-n', 'bench', `--audience=${audience}`]);
  const certificate = createCertificate(host, Date.now() - 1000, Date.now() + 86_400_000);
  const server = await startDirectoryServer({
    address: { host, port: 0 },
    certificate,
    check: createAuthenticator(connection, 'system:serviceaccount:bench:agent', clock.now),
    ownersOf: (address) => ownersIn(watch.lists, address),
    onAnswer: () => {},
    clock,
  });
  const folder = mkdtempSync(join(tmpdir(), 'bench-directory-'));
  writeFileSync(join(folder, 'token'), token);
  const replica = { host, port: server.port, certificate: certificate.certificate };
  writeFileSync(join(folder, 'replica'), encodeReplica(replica));
  const { find } = createDirectoryFinder({ folder, clock, random: Math.random, timeout: 10_000 });
  return {
    find,
    async stop() {
      watch.stop();
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

function addressOf(number: number): string {
  return benchPod(number, 0).status.podIP;
}

function expectFound(found: { pods: readonly unknown[] } | undefined): void {
  if (found === undefined || found.pods.length === 0) throw new Error('not found');
}

function spread(number: number, of: number): number {
  return Math.floor((number * pods) / of);
}

async function createCluster(connection: Connection): Promise<void> {
  const items = ['IPPool', 'IPAMBlock'].map((kind) => definitionOf({ group, version: 'v1', kind, scope: 'Cluster' }));
  await connection.apply(...items);
  await connection.kubectl(['wait', '--for=condition=Established', '--timeout=30s', 'crd', '--all']);
  await createObjects(connection, {
    items: [
      ...Array.from({ length: Math.ceil(pods / podsPerNode) }, (_, number) => benchNode(number)),
      ...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
      ...namespaces.flatMap((name) =>
        Array.from({ length: policiesOfOne }, (_, number) => benchPolicy(`allow-${number}`, name)),
      ),
    ],
  });
  const path = `/apis/${group}/v1`;
  await post(connection, `${path}/ippools`, {
    apiVersion: `${group}/v1`,
    kind: 'IPPool',
    metadata: { name: 'all' },
    spec: { cidr: '10.64.0.0/10', blockSize: 26 },
  });
  for (let first = 0; first < pods; first += blockSize) await post(connection, `${path}/ipamblocks`, blockFrom(first));
  await createPods(connection, 0, pods, (number) => Math.floor(number / podsPerNode));
}

function benchPolicy(name: string, namespace: string): KubernetesObject {
  const from = [{ podSelector: { matchLabels: { app: name } } }];
  const spec = { podSelector: { matchLabels: { app: 'web' } }, ingress: [{ from, ports: [{ port: 8080 }] }] };
  return networkPolicy(spec, name, namespace) as KubernetesObject;
}

async function post(connection: Connection, path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await connection.request('POST', path, { body });
  if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
}

function blockFrom(first: number): object {
  const cidr = `${benchPod(first, 0).status.podIP}/26`;
  const attributes = Array.from({ length: blockSize }, (_, ordinal) => {
    const { metadata, spec } = benchPod(first + ordinal, Math.floor((first + ordinal) / podsPerNode));
    return {
      handle_id: `k8s-pod-network.${'0'.repeat(60)}${ordinal}`,
      secondary: { namespace: 'bench', node: spec?.['nodeName'], pod: metadata.name, timestamp: '2026-11-20 08:00:00' },
    };
  });
  return {
    apiVersion: `${group}/v1`,
    kind: 'IPAMBlock',
    metadata: { name: cidr.replaceAll(/[./]/g, '-') },
    spec: {
      cidr,
      affinity: 'host:node',
      allocations: attributes.map((_, index) => index),
      attributes,
      unallocated: [],
    },
  };
}

async function idleShare(pid: number): Promise<number> {
  const before = processorTimeOf(pid);
  await delay(10_000);
  return (processorTimeOf(pid) - before) / 10;
}
