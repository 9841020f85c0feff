import { nodeObject, podObject } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createCriLog, type CriLog } from './cri-log.ts';
import { cleanUp } from './felix.ts';
import { createNodeNamespace, type NodeNamespace } from './node-namespace.ts';
import { changeEndpoints, kubeProxyPod, removeServices, serviceObjects } from './objects.ts';
import { type KubeProxy, type KubeProxyOptions, startKubeProxy } from './proxy.ts';
import { createTurns } from './turns.ts';

export interface Scene {
  /** The name of the Node, of the namespace with the Services `db` and `other`, and the end of the name of kube-proxy's Pod. */
  readonly name: string;
  readonly proxyPod: string;
  readonly podLogs: string;
  readonly log: CriLog;
  readonly place: NodeNamespace;
  readonly proxy: KubeProxy;
  /** Has kube-proxy write: other Pods are behind the Service `other` now. */
  readonly change: () => Promise<void>;
  /** Deletes its chains or table and has it write, which fails; resolves when it has tried again and is well. */
  readonly fail: () => Promise<void>;
  /** Attempts that have failed so far, as the log says. */
  readonly failures: () => number;
  readonly end: () => Promise<void>;
}

export type SceneOptions = Pick<KubeProxyOptions, 'mode' | 'verbosity' | 'retry'> & {
  podLogs: string;
  /** Where kube-proxy writes. Default: what it prints is the log of its container. */
  writesTo?: (containerLog: CriLog) => Pick<CriLog, 'write'>;
  /** It is a service of the node, no Pod. */
  withoutPod?: boolean;
};

const inTurn = createTurns();

const failed = /"Sync failed" ipFamily="IPv4"/;
const complete = /"SyncProxyRules complete" ipFamily="IPv4"/;

/**
 * A node with a kube-proxy that runs and is well. On it, beside kube-proxy's Pod: `web`, `sick` (not ready) and `monitor` (with
 * the node's network) in the namespace, and `db` on another node, behind the Service of that name.
 */
export async function createScene(
  connection: Connection,
  name: string,
  net: number,
  options: SceneOptions,
): Promise<Scene> {
  const [address, namespace, proxyPod] = [`192.168.96.${net}`, name, `kube-proxy-${name}`];
  const pod = (podName: string, number: number, node = name): KubernetesObject =>
    podObject({ namespace, name: podName, node, addresses: [`10.${net}.0.${number}`] });
  const created = await createObjects(connection, {
    items: [
      nodeObject(name, address),
      ...(options.withoutPod === true ? [] : [kubeProxyPod(proxyPod, name, address)]),
      pod('web', 1),
      unready(pod('sick', 2)),
      hostNetworked(podObject({ namespace, name: 'monitor', node: name, addresses: [address] })),
      pod('db', 3, `${name}-other`),
      ...serviceObjects(namespace, 'db', `10.${net}.0.3`, { name: 'db', node: `${name}-other` }),
      ...serviceObjects(namespace, 'other', `10.${net}.1.1`),
    ],
  });
  const { podLogs, writesTo = (containerLog) => containerLog } = options;
  const uid = created.find(({ kind, metadata }) => kind === 'Pod' && metadata.name === proxyPod)?.metadata.uid ?? '';
  const log = createCriLog({ podLogs, namespace: 'kube-system', pod: proxyPod, uid, container: 'kube-proxy' });
  const place = await createNodeNamespace(connection.server);
  const proxy = startKubeProxy({ connection, place, node: name, log: writesTo(log), ...options });
  await proxy.untilLine(complete, 0);
  let changes = 1;
  const change = (): Promise<void> => changeEndpoints(connection, namespace, 'other', `10.${net}.1.${++changes}`);
  const breakRules = async (): Promise<unknown> =>
    options.mode === 'nftables' ? place.run('nft', ['delete', 'table', 'ip', 'kube-proxy']) : cleanUp(place);
  const fail = async (): Promise<void> => {
    const from = proxy.lines.length;
    await breakRules();
    await change();
    const line = await proxy.untilLine(failed, from);
    // It logs that the attempt is complete, too, when it failed: the second one has succeeded.
    const ended = await proxy.untilLine(complete, line);
    await proxy.untilLine(complete, ended + 1);
  };
  return {
    name,
    proxyPod,
    podLogs,
    log,
    place,
    proxy,
    change,
    fail,
    failures: () => proxy.lines.filter((each) => failed.test(each)).length,
    async end() {
      await proxy.stop();
      await place.destroy();
      await removeServices(connection, namespace);
    },
  };
}

/**
 * Each kube-proxy sees all Services of the API server: only one scene at a time has any. `act` is all in which rules are
 * written; after it kube-proxies pass the Services of the scene over, as if another program were to look after them.
 */
export function playInTurn(
  connection: Connection,
  create: () => Promise<Scene>,
  act: (scene: Scene) => Promise<void>,
): Promise<Scene> {
  return inTurn(async () => {
    const scene = await create();
    try {
      await act(scene);
    } finally {
      const label = ['services,endpointslices', '--all', 'service.kubernetes.io/service-proxy-name=none'];
      await connection.kubectl(['label', '-n', scene.name, ...label]);
    }
    return scene;
  });
}

function unready(pod: KubernetesObject): KubernetesObject {
  const lastTransitionTime = pod.status?.['startTime'];
  return {
    ...pod,
    status: { ...pod.status, conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] },
  };
}

function hostNetworked(pod: KubernetesObject): KubernetesObject {
  return { ...pod, spec: { ...pod.spec, hostNetwork: true } };
}
