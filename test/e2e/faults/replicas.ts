import { Agent } from 'node:https';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { createDirectoryFinder } from '../../../src/directory/client.ts';
import { audience, decodeReplica, encodeReplica, type Replica } from '../../../src/directory/replicas.ts';
import { createSteadyClock } from '../../../src/platform/clock.ts';
import type { PodFinder } from '../../../src/resolving/lookups/pod-finder.ts';
import { readManifests } from '../../deploy/manifests.ts';
import { type AgentProcess, startAgent } from '../agent-process.ts';
import { accountWith, nodeObject, podObject } from '../agent-rig.ts';
import { bundle, bundleNode } from '../bundle.ts';
import type { Connection } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import type { Rule } from '../granted.ts';
import { type Answer, type FaultProxy, startFaultProxy } from './proxy.ts';

/** Where the replicas of this suite are: not those of another test file. */
const namespace = 'faults-directory';
/** The account of agents. */
const account = 'kube-netfilter-tailer';
const configMap = 'kube-netfilter-tailer-directory';

/** The node of Pods that agents have to look up. */
export const elsewhere = 'faults-elsewhere';

/** Two real replicas at the real API server, which all rows share. */
export interface Replicas {
  /** Two proxies in front of them, and the folder of an agent that asks these. */
  readonly open: (folder: string) => Promise<PublishedReplicas>;
  /** Both know whose an address is. */
  readonly untilKnown: (address: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface PublishedReplicas {
  /** For an agent: where what the kubelet keeps there is. */
  readonly folder: string;
  readonly proxies: readonly FaultProxy[];
  /** Makes both proxies fail. */
  readonly fail: (answer: Answer) => void;
  readonly heal: () => void;
  /** Replaces all entries of the ConfigMap; by default by those of the proxies as they are now. */
  readonly publish: (entries?: Readonly<Record<string, string>>) => void;
  readonly setToken: (token: string) => void;
  /** The token that the kubelet gets for the agent. */
  readonly token: string;
  /** Both end, and others come under other names and addresses that are not published yet. */
  readonly replace: () => Promise<void>;
  /** Requests of the agent until now. */
  readonly asked: () => number;
  readonly stop: () => Promise<void>;
}

export async function startReplicas(connection: Connection, newFolder: () => string): Promise<Replicas> {
  const kubeconfig = await prepare(connection);
  const names = ['one', 'two'];
  const processes = names.map((name) => startReplica(name, kubeconfig));
  await Promise.all(processes.map((each) => each.untilReady()));
  const published = await vi.waitUntil(() => publishedReplicas(connection, names.length), { timeout: 60_000 });
  // A replica takes four connections from one address, and all proxies have the same.
  const targets = published.map(({ host, port, certificate }) => ({
    server: `https://${host}:${port}`,
    certificateAuthority: certificate,
    upstream: new Agent({ keepAlive: true, ca: certificate, maxSockets: 2 }),
  }));
  const startProxies = () => Promise.all(targets.map((target) => startFaultProxy(target, target.upstream)));
  const forDirectory = `--audience=${audience}`;
  const token = (await connection.succeed(['create', 'token', account, '-n', namespace, forDirectory])).trim();
  const finders = published.map((replica) => finderOf(replica, token, newFolder()));
  return {
    async untilKnown(address) {
      for (const { find } of finders) {
        const isKnown = async (): Promise<boolean> => ((await find(address))?.pods.length ?? 0) > 0;
        await vi.waitUntil(() => isKnown().catch(() => false), { timeout: 30_000, interval: 50 });
      }
    },
    open: async (parent) => openFolder(join(parent, 'directory'), token, await startProxies(), startProxies),
    async stop() {
      for (const { upstream } of targets) upstream.destroy();
      await Promise.all(processes.map((each) => each.kill()));
    },
  };
}

/** Asks one replica, without a proxy. */
function finderOf(replica: Replica, token: string, folder: string): PodFinder {
  writeFileSync(join(folder, 'token'), token);
  writeFileSync(join(folder, 'replica'), encodeReplica(replica));
  return createDirectoryFinder({ folder, clock: createSteadyClock(), random: Math.random, timeout: 20_000 });
}

function entryOf({ port, certificate }: FaultProxy): string {
  return encodeReplica({ host: '127.0.0.1', port, certificate });
}

function openFolder(
  folder: string,
  token: string,
  first: readonly FaultProxy[],
  startProxies: () => Promise<readonly FaultProxy[]>,
): PublishedReplicas {
  let proxies = first;
  let before = 0;
  mkdirSync(folder);
  const published: PublishedReplicas = {
    folder,
    token,
    get proxies() {
      return proxies;
    },
    fail: (answer) => proxies.forEach((proxy) => proxy.fail(answer)),
    heal: () => proxies.forEach((proxy) => proxy.heal()),
    publish(entries = Object.fromEntries(proxies.map((proxy) => [`replica-${proxy.port}`, entryOf(proxy)]))) {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      published.setToken(token);
      for (const [name, text] of Object.entries(entries)) writeFileSync(join(folder, name), text);
    },
    setToken: (text) => writeFileSync(join(folder, 'token'), text),
    async replace() {
      const old = proxies;
      proxies = await startProxies();
      before += old.reduce((sum, { asked }) => sum + asked.length, 0);
      await Promise.all(old.map((proxy) => proxy.stop()));
    },
    asked: () => proxies.reduce((sum, { asked }) => sum + asked.length, before),
    stop: async () => void (await Promise.all(proxies.map((proxy) => proxy.stop()))),
  };
  published.publish();
  return published;
}

/** Returns the kubeconfig of the replicas. */
async function prepare(connection: Connection): Promise<string> {
  const items = readManifests('deploy/components/shared-directory/rbac.yaml');
  const rulesOf = (kind: string): readonly Rule[] =>
    (items.find((item) => item.kind === kind) as { rules?: readonly Rule[] }).rules ?? [];
  // Rules for one namespace would name objects; this one has one ConfigMap.
  const ofConfigMap = rulesOf('Role').map(({ apiGroups = [], resources = [], verbs = [] }) => ({
    apiGroups,
    resources,
    verbs,
  }));
  const pods = ['one', 'two'].map((name) => podObject({ namespace, name, node: elsewhere, addresses: ['127.0.0.1'] }));
  await createObjects(connection, {
    items: [
      nodeObject(elsewhere, '192.168.118.1'),
      ...pods,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: configMap, namespace } },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: account, namespace } },
    ],
  });
  const token = await accountWith(connection, namespace, [...rulesOf('ClusterRole'), ...ofConfigMap]);
  return await connection.writeKubeconfig(namespace, token);
}

function startReplica(name: string, kubeconfig: string): AgentProcess {
  const env = {
    KUBECONFIG: kubeconfig,
    POD_NAME: name,
    POD_NAMESPACE: namespace,
    POD_IP: '127.0.0.1',
    LISTEN_ADDRESS: '127.0.0.1:0',
    METRICS_ADDRESS: '127.0.0.1:0',
  };
  return startAgent([bundleNode, bundle], env, [], 'directory');
}

/** False as long as there are fewer. */
async function publishedReplicas({ request }: Connection, count: number): Promise<Replica[] | false> {
  const { body } = await request('GET', `/api/v1/namespaces/${namespace}/configmaps/${configMap}`);
  const entries = Object.values((body as { data?: Record<string, string> }).data ?? {});
  const replicas = entries.flatMap((text) => decodeReplica(text) ?? []);
  return replicas.length === count && replicas;
}
