/**
 * A real cluster of two nodes or more, each with a containerd and a kubelet, in network namespaces of this machine that
 * a bridge joins; kube-proxy is a DaemonSet. Unlike real nodes, these have no kernel of their own (kernel-log.ts gives
 * each node its part of the log), no DNS, no image registry, and no verified TLS between API server and kubelets. Needs
 * root on Linux.
 */
import { readFileSync, rmSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ensurePrograms } from '../control-plane/build.ts';
import { type Address, connect, type Connection } from '../control-plane/connection.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { startControllers } from '../control-plane/controllers.ts';
import { lastLines } from '../control-plane/running.ts';
import { createOwnFolder } from '../own-folder.ts';
import { until } from '../until.ts';
import { ensureImages, KUBE_PROXY_IMAGE, writeArchive } from './images.ts';
import { CONTROL_ADDRESS, createLan } from './lan.ts';
import { connectNode, type Node, type NodeData, startNode } from './node.ts';
import { PAUSE_IMAGE } from './node-configuration.ts';

/** The data by which another process uses a running cluster. */
export interface ClusterData {
  readonly controlPlane: Address;
  readonly nodes: readonly NodeData[];
  /** Files of the cluster, removed with it. */
  readonly folder: string;
}

export type Cluster = ReturnType<typeof connectCluster>;

export const API_SERVER = `https://${CONTROL_ADDRESS}:6443`;
const READY_WITHIN_MS = 120_000;

/**
 * Resolves when all nodes are ready and kube-proxy runs on each. `signal`: gives up after the current step. `end` stops
 * everything and removes what the cluster has on this machine.
 */
export async function startCluster(
  names: readonly [string, string, ...string[]],
  signal?: AbortSignal,
): Promise<{ readonly cluster: Cluster; readonly end: () => Promise<void> }> {
  const binaries = await ensurePrograms(['kubelet', 'containerd', 'containerd-shim-runc-v2', 'ctr', 'runc']);
  await ensureImages();
  const folder = createOwnFolder('cluster');
  const ending: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const end = async (): Promise<void> => {
    for (const each of ending.splice(0)) await each();
  };
  try {
    const lan = await createLan();
    ending.unshift(lan.remove);
    const tokens = new Map(names.map((name) => [name, randomBytes(16).toString('hex')]));
    const controlPlane = await startControlPlane({
      place: { network: lan.control, address: CONTROL_ADDRESS, nodes: tokens },
    });
    ending.unshift(controlPlane.stop);
    signal?.throwIfAborted();
    ending.unshift((await startControllers(controlPlane)).stop);
    const nodes: NodeData[] = [];
    for (const [name, token] of tokens) {
      const kubeconfig = await controlPlane.writeKubeconfig(`node-${name}`, token, API_SERVER);
      const started = await startNode(name, folder, lan, { binaries, kubeconfig });
      ending.unshift(started.end);
      nodes.push(started.data);
      signal?.throwIfAborted();
    }
    const cluster = connectCluster({ controlPlane: controlPlane.address, nodes, folder });
    for (const image of [PAUSE_IMAGE, KUBE_PROXY_IMAGE]) await cluster.load(image);
    for (const node of cluster.nodes) {
      const range = await podRangeOf(controlPlane, node);
      await lan.route(range, node.address);
      await node.writePodNetwork(range);
    }
    await startKubeProxy(controlPlane);
    await untilReady(controlPlane);
    return { cluster, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The functions that go with a cluster, for a process that did not start it itself. */
export function connectCluster(data: ClusterData) {
  const [first, second, ...others] = data.nodes.map(connectNode);
  if (first === undefined || second === undefined) throw new Error('[cluster] it has less than two nodes');
  const nodes: readonly [Node, Node, ...Node[]] = [first, second, ...others];
  return {
    controlPlane: connect(data.controlPlane),
    nodes,
    data,
    /** Puts an image on all nodes (images.ts), because there is no registry to pull it from. */
    async load(reference: string): Promise<void> {
      const archive = join(data.folder, `${encodeURIComponent(reference)}.tar`);
      await writeArchive(reference, archive);
      await Promise.all(nodes.map((node) => node.importImages(archive)));
      rmSync(archive);
    },
  };
}

/** Returns the range that the controllers gave a node for its Pods. */
export async function podRangeOf({ request }: Connection, { name, machine }: NodeData): Promise<string> {
  const range = async (): Promise<string | undefined> => {
    const { body } = await request('GET', `/api/v1/nodes/${name}`);
    return (body as { spec?: { podCIDR?: string } }).spec?.podCIDR;
  };
  const log = (): string => lastLines(join(machine.folder, 'kubelet.log'), 15);
  return await until(range, () => `[cluster] the Node ${name} has no range for its Pods:\n${log()}`, READY_WITHIN_MS);
}

export async function startKubeProxy({ kubectl }: Connection): Promise<void> {
  const manifest = readFileSync(join(import.meta.dirname, 'kube-proxy.yaml'), 'utf8');
  const input = manifest.replaceAll('IMAGE', KUBE_PROXY_IMAGE).replaceAll('SERVER', API_SERVER);
  const { code, stderr } = await kubectl(['apply', '-f', '-'], { input });
  if (code !== 0) throw new Error(`[cluster] kube-proxy: ${stderr}`);
}

export async function untilReady({ kubectl }: Connection): Promise<void> {
  const within = `--timeout=${READY_WITHIN_MS / 1000}s`;
  for (const args of [
    ['wait', '--for=condition=Ready', 'node', '--all', within],
    ['-n', 'kube-system', 'rollout', 'status', 'daemonset/kube-proxy', within],
  ]) {
    const { code, stdout, stderr } = await kubectl(args);
    if (code !== 0) {
      const { stdout: state } = await kubectl(['describe', 'nodes,pods', '-A']);
      throw new Error(`[cluster] is not ready: ${stdout}${stderr}\n${state.slice(-6000)}`);
    }
  }
}
