/** Defines the input and result of the evaluation as plain data, and the tiers. Undefined means not known, unless a comment says otherwise. */
import type { Millis } from '../../base/model/log-line.ts';
import type { NamedObject } from '../../base/model/readers.ts';
import type { ClauseWords } from './words.ts';

export type Labels = Readonly<Record<string, string>>;

/** A named port of a container, or of a sidecar (an init container that is restarted always). */
export interface NamedPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export interface PolicyPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels | undefined;
  /** Canonical text (platform/address.ts). */
  readonly addresses: readonly string[];
  readonly node: string | undefined;
  readonly hostNetwork: boolean;
  /** The Pod has succeeded or failed, so its address may belong to another Pod now. */
  readonly completed: boolean;
  readonly ports: readonly NamedPort[] | undefined;
  readonly serviceAccount?: string | undefined;
}

export interface Namespace {
  readonly name: string;
  readonly labels: Labels;
}

export interface PolicyNode {
  readonly name: string;
  readonly labels: Labels | undefined;
}

/**
 * One end of a connection. `address` is what the filter saw: after destination NAT and before source NAT. `external`: known to be neither a
 * Pod nor a Node; `hostName` is the name that the other end looked up. `unknown`: the owner of the address is not known; without an address,
 * it is any but the Pod's own.
 */
export type End =
  | { readonly kind: 'pod'; readonly pod: PolicyPod; readonly address: string | undefined }
  | { readonly kind: 'node'; readonly node: PolicyNode; readonly address: string | undefined }
  | { readonly kind: 'external'; readonly address: string; readonly hostName?: string | undefined }
  | { readonly kind: 'unknown'; readonly address: string | undefined };

/** A connection from its opener (`source`). Replies also belong to it. If the addresses are of two families, the verdict is unknown. */
export interface PolicyFlow {
  readonly source: End;
  readonly destination: End;
  /** IANA keyword: TCP, UDP, SCTP, ICMP, ICMPv6, … */
  readonly protocol: string;
  readonly port: number | undefined;
  /** The source used the address of a Service. This matters if a Pod reaches itself. */
  readonly viaService?: boolean;
  /** Cilium decided, so that an ipBlock matches no Pod. */
  readonly byCilium?: boolean;
  /** The name of the tier that decided, if that is known. Policies of others are not asked. */
  readonly byTier?: string | undefined;
}

export type PolicyDirection = 'ingress' | 'egress';

export interface PolicyRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined for cluster-wide kinds. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** `log` does not decide: the next rule is evaluated. */
export type Action = 'admit' | 'deny' | 'pass' | 'log';

/** Stands for a result that is unknown without a fact, such as `labels of Pod shop/web-0`. */
export class Unknown {
  readonly missing: string;

  constructor(missing: string) {
    this.missing = missing;
  }
}

/** An unknown match matters only if no other match decides. */
export type MatchResult = boolean | Unknown;

export type Reason =
  | 'rule'
  /** Policies isolate the Pod, none of their rules matches, and their tier denies the rest. */
  | 'isolated'
  | 'not-isolated'
  /** Policies apply, none of their rules matches, and none of them isolates. */
  | 'no-rule'
  /** A Node always reaches its own Pods. */
  | 'own-node'
  | 'itself'
  /** This end is not a Pod, or is a Pod on its Node's network, so no policy selects it. */
  | 'no-pod'
  | 'unknown';

export interface RuleDecision {
  readonly policy: PolicyRef;
  /** `ingress[0]`. */
  readonly rule: string;
  readonly action: Action;
  readonly changed: Millis | undefined;
}

export interface ConnectionVerdict {
  readonly direction: PolicyDirection;
  readonly outcome: 'admits' | 'denies' | 'unknown';
  readonly reason: Reason;
  /** Set with the reason `rule`. */
  readonly decision: RuleDecision | undefined;
  /** Set with the reason `isolated`: the tier that denies. */
  readonly tier?: string | undefined;
  readonly missing: readonly string[];
}

export interface ClauseTrace {
  readonly path: string;
  /** Returns the objects whose labels or names `has` shows. A function, because JSON leaves it out. */
  readonly about: () => readonly NamedObject[];
  readonly match: MatchResult;
  /** `podSelector app=frontend`. */
  readonly wants: string;
  /**
   * If it does not match: the property of the other end (for a port: of the connection) instead (`has app=worker`). If it matches: a
   * warning, or empty.
   */
  readonly has: string;
  /** The same in the words of an Event; undefined if those of the API are used. A function, because JSON leaves it out. */
  readonly inWords: () => ClauseWords | undefined;
}

