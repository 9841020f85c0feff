/** A flow as an agent answers it. */
export function flow(given: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    'event.action': 'dropped',
    'network.transport': 'tcp',
    'source.address': '10.244.0.41',
    'source.k8s.namespace.name': 'batch',
    'source.k8s.owner.kind': 'Deployment',
    'source.k8s.owner.name': 'worker',
    'destination.address': '10.244.0.7',
    'destination.k8s.namespace.name': 'shop',
    'destination.k8s.pod.name': 'postgres-0',
    'destination.port': 5432,
    'event.start': '2026-11-22T09:00:00.000Z',
    'event.end': '2026-11-22T09:59:52.000Z',
    'network.packets': 36,
    ...given,
  };
}
