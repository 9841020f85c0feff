/** Types of what policies are evaluated against, and of the result: plain data, which can be written as JSON. Undefined means not known. */
import type { Millis } from '../model/log-line.ts';

export type Labels = Readonly<Record<string, string>>;

/** A named port of a container, or of a sidecar (an init container that is restarted always). */
export interface NamedPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels | undefined;
  /** Canonical text (platform/address.ts). */
  readonly addresses: readonly string[];
  readonly node: string | undefined;
  readonly hostNetwork: boolean;
  /** Succeeded or failed: its address may belong to another Pod now. */
  readonly completed: boolean;
  readonly ports: readonly NamedPort[] | undefined;
  /** The name of its ServiceAccount, by which rules of Calico select. */
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
 * One end of a connection. `address` is what the filter saw: after the destination was translated, before the source is. `external`: known
 * to be neither a Pod's nor a Node's; `hostName`: the name that the other end had looked up. `unknown`: nobody knows whose it is.
 */
export type End =
  | { readonly kind: 'pod'; readonly pod: Pod; readonly address: string | undefined }
  | { readonly kind: 'node'; readonly node: Node; readonly address: string | undefined }
  | { readonly kind: 'external'; readonly address: string; readonly hostName?: string | undefined }
  | { readonly kind: 'unknown'; readonly address: string };

/**
 * A connection, from the end that opened it; a packet of the answer belongs to the same connection. If the addresses are of two families,
 * the verdict is unknown.
 */
export interface Flow {
  readonly source: End;
  readonly destination: End;
  /** IANA keyword: TCP, UDP, SCTP, ICMP, ICMPv6, … */
  readonly protocol: string;
  readonly port: number | undefined;
  /** The source used the address of a Service. This matters where a Pod reaches itself. */
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

/** `true`, `false`, or the fact that is missing to know it. What is not known decides nothing that the rest decides. */
export type Match = boolean | string;

export type Reason =
  | 'rule'
  /** Policies isolate the Pod, none of their rules matches, and their tier ends with a denial. */
  | 'isolated'
  | 'not-isolated'
  /** Policies apply, none of their rules matches, and none of them isolates. */
  | 'no-rule'
  /** A Node always reaches its own Pods. */
  | 'own-node'
  | 'itself'
  /** This end is no Pod, or a Pod on the network of its Node: no policy selects it. */
  | 'no-pod'
  | 'unknown';

export interface Decision {
  readonly policy: PolicyRef;
  /** `ingress[0]`. */
  readonly rule: string;
  readonly action: Action;
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
  /** The missing facts, where the outcome is unknown. */
  readonly missing: readonly string[];
}

/** Compares one alternative of a rule with the connection. */
export interface ClauseTrace {
  readonly path: string;
  readonly match: Match;
  /** `podSelector app=frontend`. */
  readonly wants: string;
  /**
   * If it does not match: what the other end, or for ports the connection, has or is instead (`has app=worker`). If it matches: a warning,
   * or nothing.
   */
  readonly has: string;
}

export interface RuleTrace {
  readonly path: string;
  readonly action: Action;
  readonly match: Match;
  /** One alternative of each group must match. */
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
  readonly selecting: number;
  /** The rule that would have admitted and fails at the fewest places; undefined if nothing was denied. */
  readonly nearest: { readonly policy: PolicyRef; readonly rule: RuleTrace } | undefined;
  /** The outcome if staged policies of Calico were enforced; undefined if it would be the same. */
  readonly staged: StagedVerdict | undefined;
}

export interface StagedVerdict {
  readonly verdict: Verdict;
  /** Staged policies that select the Pod; the first `maxTraced` of them. */
  readonly policies: readonly PolicyRef[];
}

/** False where one is false, else the first missing fact, else true. */
export function both(first: Match, second: () => Match): Match {
  if (first === false) return false;
  const other = second();
  if (other === false) return false;
  return first === true ? other : first;
}

/** False where one is false, else the last missing fact, else true. */
export function allOf<T>(items: readonly T[], matches: (item: T) => Match): Match {
  return decidedBy(false, items, matches);
}

/** True where one is true, else the last missing fact, else false. */
export function anyOf<T>(items: readonly T[], matches: (item: T) => Match): Match {
  return decidedBy(true, items, matches);
}

function decidedBy<T>(decides: boolean, items: readonly T[], matches: (item: T) => Match): Match {
  let unknown: string | undefined;
  for (const item of items) {
    const match = matches(item);
    if (match === decides) return decides;
    if (typeof match === 'string') unknown = match;
  }
  return unknown ?? !decides;
}

export function not(match: Match): Match {
  return typeof match === 'string' ? match : !match;
}
