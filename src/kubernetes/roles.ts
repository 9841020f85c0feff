import type { Endpoint } from '../model/endpoint.ts';

/** Where Kubernetes and OpenShift run their own DNS and API servers: elsewhere whoever creates an object chooses its name and labels. */
const systemNamespaces = new Set(['kube-system', 'openshift-dns', 'openshift-kube-apiserver']);

/** The part of a Pod that explains much. */
export function podRole(namespace: string, labels: Record<string, string>): Endpoint['role'] {
  if (!systemNamespaces.has(namespace)) return undefined;
  if (labels['component'] === 'kube-apiserver') return 'api-server';
  const isDns = /^(?:kube-dns|coredns|node-local-dns)$/.test(labels['k8s-app'] ?? '');
  return isDns || 'dns.operator.openshift.io/daemonset-dns' in labels ? 'dns' : undefined;
}

export function serviceRole(namespace: string, name: string): Endpoint['role'] {
  if (namespace === 'default' && name === 'kubernetes') return 'api-server';
  if (!systemNamespaces.has(namespace)) return undefined;
  return /^(?:kube-dns|coredns|rke2-coredns-rke2-coredns|dns-default)$/.test(name) ? 'dns' : undefined;
}
