/**
 * The one model into which policies of all APIs are compiled: tiers one after the other, in each policies in order, in each
 * policy rules in order. The first rule that matches decides, or passes to the next tier.
 */
import type { Millis } from '../model/log-line.ts';
import type { Clause } from './clauses/clause.ts';
import type { Endpoint, LabelSet } from './clauses/labels.ts';
import type { Action, Direction, Match, PolicyRef } from './model.ts';
import type { RequirementCollector } from './requirements.ts';
import { isCalico } from './tiers.ts';

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
  /** All must match; none: every connection does. */
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
