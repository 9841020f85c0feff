import type { KubernetesObject } from '../e2e/control-plane/creatable.ts';
import { honestNamespaces } from './names.ts';

const [shop = ''] = honestNamespaces;

/** The honest tenant's objects in each round, which exist before the agent. */
export const honestObjects: readonly KubernetesObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db', namespace: shop },
    spec: { clusterIP: '10.96.77.10', selector: { app: 'db' }, ports: [{ name: 'postgres', port: 5432 }] },
  },
  policy('default-deny', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
  policy('web-from-frontend', {
    podSelector: { matchLabels: { app: 'web' } },
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'frontend' } } }], ports: [{ port: 8080 }] }],
  }),
  policy('web-to-db', {
    podSelector: { matchLabels: { app: 'web' } },
    policyTypes: ['Egress'],
    egress: [{ to: [{ podSelector: { matchLabels: { app: 'db' } } }], ports: [{ port: 5432 }] }],
  }),
];

function policy(name: string, spec: Readonly<Record<string, unknown>>): KubernetesObject {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace: shop }, spec };
}
