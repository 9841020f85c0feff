/** Tiers, and where Calico puts policies of Kubernetes among its own. */
import type { PolicyRef } from './model.ts';

export interface Tier {
  readonly name: string;
  /** Tiers with a lower order come first; equal ones by Calico's name. */
  readonly order: number;
  readonly calicoName: string;
  /** Decides a connection that no rule matches, if at least one policy selects the Pod in this direction. */
  readonly end: 'deny' | 'next';
}

/** Tier of policies that are not evaluated: they may be of any. */
export const anyTier = 'any';

/** The tier of NetworkPolicies, which is Calico's `default`. */
export const networkPolicyTier = 'NetworkPolicy';

/**
 * Tier of Cilium's rules that go over all NetworkPolicies: those that deny, and those that admit without isolating. Its other rules are in
 * the tier of NetworkPolicies.
 */
export const ciliumTier = 'Cilium';

/** Orders are those that Calico gives them (api/pkg/apis/projectcalico/v3/tier.go). After the last tier, all is admitted. */
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
