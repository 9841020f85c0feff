/** Policies of all APIs become tiers, policies and rules, in order. The first matching rule decides, or passes to the next tier. */
import type { Millis } from '../../base/model/log-line.ts';
import type { NamedObject } from '../../base/model/readers.ts';
import type { LabelledEndpoint, LabelSet } from './clauses/labels.ts';
import { type Action, type PolicyDirection, type MatchResult, type PolicyRef, isCalico, Unknown } from './model.ts';
import type { Probe } from './probe.ts';
import type { ClauseWords } from './words.ts';

/** One alternative in a rule, such as a peer or a port. */
export interface Clause {
  readonly matches: (probe: Probe) => MatchResult;
  /** Describes the condition: `app=frontend`. */
  readonly wants: () => string;
  /** Describes the property of the other end (for a port: of the connection) that does not match: `has app=worker`. */
  readonly has: (probe: Probe) => string;
  /** The same in the words of an Event. `is` shows no other objects than `has`. */
  readonly words?: (probe: Probe) => ClauseWords | undefined;
  /** Returns the objects whose labels or names `has` shows; by default none. */
  readonly about?: (probe: Probe) => readonly NamedObject[];
  /** Returns a warning about a match, for example that some network plug-ins do not match; empty without a warning. */
  readonly note?: (probe: Probe) => string;
  /** Adds the objects that the clause needs besides the two ends. */
  readonly requires?: (into: Needs) => void;
  /** The alternatives of the clause, if they are packed into one, because there are thousands. */
  readonly packed?: ClauseList;
}

/** Alternatives of one field that follow each other. Each is made when it is shown. */
export interface ClauseList {
  readonly count: number;
  readonly at: (index: number) => Clause;
}

/** Classes take less memory, so the clauses that a cluster has many of are classes instead. */
export function clauseOf(wants: string, matches: Clause['matches'], has: Clause['has']): Clause {
  return { matches, wants: () => wants, has };
}

export function unusable(reason: string): Clause {
  return clauseOf(
    `(${reason})`,
    () => new Unknown(reason),
    () => 'cannot be compared',
  );
}

/** The alternatives of one field of a rule. At least one of them must match. */
export interface ClauseGroup {
  /** `ports`, `from`, `to`, `source.nets`, … */
  readonly field: string;
  readonly alternatives: readonly Clause[];
  /** The field is not a list in the API, so its only alternative has no index. */
  readonly single?: boolean;
}

/** Returns each alternative, and its place in the list of the API object. */
export function* alternativesOf({ alternatives }: Pick<ClauseGroup, 'alternatives'>): Generator<Clause> {
  for (const clause of alternatives) {
    const { packed } = clause;
    if (packed === undefined) yield clause;
    else for (let index = 0; index < packed.count; index++) yield packed.at(index);
  }
}

export interface Rule {
  readonly action: Action;
  /** All groups must match. A rule without groups matches every connection. */
  readonly groups: readonly ClauseGroup[];
  /** The rule's place in the object, if that is not `DIRECTION[INDEX]`: `ingressDeny[0]`. */
  readonly path?: string;
}

export function rulePath({ path }: Rule, direction: PolicyDirection, index: number): string {
  return path ?? `${direction}[${index}]`;
}

export interface Subject {
  /** `endpoint` is the Pod as Calico's selectors see it. */
  readonly selects: (pod: LabelSet, namespace: LabelSet, endpoint: LabelledEndpoint) => MatchResult;
  readonly text: () => string;
  readonly requires?: (into: Needs) => void;
}

/** What a staged policy, never enforced, would do: `set` adds it or replaces the policy with its name, `delete` removes that one. */
export type StagedEffect = 'set' | 'delete' | 'nothing';

export interface Policy {
  readonly ref: PolicyRef;
  readonly tier: string;
  /** The lower order is evaluated first. For equal orders see `isOrderKnown`. */
  readonly order: number;
  readonly subject: Subject;
  /** The list is undefined if the policy does not apply to the direction, and empty if no rule ever matches. */
  readonly rules: Readonly<Record<PolicyDirection, readonly Rule[] | undefined>>;
  readonly changed: Millis | undefined;
  readonly staged?: StagedEffect;
}

export interface PolicySelection {
  readonly policy: Policy;
  readonly selects: true | Unknown;
}

/** Sorts by order and then by name, as Calico does (felix/calc/policy_sorter.go). Other APIs do not order equal policies. */
export function byOrder(a: Policy, b: Policy): number {
  if (a.order !== b.order) return a.order - b.order;
  const names = ({ ref }: Policy): string => `${ref.name}/${ref.namespace ?? ''}/${ref.kind}`;
  return names(a) < names(b) ? -1 : 1;
}

/** `a` and `b` have the same tier and order. */
export function isOrderKnown(a: Policy, b: Policy, calico: boolean): boolean {
  // Calico's internal name for a policy of Kubernetes differs between its releases.
  return calico && isCalico(a.ref) === isCalico(b.ref) && (isCalico(a.ref) || a.ref.kind === b.ref.kind);
}

/** Other objects that policies need. They are read only if a policy that selects the Pod asks for them. */
export interface Requirements {
  /** Services whose endpoints rules name, each as `NAMESPACE/NAME`. */
  readonly services: readonly string[];
  /** ServiceAccounts of the two Pods, if rules or policies select by their labels; each as `NAMESPACE/NAME`. */
  readonly serviceAccounts: readonly string[];
  /** Namespaces whose NetworkSets rules may select; `all` if a selector is not confined to some Namespaces. */
  readonly networkSets: readonly string[] | 'all';
}

/** No Namespace has this name. */
export const anyNamespace = '*';

export interface Needs {
  readonly services: Set<string>;
  readonly networkSets: Set<string>;
  accountLabels: boolean;
}

export function newNeeds(): Needs {
  return { services: new Set<string>(), networkSets: new Set<string>(), accountLabels: false };
}
