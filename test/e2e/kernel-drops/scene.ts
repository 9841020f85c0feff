/** The agent in the guest: its node and its Pods, which the API server on this machine has. */
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import type { GuestPod } from './guest-node.ts';

export interface Scene {
  node: string;
  namespace: string;
  pods: readonly (GuestPod & { name: string })[];
  /** The port of the API server on the loopback of the machine in which the guest runs, and in the guest. */
  port: number;
  /** Command and environment of the agent. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}

export const sceneFile = '/scene.json';
export const kubeconfigFile = '/kubeconfig';
export const bundleFile = '/kube-netfilter-tailer.cjs';

/**
 * How many packets `cart` sends to `web` while one agent runs, while none runs, and while the next one runs; and with
 * the address of `other`.
 */
export const packets = { before: 7, between: 5, after: 3, forged: 1 };
export const sentPackets = packets.before + packets.between + packets.after + packets.forged;

/** Pods `cart`, `web` and `other`. */
export function sceneOf(server: string, image: Pick<Scene, 'env'> & { flags: readonly string[] }): Scene {
  const [namespace, node] = ['kernel-drops', 'guest'];
  return {
    node,
    namespace,
    pods: ['cart', 'web', 'other'].map((name, index) => ({
      name,
      netns: name,
      device: interfaceNames(namespace, name)[0] ?? '',
      address: `10.62.1.${index + 10}`,
    })),
    port: Number(new URL(server).port),
    command: ['/bin/node', ...image.flags, bundleFile, 'run'],
    env: {
      ...image.env,
      KUBECONFIG: kubeconfigFile,
      NODE_NAME: node,
      SOURCES: 'kernel-drops',
      STATE_DIR: '/run/state',
      METRICS_ADDRESS: '127.0.0.1:9100',
      REVERSE_DNS: 'false',
    },
  };
}
