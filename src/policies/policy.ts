/**
 * The one model into which policies of all APIs are compiled: tiers one after the other, in each policies in order, in each
 * policy rules in order. The first rule that matches decides, or passes to the next tier.
 */
import type { Millis } from '../model/log-line.ts';
import type { Endpoint, LabelSet } from './clauses/labels.ts';
import type { Action, Direction, Match, PolicyRef } from './model.ts';
import type { Probe } from './probe.ts';
import { isCalico } from './tiers.ts';

/** One alternative of a rule: a peer, or a port. */
export interface Clause {
  readonly matches: (probe: Probe) => Match;
  /** Says what it wants: `app=frontend`. */
  readonly wants: () => string;
  /** Says what the other end, or for ports the connection, has or is instead: `has app=worker`. */
  readonly has: (probe: Probe) => string;
  /** A warning about a match, such as that not all network plug-ins see one; '': none. */
  readonly note?: (probe: Probe) => string;
  /** Adds other objects of the cluster that it needs, beside the two ends. */
  readonly requires?: (into: RequirementCollector) => void;
}

/** Makes a clause of functions. Of kinds that a cluster has many of, each is a class, which takes less memory. */
export function clauseOf(wants: string, matches: Clause['matches'], has: Clause['has']): Clause {
  return { matches, wants: () => wants, has };
}

/** Stands for an invalid clause, or one of an unknown kind. */
export function unusable(reason: string): Clause {
  return clauseOf(
    `(${reason})`,
    () => reason,
    () => 'cannot be compared',
  );
}

/** Alternatives of one field of a rule: one of them must match. */
export interface ClauseGroup {
  /** `ports`, `from`, `to`, `source.nets`, … */
  readonly field: string;
  readonly alternatives: readonly Clause[];
  /** The field is no list in the API, so its one alternative has no index. */
  readonly single?: boolean;
}

export interface Rule {
  /** `log` prints a line and goes on with the next rule. */
  readonly action: Action;
  /** All must match. A rule without groups matches every connection. */
  readonly groups: readonly ClauseGroup[];
  /** Its place in the object where that is not `DIRECTION[INDEX]`: `ingressDeny[0]`. */
  readonly path?: string;
}

/** Selects the Pods of a policy. */
export interface Subject {
  /** `endpoint` is the Pod as Calico's selectors see it. */
  readonly selects: (pod: LabelSet, namespace: LabelSet, endpoint: Endpoint) => Match;
  /** `podSelector app=postgres`. */
  readonly text: () => string;
  readonly requires?: (into: RequirementCollector) => void;
}

/** The effect of enforcing a staged policy: `set` adds it, `delete` removes the policy of its name, `nothing` changes nothing. */
export type Staged = 'set' | 'delete' | 'nothing';

export interface Policy {
  readonly ref: PolicyRef;
  /** Name of its tier; Calico's `default` is the tier NetworkPolicy. */
  readonly tier: string;
  /** The lower order is asked first; for equal ones see `isOrderKnown`. */
  readonly order: number;
  readonly subject: Subject;
  /** Undefined: not about this direction. An empty list: no rule matches. */
  readonly rules: Readonly<Record<Direction, readonly Rule[] | undefined>>;
  /** The time of its last write. */
  readonly changed: Millis | undefined;
  /** Never enforced. */
  readonly staged?: Staged;
}

/** Sorts by order, then by name: Calico asks them so (felix/calc/policy_sorter.go), and reports stay the same for other APIs. */
export function byOrder(a: Policy, b: Policy): number {
  if (a.order !== b.order) return a.order - b.order;
  const names = ({ ref }: Policy): string => `${ref.name}/${ref.namespace ?? ''}/${ref.kind}`;
  return names(a) < names(b) ? -1 : 1;
}

/** Whether it is known which of two policies with the same tier and order is asked first. */
export function isOrderKnown(a: Policy, b: Policy, calico: boolean): boolean {
  // The name under which Calico keeps a policy of Kubernetes has changed between its releases.
  return calico && isCalico(a.ref) === isCalico(b.ref) && (isCalico(a.ref) || a.ref.kind === b.ref.kind);
}

/** Other objects that policies need, which are read only if a policy that selects the Pod asks for them. */
export interface Requirements {
  /** Services whose endpoints rules name, each as `NAMESPACE/NAME`. */
  readonly services: readonly string[];
  /** ServiceAccounts of the two Pods whose labels rules or policies select by, each as `NAMESPACE/NAME`. */
  readonly serviceAccounts: readonly string[];
  /** Namespaces whose NetworkSets rules may select; `all` where a selector is not confined to some. */
  readonly networkSets: readonly string[] | 'all';
}

/** Collects what clauses and subjects require. */
export class RequirementCollector {
  readonly #services = new Set<string>();
  readonly #networkSets = new Set<string>();
  #allNetworkSets = false;
  #accountLabels = false;

  service(name: string): void {
    this.#services.add(name);
  }

  accountLabels(): void {
    this.#accountLabels = true;
  }

  /** Undefined: of any Namespace. */
  networkSets(namespaces: readonly string[] | undefined): void {
    if (namespaces === undefined) this.#allNetworkSets = true;
    for (const each of namespaces ?? []) this.#networkSets.add(each);
  }

  /** `accounts`: those of the two Pods. */
  read(accounts: readonly string[]): Requirements {
    return {
      services: [...this.#services].toSorted(),
      serviceAccounts: this.#accountLabels ? [...new Set(accounts)].toSorted() : [],
      networkSets: this.#allNetworkSets ? 'all' : [...this.#networkSets].toSorted(),
    };
  }
}
