/** Finds the compiled policies that select a Pod, in the order of their evaluation. */
import { policyRefName, unknownRules } from './api/read.ts';
import { calicoPod } from './calico/endpoint.ts';
import type { CalicoObjects } from './calico/objects.ts';
import { type LabelSet, type NamespaceLabels, podLabels } from './clauses/labels.ts';
import {
  type PolicyDirection,
  type PolicyPod,
  type Tier,
  anyTier,
  byTierOrder,
  isCalico,
  kubernetesTiers,
} from './model.ts';
import { byOrder, isOrderKnown, type Policy, type PolicySelection } from './policy.ts';
import { createSelectionCache, type Selection, type SelectionCache, type TierPolicies } from './selection-cache.ts';

export interface PolicySet {
  readonly tiers: ReadonlyMap<string, Tier>;
  readonly calico: CalicoObjects | undefined;
  readonly selecting: (
    pod: PolicyPod,
    direction: PolicyDirection,
    namespaceLabels: NamespaceLabels,
  ) => readonly TierPolicies[];
  /** The same set with staged policies enforced; undefined if there are none. */
  readonly staged: PolicySet | undefined;
  /** Has the selections of Pods, for this set and for equal ones. */
  readonly cache: SelectionCache;
}

/** A policy alone is the same list for all Pods that it surely selects, so a Pod takes no more than a reference for it. */
type Alone = readonly [PolicySelection];

/** Without `calico`, verdicts that depend on Calico's tiers and network sets are unknown. */
export function createPolicySet(
  given: Iterable<Policy>,
  calico?: CalicoObjects,
  cache: SelectionCache = createSelectionCache(),
): PolicySet {
  const all = [...given];
  // Tiers that Calico lists replace the built-in ones.
  const tiers = new Map([...kubernetesTiers, ...(calico?.tiers ?? [])].map((tier) => [tier.name, tier]));
  const isOfCalico = hasCalico(all, calico);
  const policies = all.filter(({ staged }) => staged === undefined).map((policy) => inTier(policy, tiers, calico));
  /** In the order of their evaluation, sorted once for all Pods: comparing the names of thousands of policies takes long. */
  const ordered = new Map<string, readonly Alone[]>();
  let staged: PolicySet | undefined;

  const set: PolicySet = {
    tiers,
    calico,
    cache,
    selecting(pod, direction, namespaceLabels) {
      const namespace = namespaceLabels(pod.namespace);
      const known = cache.get(set, pod);
      if (known?.namespace === namespace) return known[direction];
      const found = find(pod, namespace);
      cache.set(set, pod, found);
      return found[direction];
    },
    get staged() {
      if (policies.length < all.length) staged ??= createPolicySet(promoted(all), calico, cache);
      return staged;
    },
  };
  return set;

  function find(pod: PolicyPod, namespace: LabelSet): Selection {
    const labels = podLabels(pod);
    const endpoint = calicoPod(pod, namespace, calico);
    const found: Alone[] = [];
    for (const alone of orderedFor(pod.namespace)) {
      const [{ policy }] = alone;
      const selects = policy.subject.selects(labels, namespace, endpoint);
      if (selects === true) found.push(alone);
      else if (selects !== false) found.push([{ policy, selects }]);
    }
    return { namespace, ingress: byTier(found, 'ingress'), egress: byTier(found, 'egress') };
  }

  function orderedFor(namespace: string): readonly Alone[] {
    let found = ordered.get(namespace);
    if (found === undefined) {
      const about = policies.filter(({ ref }) => ref.namespace === undefined || ref.namespace === namespace);
      found = about.toSorted(byOrder).map((policy): Alone => [{ policy, selects: true }]);
      ordered.set(namespace, found);
    }
    return found;
  }

  function byTier(found: readonly Alone[], direction: PolicyDirection): TierPolicies[] {
    const inTiers = Map.groupBy(
      found.filter(([{ policy }]) => policy.rules[direction] !== undefined),
      ([{ policy }]) => policy.tier,
    );
    return [...inTiers]
      .map(([name, selecting]) => ({ tier: tiers.get(name) as Tier, policies: inOrder(selecting, isOfCalico) }))
      .toSorted((a, b) => byTierOrder(a.tier, b.tier));
  }
}

/** Returns whether Calico enforces the policies, as far as its objects show. */
function hasCalico(policies: readonly Policy[], calico: CalicoObjects | undefined): boolean {
  const { tiers = [], networkSets = [], hostEndpoints = [] } = calico ?? {};
  return tiers.length + networkSets.length + hostEndpoints.length > 0 || policies.some(({ ref }) => isCalico(ref));
}

/** Replaces a policy of an unknown tier by one that may do anything, because it may come before or after any other. */
function inTier(policy: Policy, tiers: ReadonlyMap<string, Tier>, calico: CalicoObjects | undefined): Policy {
  if (tiers.has(policy.tier)) return policy;
  const unread = calico === undefined || calico.unread.has('tiers');
  const why = unread ? `which order the tier ${policy.tier} has` : `the tier ${policy.tier}, which is not there`;
  const reason = `${why}: ${policyRefName(policy.ref)} is of it`;
  const { subject } = policy;
  return {
    ...policy,
    tier: anyTier,
    order: -Infinity,
    subject: {
      selects: (pod, namespace, endpoint) => subject.selects(pod, namespace, endpoint),
      text: () => `(${why})`,
    },
    rules: unknownRules(reason),
  };
}

function inOrder(policies: readonly Alone[], calico: boolean): (readonly PolicySelection[])[] {
  const lists: (readonly PolicySelection[])[] = [];
  for (let first = 0; first < policies.length;) {
    let end = first + 1;
    while (policies[end]?.[0].policy.order === policies[first]?.[0].policy.order) end += 1;
    const equal = policies.slice(first, end);
    const isKnown = equal.every(
      ([{ policy }], index) => index === 0 || isOrderKnown((equal[index - 1] as Alone)[0].policy, policy, calico),
    );
    if (isKnown) for (const each of equal) lists.push(each);
    else lists.push(equal.flat());
    first = end;
  }
  return lists;
}

function promoted(policies: readonly Policy[]): Policy[] {
  const applied = policies.filter(({ staged }) => staged === 'set' || staged === 'delete');
  const byKey = new Map(applied.map((policy) => [keyOf(policy), policy]));
  // Keep all parts of a Cilium policy, which have one key.
  const result = policies.filter((policy) => policy.staged === undefined && !byKey.has(keyOf(policy)));
  for (const { staged, ...policy } of byKey.values()) if (staged === 'set') result.push(policy);
  return result;
}

/** `StagedNetworkPolicy shop/x` replaces Calico's `NetworkPolicy shop/x`; a StagedKubernetesNetworkPolicy replaces one of Kubernetes. */
function keyOf({ ref }: Policy): string {
  const { apiVersion, kind, namespace, name } = ref;
  const isStaged = kind.startsWith('Staged');
  const group = kind === 'StagedKubernetesNetworkPolicy' ? 'networking.k8s.io' : apiVersion.split('/', 1)[0];
  const enforced = isStaged ? kind.replace('StagedKubernetes', '').replace('Staged', '') : kind;
  return `${group}/${enforced}/${namespace ?? ''}/${name}`;
}
