import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import {
  type Labels,
  type NamedPort,
  type Namespace,
  type PolicyPod,
  type CalicoKind,
  collectCalicoObjects,
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type Evaluator,
  type PolicySet,
} from '../../../src/explain/policies/policies.ts';

export function pod(given: Partial<PolicyPod> = {}): PolicyPod {
  return {
    namespace: 'shop',
    name: 'postgres-0',
    labels: { app: 'postgres' },
    addresses: ['10.65.1.4'],
    node: 'node-a',
    hostNetwork: false,
    completed: false,
    ports: [],
    serviceAccount: 'default',
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

/** An object of Calico's API; without a Namespace, it concerns the whole cluster. */
export function calico(kind: string, spec: object, name = 'policy', namespaceName?: string, labels?: Labels): object {
  const metadata = { name, ...(namespaceName === undefined ? {} : { namespace: namespaceName }), labels };
  return { apiVersion: 'projectcalico.org/v3', kind, metadata, spec };
}

const versions: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networking.k8s.io/v1',
  ClusterNetworkPolicy: 'policy.networking.k8s.io/v1alpha2',
  AdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
  BaselineAdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
  CiliumNetworkPolicy: 'cilium.io/v2',
  CiliumClusterwideNetworkPolicy: 'cilium.io/v2',
};

type Short = Record<string, unknown> & { apiVersion?: string; times?: number };

/**
 * The object of `{KIND: SPEC, …metadata}`, in the Namespace shop if its kind is namespaced. `times`: how many to make,
 * which differ by name. A complete object stays as it is.
 */
export function shortObjects(given: object): object[] {
  if ('kind' in given) return [given];
  const key = Object.keys(given).find((each) => /^[A-Z]/.test(each)) ?? '';
  const { [key]: spec, apiVersion = versions[key] ?? 'projectcalico.org/v3', times = 0, ...more } = given as Short;
  const isOfNamespace = /^(?:Staged)?(?:Kubernetes|Cilium)?Network/.test(key);
  const metadata = { name: 'policy', ...(isOfNamespace && { namespace: 'shop' }), ...more };
  const one = { apiVersion, kind: key.replace(' of Calico', ''), metadata, spec: spec ?? undefined };
  if (times === 0) return [one];
  return Array.from({ length: times }, (_, index) => ({
    ...one,
    metadata: { ...metadata, name: `${metadata.name}-${index}` },
  }));
}

/** Reads a file of objects in short form, each under a name, which becomes its own name if it has no other. */
export function namedObjects(file: string): (name: string) => object {
  const all = load(readFileSync(file, 'utf8')) as Record<string, object>;
  return (name) => {
    const object = all[name] ?? {};
    return shortObjects('kind' in object ? object : { name, ...object })[0] as object;
  };
}

/** Evaluates all given objects: policies of all kinds, and Calico's other objects. */
export function evaluator(objects: readonly object[], namespaces: readonly Namespace[] = []): Evaluator {
  return createEvaluator({ policies: policySet(objects), namespaces });
}

/** `unread`: kinds of which there may be more objects. `complete`: whether the EndpointSlices are all given. */
export function policySet(
  objects: readonly object[],
  unread: readonly (CalicoKind | undefined)[] = [],
  complete = false,
): PolicySet {
  const others = collectCalicoObjects();
  for (const kind of unread) if (kind !== undefined) others.unread(kind);
  for (const each of objects) others.add(each);
  if (complete) others.services.completeIfAny();
  return createPolicySet(objects.flatMap(compilePolicy), others.read());
}
