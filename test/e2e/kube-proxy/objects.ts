import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';

/** A Service with the TCP port 5432; `address`: what is behind it, and which Pod on which Node that is. */
export function serviceObjects(
  namespace: string,
  name: string,
  address: string,
  pod?: { name: string; node: string },
): KubernetesObject[] {
  const port = 5432;
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { ports: [{ port, protocol: 'TCP' }] },
  };
  const slice = endpointSlice({ namespace, service: name, addresses: [address], ports: [{ port }] });
  if (pod === undefined) return [service, slice];
  const targetRef = { kind: 'Pod', namespace, name: pod.name };
  const endpoints = [{ addresses: [address], conditions: { ready: true }, nodeName: pod.node, targetRef }];
  return [service, { ...slice, endpoints }];
}

export interface SliceOptions {
  readonly namespace: string;
  readonly service: string;
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
}

/** Makes what the endpoint slice controller would make. */
export function endpointSlice({ namespace, service, addresses, ports }: SliceOptions): KubernetesObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { name: `${service}-ipv4`, namespace, labels: { 'kubernetes.io/service-name': service } },
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: ports.map((port) => ({ protocol: 'TCP', ...port })),
  };
}

/** Another address behind a Service, and nothing else: kube-proxy writes once. */
export async function changeEndpoints(
  connection: Connection,
  namespace: string,
  service: string,
  address: string,
): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/${service}-ipv4`;
  const { status } = await connection.request('PATCH', path, {
    body: { endpoints: [{ addresses: [address], conditions: { ready: true } }] },
    contentType: 'application/merge-patch+json',
  });
  if (status !== 200) throw new Error(`[kube-proxy] changing the endpoints of ${namespace}/${service}: ${status}`);
}

/** So that the next test has no rules for them. */
export async function removeServices(connection: Connection, namespace: string): Promise<void> {
  const kinds = 'services,endpointslices.discovery.k8s.io';
  await connection.succeed(['delete', kinds, '--all', '-n', namespace, '--timeout=20s']);
}

/** A Pod of kube-proxy's DaemonSet, with the node's address; no kubelet runs it. */
export function kubeProxyPod(name: string, node: string, address: string): KubernetesObject {
  const startTime = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, '');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system', labels: { 'k8s-app': 'kube-proxy' } },
    spec: {
      nodeName: node,
      hostNetwork: true,
      containers: [{ name: 'kube-proxy', image: 'registry.k8s.io/kube-proxy:v1.36.3' }],
    },
    status: {
      phase: 'Running',
      hostIP: address,
      podIP: address,
      podIPs: [{ ip: address }],
      startTime,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }],
    },
  };
}
