/** Finds the compiled policies that select a Pod, in the order of their evaluation. */
import { nameOf, unknownRules } from './api/read.ts';
import { podEndpoint } from './calico/endpoint.ts';
import type { CalicoObjects } from './calico/objects.ts';
import { type LabelSet, type NamespaceLabels, podLabels } from './clauses/labels.ts';
import { type Direction, type Pod, type Tier, anyTier, byTierOrder, isCalico, kubernetesTiers } from './model.ts';
import { byOrder, isOrderKnown, type Policy, type Selecting } from './policy.ts';

export interface TierPolicies {
  readonly tier: Tier;
  /** It is not known which policy of one inner list is evaluated first. */
  readonly policies: readonly (readonly Selecting[])[];
}

export interface PolicySet {
  readonly tiers: ReadonlyMap<string, Tier>;
  readonly calico: CalicoObjects | undefined;
  readonly selecting: (pod: Pod, direction: Direction, namespaceLabels: NamespaceLabels) => readonly TierPolicies[];
  /** The same set with staged policies enforced; undefined if there are none. */
  readonly staged: PolicySet | undefined;
}

interface Kept extends Readonly<Record<Direction, readonly TierPolicies[]>> {
  readonly namespace: LabelSet;
}

/** Without `calico`, verdicts that depend on Calico's tiers and network sets are unknown. */
export function createPolicySet(given: Iterable<Policy>, calico?: CalicoObjects): PolicySet {
  const all = [...given];
  // Tiers that Calico lists replace the built-in ones.
  const tiers = new Map([...kubernetesTiers, ...(calico?.tiers ?? [])].map((tier) => [tier.name, tier]));
  const isOfCalico = hasCalico(all, calico);
  const policies = all.filter(({ staged }) => staged === undefined).map((policy) => inTier(policy, tiers, calico));
  const byNamespace = Map.groupBy(policies, ({ ref }) => ref.namespace);
  /** Computed once for all Pods, because comparing the names of thousands of policies takes long. */
  let places: ReadonlyMap<Policy, number> | undefined;
  // A cache by object is safe, because a Pod that changes becomes another object.
  const kept = new WeakMap<Pod, Kept>();
  let staged: PolicySet | undefined;

  return {
    tiers,
    calico,
    selecting(pod, direction, namespaceLabels) {
      const namespace = namespaceLabels(pod.namespace);
      const known = kept.get(pod);
      if (known?.namespace === namespace) return known[direction];
      const found = find(pod, namespace);
      kept.set(pod, found);
      return found[direction];
    },
    get staged() {
      if (policies.length < all.length) staged ??= createPolicySet(promoted(all), calico);
      return staged;
    },
  };

  function find(pod: Pod, namespace: LabelSet): Kept {
    const labels = podLabels(pod);
    const endpoint = podEndpoint(pod, namespace, calico);
    const found: Selecting[] = [];
    for (const policy of [...(byNamespace.get(undefined) ?? []), ...(byNamespace.get(pod.namespace) ?? [])]) {
      const selects = policy.subject.selects(labels, namespace, endpoint);
      if (selects !== false) found.push({ policy, selects });
    }
    const inPlace = (places ??= new Map(policies.toSorted(byOrder).map((policy, index) => [policy, index])));
    found.sort((a, b) => (inPlace.get(a.policy) ?? 0) - (inPlace.get(b.policy) ?? 0));
    return { namespace, ingress: byTier(found, 'ingress'), egress: byTier(found, 'egress') };
  }

  function byTier(found: readonly Selecting[], direction: Direction): TierPolicies[] {
    const inTiers = Map.groupBy(
      found.filter(({ policy }) => policy.rules[direction] !== undefined),
      ({ policy }) => policy.tier,
    );
    return [...inTiers]
      .map(([name, selecting]) => ({ tier: tiers.get(name) as Tier, policies: inOrder(selecting, isOfCalico) }))
      .toSorted((a, b) => byTierOrder(a.tier, b.tier));
  }
}

/** Returns whether Calico enforces the policies, as far as its objects show it. */
function hasCalico(policies: readonly Policy[], calico: CalicoObjects | undefined): boolean {
  const { tiers = [], networkSets = [], hostEndpoints = [] } = calico ?? {};
  return tiers.length + networkSets.length + hostEndpoints.length > 0 || policies.some(({ ref }) => isCalico(ref));
}

/** Replaces a policy of an unknown tier by one that may do anything, because it may come before or after any other. */
function inTier(policy: Policy, tiers: ReadonlyMap<string, Tier>, calico: CalicoObjects | undefined): Policy {
  if (tiers.has(policy.tier)) return policy;
  const unread = calico === undefined || calico.unread.has('tiers');
  const why = unread ? `which order the tier ${policy.tier} has` : `the tier ${policy.tier}, which is not there`;
  const reason = `${why}: ${nameOf(policy.ref)} is of it`;
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

function inOrder(policies: readonly Selecting[], calico: boolean): Selecting[][] {
  const lists: Selecting[][] = [];
  for (let first = 0; first < policies.length;) {
    let end = first + 1;
    while (policies[end]?.policy.order === policies[first]?.policy.order) end += 1;
    const equal = policies.slice(first, end);
    const isKnown = equal.every(
      ({ policy }, index) => index === 0 || isOrderKnown((equal[index - 1] as Selecting).policy, policy, calico),
    );
    lists.push(...(isKnown ? equal.map((each) => [each]) : [equal]));
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
