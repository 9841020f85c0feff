/** Lists the tiers of policies, and says where Calico puts policies of Kubernetes among its own. */
import type { PolicyRef } from './model.ts';

export interface Tier {
  readonly name: string;
  /** The tier with the lower order comes first. Tiers of equal order come by Calico's name. */
  readonly order: number;
  readonly calicoName: string;
  /** What happens to a connection that no rule matches, if at least one policy of the tier selects the Pod in this direction. */
  readonly end: 'deny' | 'next';
}

/** The tier of policies that are not evaluated, because their tier is unknown. */
export const anyTier = 'any';

/** The tier of NetworkPolicies, which is Calico's `default`. */
export const networkPolicyTier = 'NetworkPolicy';

/**
 * The tier of Cilium's rules that override all NetworkPolicies: rules that deny, and rules that admit without isolating. Cilium's other
 * rules are in the tier of NetworkPolicies.
 */
export const ciliumTier = 'Cilium';

/** The orders are Calico's (api/pkg/apis/projectcalico/v3/tier.go). After the last tier, everything is admitted. */
export const kubernetesTiers: readonly Tier[] = [
  { name: anyTier, order: -Infinity, calicoName: '', end: 'next' },
  { name: 'Admin', order: 1000, calicoName: 'kube-admin', end: 'next' },
  { name: ciliumTier, order: 999_999, calicoName: '', end: 'next' },
  { name: networkPolicyTier, order: 1_000_000, calicoName: 'default', end: 'deny' },
  { name: 'Baseline', order: 10_000_000, calicoName: 'kube-baseline', end: 'next' },
];

export function byTierOrder(a: Tier, b: Tier): number {
  // Infinity minus Infinity is NaN.
  if (a.order !== b.order) return a.order < b.order ? -1 : 1;
  return a.calicoName < b.calicoName ? -1 : 1;
}

/** The order of a NetworkPolicy in its tier of Calico (libcalico-go/lib/backend/k8s/conversion/conversion.go). */
export const networkPolicyOrder = 1000;

/** An object of Calico's own API: as its API server serves it, or as it is stored. */
export function isCalico({ apiVersion }: Pick<PolicyRef, 'apiVersion'>): boolean {
  return apiVersion.startsWith('projectcalico.org/') || apiVersion.startsWith('crd.projectcalico.org/');
}

export function isCilium({ apiVersion }: Pick<PolicyRef, 'apiVersion'>): boolean {
  return apiVersion.startsWith('cilium.io/');
}
