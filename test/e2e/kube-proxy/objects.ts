import type { Connection } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';

/** A Service with the TCP port 5432, and the address behind it. */
export function serviceObjects(namespace: string, name: string, address: string): KubernetesObject[] {
  const ports = [{ port: 5432, protocol: 'TCP' }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { name: `${name}-ipv4`, namespace, labels: { 'kubernetes.io/service-name': name } },
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports,
    },
  ];
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
