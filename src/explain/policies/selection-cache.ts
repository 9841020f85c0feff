/** Keeps which policies select a Pod, for Pods that were asked lately. A tenant may have ten thousand policies and hundreds of Pods. */
import type { Bytes } from '../../base/platform/weight.ts';
import type { LabelSet } from './clauses/labels.ts';
import type { PolicyDirection, PolicyPod, Tier } from './model.ts';
import type { PolicySelection } from './policy.ts';

export interface TierPolicies {
  readonly tier: Tier;
  /** The order of policies within an inner list is unknown. */
  readonly policies: readonly (readonly PolicySelection[])[];
}

export interface Selection extends Readonly<Record<PolicyDirection, readonly TierPolicies[]>> {
  readonly namespace: LabelSet;
}

export interface SelectionCache {
  /** `set`: the policies that it was made from. */
  get: (set: object, pod: PolicyPod) => Selection | undefined;
  set: (set: object, pod: PolicyPod, selection: Selection) => void;
  /** Adds the weight of objects that are kept as long as a selection. */
  add: (more: Bytes) => void;
}

/** Enough for a hundred Pods with a thousand policies each. */
const mostKept: Bytes = 2 * 1024 * 1024;

const weights = {
  selection: 400,
  tier: 120,
  /** Of a policy that surely selects the Pod; the list of it is that of the set. */
  reference: 8,
  /** Of policies that may select the Pod, or go in any order. */
  ownList: 80,
  uncertain: 200,
} as const;

/** Forgets everything above `most`. It holds no references that keep Pods or policies in memory. */
export function createSelectionCache(most: Bytes = mostKept): SelectionCache {
  let kept = new WeakMap<object, WeakMap<PolicyPod, Selection>>();
  let bytes: Bytes = 0;

  return {
    // A Pod that changes becomes another object.
    get: (set, pod) => kept.get(set)?.get(pod),
    set(set, pod, selection) {
      add(weights.selection + weightOfTiers(selection.ingress) + weightOfTiers(selection.egress));
      const ofSet = kept.get(set) ?? new WeakMap<PolicyPod, Selection>();
      ofSet.set(pod, selection);
      kept.set(set, ofSet);
    },
    add,
  };

  function add(more: Bytes): void {
    if (bytes + more > most) {
      kept = new WeakMap();
      bytes = 0;
    }
    bytes += more;
  }
}

function weightOfTiers(tiers: readonly TierPolicies[]): Bytes {
  let sum: Bytes = 0;
  for (const { policies } of tiers) {
    sum += weights.tier + weights.reference * policies.length;
    for (const list of policies) {
      if (list.length > 1) sum += weights.ownList + weights.reference * list.length;
      for (const { selects } of list) if (selects !== true) sum += weights.ownList + weights.uncertain;
    }
  }
  return sum;
}
