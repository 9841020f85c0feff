import type { Labels, NamedPort, Namespace, Pod } from '../../src/policies/policies.ts';
import { compilePolicy, createEvaluator, createPolicySet, type Evaluator } from '../../src/policies/policies.ts';

export function pod(given: Partial<Pod> = {}): Pod {
  return {
    namespace: 'shop',
    name: 'postgres-0',
    labels: { app: 'postgres' },
    addresses: ['10.65.1.4'],
    node: 'node-a',
    hostNetwork: false,
    completed: false,
    ports: [],
    ...given,
  };
}

export function namedPort(name: string, port: number, protocol = 'TCP'): NamedPort {
  return { name, port, protocol };
}

export function namespace(name: string, labels: Labels = {}): Namespace {
  return { name, labels };
}

/** A NetworkPolicy as a client gets it, without defaults. */
export function networkPolicy(spec: object, name = 'policy', namespaceName = 'shop'): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: namespaceName },
    spec,
  };
}

export function clusterNetworkPolicy(spec: object, name = 'policy'): object {
  return { apiVersion: 'policy.networking.k8s.io/v1alpha2', kind: 'ClusterNetworkPolicy', metadata: { name }, spec };
}

export function adminNetworkPolicy(spec: object, name = 'policy'): object {
  return { apiVersion: 'policy.networking.k8s.io/v1alpha1', kind: 'AdminNetworkPolicy', metadata: { name }, spec };
}

export function baselineAdminNetworkPolicy(spec: object): object {
  return {
    apiVersion: 'policy.networking.k8s.io/v1alpha1',
    kind: 'BaselineAdminNetworkPolicy',
    metadata: { name: 'default' },
    spec,
  };
}

export function evaluator(policies: readonly object[], namespaces: readonly Namespace[] = []): Evaluator {
  return createEvaluator({
    policies: createPolicySet(policies.map(compilePolicy).filter((policy) => policy !== undefined)),
    namespaces,
  });
}
