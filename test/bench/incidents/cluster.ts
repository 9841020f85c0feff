import type { KubernetesObject } from '../../e2e/control-plane/creatable.ts';
import { kubeProxyPod, serviceObjects } from '../../e2e/kube-proxy/objects.ts';
import { chainHash, hashedTexts } from '../../../src/resolving/service-chains/chain-name.ts';
import { benchNode } from '../pods.ts';

/** A node with its kube-proxy, and a Service that its incidents name. */
export interface BenchNode {
  name: string;
  proxyPod: string;
  service: string;
  /** The chain of that Service. */
  chain: string;
  objects: readonly KubernetesObject[];
}

export const namespace = 'bench';

export function nodeWithProxy(number: number): BenchNode {
  const node = benchNode(number);
  const { name } = node.metadata;
  const [proxyPod, service] = [`kube-proxy-${name}`, `db-${number}`];
  const backend = { name: `${service}-0`, node: 'node-elsewhere' };
  return {
    name,
    proxyPod,
    service,
    chain: chainOf(service),
    objects: [
      node,
      kubeProxyPod(proxyPod, name, `192.168.0.${number}`),
      ...serviceObjects(namespace, service, `10.128.0.${number}`, backend),
    ],
  };
}

export function chainOf(service: string): string {
  return `KUBE-SVC-${chainHash(hashedTexts(namespace, service, '', 'tcp')[0] ?? '')}`;
}
