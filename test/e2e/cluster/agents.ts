import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from '../../deploy/manifests.ts';
import type { Cluster } from './cluster.ts';
import { AGENT_IMAGE } from './global-setup.ts';

export const NAMESPACE = 'kube-netfilter-tailer';
const ROLLED_OUT_WITHIN = '--timeout=150s';

export interface AgentOptions {
  /** Folder of deploy/overlays. Default: `journal`. */
  readonly overlay?: string;
  /** Folders of deploy/components. */
  readonly components?: readonly string[];
  /** Settings, as docs/deploy.md says how to give them. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where an agent runs. Default: all nodes. */
  readonly node?: string;
  /** Default: the target of the Dockerfile that the overlay names. */
  readonly image?: string;
}

/** Applies deploy/ as a user's kustomization would, and waits for the rollout. May be called again with other options. */
export async function rollOut(cluster: Cluster, options: AgentOptions = {}): Promise<void> {
  const { overlay = 'journal', components = [], env = {}, node, image } = options;
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-overlay-'));
  try {
    const path = (name: string): string => relative(folder, join(root, 'deploy', name));
    const isPlain = ['kern-log', 'kmsg'].includes(overlay);
    const [newName = '', newTag = ''] = (image ?? AGENT_IMAGE[isPlain ? 'plain' : 'journal']).split(/:(?=[^:]*$)/);
    const container = { name: 'agent', env: Object.entries(env).map(([name, value]) => ({ name, value })) };
    const nodeSelector = node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } };
    const patch = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: NAMESPACE, namespace: NAMESPACE },
      // The 15 s of deploy/ are for clusters of many nodes (quickstart.test.ts waits for them).
      spec: { minReadySeconds: 0, template: { spec: { containers: [container], ...nodeSelector } } },
    };
    const kustomization = {
      resources: [path(`overlays/${overlay}`)],
      components: components.map((name) => path(`components/${name}`)),
      images: [{ name: 'SET-THE-IMAGE', newName, newTag }],
      patches: [{ patch: JSON.stringify(patch) }],
    };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    await kubectl(cluster, 'apply', '--server-side', '--force-conflicts', '-k', folder);
    await untilRolledOut(cluster);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits for the rollout; fails with the Pods' logs. */
export async function untilRolledOut(cluster: Cluster): Promise<void> {
  const args = ['-n', NAMESPACE, 'rollout', 'status', `daemonset/${NAMESPACE}`, ROLLED_OUT_WITHIN];
  const { code, stdout, stderr } = await cluster.controlPlane.kubectl(args);
  if (code === 0) return;
  const pods = await cluster.controlPlane.kubectl(['-n', NAMESPACE, 'describe', 'pods']);
  const logs = await cluster.controlPlane.kubectl(['-n', NAMESPACE, 'logs', `daemonset/${NAMESPACE}`, '--tail=20']);
  throw new Error(`${stdout}${stderr}\n${pods.stdout.slice(-5000)}\n${logs.stdout}${logs.stderr}`);
}

/**
 * Deletes the Namespace with its objects, and the state and the audit on the nodes, so that the next agents begin like
 * the first.
 */
export async function removeAgents(cluster: Cluster): Promise<void> {
  // The Namespace controller waits for half of the time that a Pod may take to end, so Pods are deleted first.
  const workloads = ['-n', NAMESPACE, 'delete', 'daemonsets,deployments', '--all', '--cascade=foreground'];
  await kubectl(cluster, ...workloads, '--timeout=120s');
  await kubectl(cluster, 'delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=120s');
  const folders = ['/var/lib/kube-netfilter-tailer', '/var/log/kube-netfilter-tailer'];
  for (const node of cluster.nodes) await node.run(['rm', '-rf', ...folders]);
}

/** Name of the agent's Pod on a node. */
export async function agentOn(cluster: Cluster, node: string): Promise<string> {
  const place = ['-l', `app.kubernetes.io/name=${NAMESPACE}`, `--field-selector=spec.nodeName=${node}`];
  const args = ['-n', NAMESPACE, 'get', 'pods', '-o', 'name', ...place];
  const names = (await kubectl(cluster, ...args)).trim();
  return names.split('\n')[0]?.replace('pod/', '') ?? '';
}

/** Returns the output of kubectl; the test fails unless it succeeds. */
export function kubectl(cluster: Cluster, ...args: readonly string[]): Promise<string> {
  return cluster.controlPlane.succeed(args);
}
