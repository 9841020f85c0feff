/** Policies, compiled once and found by the Pod they select. */
import type { Json } from '../platform/json.ts';
import {
  compileAdminNetworkPolicy,
  compileBaselineAdminNetworkPolicy,
  compileClusterNetworkPolicy,
} from './api/cluster-policy.ts';
import { compileNetworkPolicy } from './api/network-policy.ts';
import { nameOf, refOf, unknownPolicy } from './api/read.ts';
import type { Direction, Pod } from './model.ts';
import { type LabelSet, podLabels } from './probe.ts';
import { byOrder, type Policy, type Tier, tiers } from './tiers.ts';

/** `apiVersion/kind` of what is evaluated. */
const compilers: ReadonlyMap<string, (object: Json) => Policy> = new Map([
  ['networking.k8s.io/v1/NetworkPolicy', compileNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha2/ClusterNetworkPolicy', compileClusterNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha1/AdminNetworkPolicy', compileAdminNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha1/BaselineAdminNetworkPolicy', compileBaselineAdminNetworkPolicy],
]);

/**
 * Kinds that admit or deny what a Pod sends or gets. Those that no compiler takes may decide anything, and are reported so. Kinds that are
 * not listed are no policies.
 */
const policyKinds =
  /^(?:Staged)?(?:Global|Kubernetes|Cilium|CiliumClusterwide|Cluster|Admin|BaselineAdmin)?(?:Network)?Policy$/;

/** Groups of the APIs that have policies of networks; in others, a Policy is something else. */
const policyGroups: ReadonlySet<string> = new Set([
  'networking.k8s.io',
  'policy.networking.k8s.io',
  'projectcalico.org',
  'crd.projectcalico.org',
  'cilium.io',
  'crd.antrea.io',
]);

/** Undefined for what is no policy. Never throws: what is broken, or of an unknown version, decides nothing and makes the verdict unknown. */
export function compilePolicy(object: Json): Policy | undefined {
  const { apiVersion, kind } = refOf(object);
  const compile = compilers.get(`${apiVersion}/${kind}`);
  if (compile !== undefined) return compile(object);
  const [group = ''] = apiVersion.split('/', 1);
  if (!policyGroups.has(group) || !policyKinds.test(kind) || kind.startsWith('Staged')) return undefined;
  return unknownPolicy(object, 'Admin', `${apiVersion} is not evaluated`);
}

/** A policy and whether it selects a Pod: `true`, or what is missing to know it. */
export interface Selecting {
  readonly policy: Policy;
  readonly selects: true | string;
}

/** Policies of a tier, at least one, in the order in which they are asked. */
export interface TierPolicies {
  readonly tier: Tier;
  readonly policies: readonly Selecting[];
}

export type NamespaceLabels = (name: string) => LabelSet;

export interface PolicySet {
  readonly size: number;
  /** Policies that are not evaluated and so make verdicts unknown, one text each. */
  readonly problems: readonly string[];
  /** Those that select the Pod and are about the direction. */
  readonly selecting: (pod: Pod, direction: Direction, namespaceLabels: NamespaceLabels) => readonly TierPolicies[];
}

interface Kept extends Readonly<Record<Direction, readonly TierPolicies[]>> {
  readonly namespace: LabelSet;
}

/** Of compiled policies: a change of one is a new set, for which only that one is compiled again. */
export function createPolicySet(policies: Iterable<Policy>): PolicySet {
  const byNamespace = new Map<string, Policy[]>();
  const ofAll: Policy[] = [];
  const problems: string[] = [];
  let size = 0;
  for (const policy of policies) {
    size += 1;
    if (policy.order === -Infinity) problems.push(`${nameOf(policy.ref)} ${policy.subject.text()}`);
    const { namespace } = policy.ref;
    const listed = namespace === undefined ? ofAll : (byNamespace.get(namespace) ?? []);
    listed.push(policy);
    if (namespace !== undefined) byNamespace.set(namespace, listed);
  }
  // A Pod's object stands for its labels: a changed Pod is another object.
  const kept = new WeakMap<Pod, Kept>();

  return {
    size,
    problems,
    selecting(pod, direction, namespaceLabels) {
      const namespace = namespaceLabels(pod.namespace);
      const known = kept.get(pod);
      if (known?.namespace === namespace) return known[direction];
      const found = find(pod, namespace);
      kept.set(pod, found);
      return found[direction];
    },
  };

  function find(pod: Pod, namespace: LabelSet): Kept {
    const labels = podLabels(pod);
    const found: Selecting[] = [];
    for (const policy of [...ofAll, ...(byNamespace.get(pod.namespace) ?? [])]) {
      const selects = policy.subject.selects(labels, namespace);
      if (selects !== false) found.push({ policy, selects });
    }
    found.sort((a, b) => byOrder(a.policy, b.policy));
    return { namespace, ingress: byTier(found, 'ingress'), egress: byTier(found, 'egress') };
  }
}

function byTier(found: readonly Selecting[], direction: Direction): TierPolicies[] {
  return tiers
    .map((tier) => ({
      tier,
      policies: found.filter(({ policy }) => policy.tier === tier.name && policy.rules[direction] !== undefined),
    }))
    .filter(({ policies }) => policies.length > 0);
}
