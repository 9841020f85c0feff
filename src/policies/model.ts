/** Types of what policies are evaluated against, and of the result. Plain data: it can be written as JSON and read back unchanged. */
import type { Millis } from '../model/log-line.ts';

export type Labels = Readonly<Record<string, string>>;

/** A port that a container names; those of sidecars (init containers that are restarted always) count too. */
export interface NamedPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: not known. */
  readonly labels: Labels | undefined;
  /** Canonical text (platform/address.ts). */
  readonly addresses: readonly string[];
  /** Node; undefined: not known, or none yet. */
  readonly node: string | undefined;
  readonly hostNetwork: boolean;
  /** Succeeded or failed: it sends nothing, and its address may be another's. */
  readonly completed: boolean;
  /** Undefined: not known. */
  readonly ports: readonly NamedPort[] | undefined;
  /** Name of its ServiceAccount; undefined: not known. Rules of Calico select by it. */
  readonly serviceAccount?: string | undefined;
}

export interface Namespace {
  readonly name: string;
  readonly labels: Labels;
}

export interface Node {
  readonly name: string;
  readonly labels: Labels | undefined;
}

/**
 * One end of a connection. `address` is what the filter saw: after the destination was translated, before the source is.
 * `external`: known to be no Pod's and no Node's; `hostName`: the name by which the other end has asked for it. `unknown`: whose it is, is not known.
 */
export type End =
  | { readonly kind: 'pod'; readonly pod: Pod; readonly address: string | undefined }
  | { readonly kind: 'node'; readonly node: Node; readonly address: string | undefined }
  | { readonly kind: 'external'; readonly address: string; readonly hostName?: string | undefined }
  | { readonly kind: 'unknown'; readonly address: string };

/**
 * A connection: its source is who opened it, so an answer is the connection of what it answers. Both addresses are of one family; of any
 * others the verdict is unknown, because no packet has them.
 */
export interface Flow {
  readonly source: End;
  readonly destination: End;
  /** IANA keyword: TCP, UDP, SCTP, ICMP, ICMPv6, … */
  readonly protocol: string;
  /** Destination port; undefined for protocols without ports, and for fragments that have none. */
  readonly port: number | undefined;
  /** The destination was named by a Service's address. Matters where a Pod reaches itself. */
  readonly viaService?: boolean;
}

export type Direction = 'ingress' | 'egress';

export interface PolicyRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined for kinds of the whole cluster. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** `log` decides nothing: the next rule is asked. */
export type Action = 'admit' | 'deny' | 'pass' | 'log';

/** `true`: matches, `false`: does not, a text: cannot be known, and which fact is missing. */
export type Match = boolean | string;

/** Why the verdict of a direction is what it is. */
export type Reason =
  /** A rule decides. */
  | 'rule'
  /** Policies isolate the Pod, and no rule of them matches: the tier that they are of ends with a denial. */
  | 'isolated'
  /** No policy selects the Pod in this direction. */
  | 'not-isolated'
  /** Policies apply, none of their rules matches, and none of them isolates. */
  | 'no-rule'
  /** Packets of a Node to its own Pods are always admitted. */
  | 'own-node'
  /** A Pod reaches itself. */
  | 'itself'
  /** This end is no Pod, or one on its Node's network: no policy selects it. */
  | 'no-pod'
  | 'unknown';

/** The rule that decides. */
export interface Decision {
  readonly policy: PolicyRef;
  /** `ingress[0]`. */
  readonly rule: string;
  readonly action: Action;
  /** The time at which the policy was last written, if it is known. */
  readonly changed: Millis | undefined;
}

export interface Verdict {
  readonly direction: Direction;
  readonly outcome: 'admits' | 'denies' | 'unknown';
  readonly reason: Reason;
  /** Set with the reason `rule`. */
  readonly decision: Decision | undefined;
  /** Set with the reason `isolated`: the tier whose end denies. */
  readonly tier?: string | undefined;
  /** Facts without which it cannot be known, where the outcome is unknown. */
  readonly missing: readonly string[];
}

/** One alternative of a rule's ports or peers, and how it compares with the connection. */
export interface ClauseTrace {
  /** `ingress[0].from[0]`. */
  readonly path: string;
  readonly match: Match;
  /** `podSelector app=frontend`. */
  readonly wants: string;
  /**
   * Says what the other end, or for ports the connection, has or is instead if it does not match: `has app=worker`. If it matches, a note
   * on that, if there is one.
   */
  readonly has: string;
}

export interface RuleTrace {
  readonly path: string;
  readonly action: Action;
  readonly match: Match;
  /** Groups of alternatives: one of each group must match. An empty list: all connections. */
  readonly groups: readonly (readonly ClauseTrace[])[];
}

export interface PolicyTrace {
  readonly policy: PolicyRef;
  /** `any`: it is not evaluated. Calico's `default` is `NetworkPolicy`. */
  readonly tier: string;
  /** `true`, or a text: whether it selects the Pod cannot be known. */
  readonly selects: true | string;
  /** `podSelector app=postgres`. */
  readonly selector: string;
  readonly rules: readonly RuleTrace[];
}

export interface Trace {
  readonly verdict: Verdict;
  /** The first `maxTraced` policies, in the order in which they are asked. */
  readonly policies: readonly PolicyTrace[];
  /** The number of policies that select the Pod in this direction. */
  readonly selecting: number;
  /** The rule that fails at the fewest places, of those that would have admitted; undefined if nothing was denied. */
  readonly nearest: { readonly policy: PolicyRef; readonly rule: RuleTrace } | undefined;
  /** The outcome if staged policies of Calico were enforced; undefined if it would be the same. */
  readonly staged: StagedVerdict | undefined;
}

export interface StagedVerdict {
  readonly verdict: Verdict;
  /** Staged policies that select the Pod; the first `maxTraced` of them. */
  readonly policies: readonly PolicyRef[];
}
