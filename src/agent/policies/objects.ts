/** Policies, Namespaces and Pods that Events have needed, within a budget and bounds. */
import type { KnownPolicies, PolicyNeeds } from '../../drops/policy-trace.ts';
import type { ClusterPolicies, KnownPod, NamespacePolicies, PolicyReader } from '../../kubernetes/policy-objects.ts';
import type { Millis } from '../../model/log-line.ts';
import { createFreshValues, type Fresh } from '../../platform/fresh-values.ts';
import { createTokenBucket } from '../../platform/token-bucket.ts';
import { createEvaluator, createPolicySet, type PolicySet } from '../../policies/policies.ts';

/** Look-ups of one node; one is a Pod, a Namespace with its policies, or the policies of the cluster. */
const budget = { rate: 30 / 60, burst: 60 };

/** What could not be read is not tried again before. */
const failedFor: Millis = 10_000;

/** Over all Namespaces together, and how many of these and of Pods are kept. */
const most = { policies: 10_000, namespaces: 256, pods: 512 };

export interface PolicyObjectsOptions {
  readonly reader: PolicyReader;
  readonly onFailed: (error: unknown) => void;
  readonly now: () => Millis;
}

export interface PolicyObjects {
  /** Reads what was not read after `since`, as far as the budget goes. Never rejects. */
  readonly refresh: (needs: PolicyNeeds, since: { policies: Millis; pods: Millis }) => Promise<void>;
  /** Undefined where policies are missing that might decide. `at`: when the oldest of them were read. */
  readonly known: (needs: PolicyNeeds) => { policies: KnownPolicies; at: Millis } | undefined;
}

export function createPolicyObjects({ reader, onFailed, now }: PolicyObjectsOptions): PolicyObjects {
  const bucket = createTokenBucket(budget);
  const common = { mayRead: () => bucket.take(now()), onFailed, failedFor, now };
  const cluster = createFreshValues<ClusterPolicies>({
    ...common,
    read: reader.cluster,
    max: 1,
    maxSize: most.policies,
    sizeOf: ({ policies, calico }) => policies.length + (calico?.networkSets.length ?? 0),
  });
  const namespaces = createFreshValues<NamespacePolicies>({
    ...common,
    read: reader.namespace,
    max: most.namespaces,
    maxSize: most.policies,
    sizeOf: ({ policies }) => policies.length,
  });
  const pods = createFreshValues<{ found: KnownPod | undefined }>({
    ...common,
    read: async (key) => {
      const [namespace = '', name = ''] = key.split('/');
      return { found: await reader.pod(namespace, name) };
    },
    max: most.pods,
    maxSize: most.pods,
    sizeOf: () => 1,
  });
  const setOf = createSets();

  return {
    async refresh({ pods: refs, namespaces: names }, since) {
      await Promise.all([
        cluster.refresh('', since.policies),
        ...names.map((name) => namespaces.refresh(name, since.policies)),
        ...refs.map(({ namespace, name }) => pods.refresh(`${namespace}/${name}`, since.pods)),
      ]);
    },
    known({ pods: refs, namespaces: names }) {
      const ofCluster = cluster.get('');
      const ofNames = new Map<string, Fresh<NamespacePolicies>>();
      for (const name of names) {
        const found = namespaces.get(name);
        if (found !== undefined) ofNames.set(name, found);
      }
      if (ofCluster === undefined || ofNames.size < names.length) return undefined;
      const parts = [...ofNames.values()];
      const known = parts.flatMap(({ value }) => value.namespace ?? []);
      return {
        at: Math.min(ofCluster.at, ...parts.map(({ at }) => at)),
        policies: {
          pod(namespace, name) {
            const found = pods.get(`${namespace}/${name}`)?.value.found;
            const ref = refs.find((each) => each.namespace === namespace && each.name === name);
            // Another Pod of that name has other labels.
            return found !== undefined && (ref?.uid === '' || ref?.uid === found.uid) ? found.pod : undefined;
          },
          namespace: (name) => ofNames.get(name)?.value.namespace,
          trace(flow, direction) {
            const end = direction === 'ingress' ? flow.destination : flow.source;
            const own = end.kind === 'pod' ? ofNames.get(end.pod.namespace)?.value : undefined;
            return createEvaluator({ policies: setOf(ofCluster.value, own), namespaces: known }).trace(flow, direction);
          },
        },
      };
    },
  };
}

/** Policies of the cluster and of one Namespace, put together once for each state of both. */
function createSets(): (ofCluster: ClusterPolicies, own: NamespacePolicies | undefined) => PolicySet {
  const sets = new WeakMap<NamespacePolicies, { ofCluster: ClusterPolicies; set: PolicySet }>();
  return (ofCluster, own) => {
    if (own === undefined) return createPolicySet(ofCluster.policies, ofCluster.calico);
    const made = sets.get(own);
    if (made?.ofCluster === ofCluster) return made.set;
    const set = createPolicySet([...ofCluster.policies, ...own.policies], ofCluster.calico);
    sets.set(own, { ofCluster, set });
    return set;
  };
}