export interface RuleTrace {
  readonly path: string;
  readonly action: Action;
  readonly match: MatchResult;
  /** One alternative of each group must match. */
  readonly groups: readonly (readonly ClauseTrace[])[];
}

export interface NearestRule {
  readonly path: string;
  /** The number of alternatives of each group, and the first one that matches or, if none does, the first one. */
  readonly groups: readonly { readonly count: number; readonly clause: ClauseTrace }[];
}

export interface PolicyTrace {
  readonly policy: PolicyRef;
  /** `any` if the tier is not known. Calico's tier `default` is `NetworkPolicy`. */
  readonly tier: string;
  readonly selects: true | Unknown;
  /** `podSelector app=postgres`. */
  readonly selector: string;
  readonly ruleCount: number;
  readonly rules: readonly RuleTrace[];
}

export interface Trace {
  readonly verdict: ConnectionVerdict;
  /** The first `maxTraced` policies, in the order of their evaluation. */
  readonly policies: readonly PolicyTrace[];
  readonly selectingCount: number;
  /** All policies that isolate the Pod, if the reason is `isolated`; otherwise empty. */
  readonly isolating: readonly PolicyRef[];
  /** The admitting rule that is nearest to a match; undefined if the connection is admitted, or no rule admits. */
  readonly nearest: { readonly policy: PolicyRef; readonly rule: NearestRule } | undefined;
  /** The verdict if Calico's staged policies were enforced; undefined if the outcome stays the same. */
  readonly staged: StagedVerdict | undefined;
}

export interface StagedVerdict {
  readonly verdict: ConnectionVerdict;
  /** Staged policies that select the Pod; the first `maxTraced` of them. */
  readonly policies: readonly PolicyRef[];
}

export function both(first: MatchResult, second: () => MatchResult): MatchResult {
  if (first === true) return second();
  return first !== false && second() !== false && first;
}

/** Of several unknown matches the last one counts, here and in `anyOf`. */
export function allOf<T>(items: readonly T[], matches: (item: T) => MatchResult): MatchResult {
  return decidedBy(false, items, matches);
}

export function anyOf<T>(items: readonly T[], matches: (item: T) => MatchResult): MatchResult {
  return decidedBy(true, items, matches);
}

function decidedBy<T>(decides: boolean, items: readonly T[], matches: (item: T) => MatchResult): MatchResult {
  let result: MatchResult = !decides;
  for (const item of items) {
    const match = matches(item);
    if (match === decides) return match;
    if (match !== !decides) result = match;
  }
  return result;
}

export function not(match: MatchResult): MatchResult {
  return match instanceof Unknown ? match : !match;
}

export interface Tier {
  readonly name: string;
  /** The tier with the lower order comes first. Tiers of equal order come by Calico's name. */
  readonly order: number;
  readonly calicoName: string;
  /** What happens to a connection that no rule matches, if a policy of the tier selects the Pod in this direction. */
  readonly end: 'deny' | 'next';
}

/** The tier of policies whose own tier is not known. They are not evaluated. */
export const anyTier = 'any';

/** Calico's `default`. */
export const networkPolicyTier = 'NetworkPolicy';

/** The tier of Cilium's rules that deny, or admit without isolating: they override NetworkPolicies. Other rules are in `networkPolicyTier`. */
export const ciliumTier = 'Cilium';

/** Orders are Calico's (api/pkg/apis/projectcalico/v3/tier.go), but not of `any` and `Cilium`. After the last tier, everything is admitted. */
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

/** The order of a NetworkPolicy in Calico's tier `default` (libcalico-go/lib/backend/k8s/conversion/conversion.go). */
export const networkPolicyOrder = 1000;

/** Whether an object is of Calico's own API, as served or as stored (`crd.`). */
export function isCalico({ apiVersion }: Pick<PolicyRef, 'apiVersion'>): boolean {
  return apiVersion.startsWith('projectcalico.org/') || apiVersion.startsWith('crd.projectcalico.org/');
}

export function isCilium({ apiVersion }: Pick<PolicyRef, 'apiVersion'>): boolean {
  return apiVersion.startsWith('cilium.io/');
}
