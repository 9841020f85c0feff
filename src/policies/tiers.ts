/**
 * The one model into which policies of all APIs are compiled: tiers one after the other, in each policies in order, in each
 * policy rules in order. The first rule that matches decides, or passes to the next tier.
 */
import type { Millis } from '../model/log-line.ts';
import type { Clause } from './clauses/clause.ts';
import type { Action, Direction, Match, PolicyRef } from './model.ts';
import type { LabelSet } from './probe.ts';

/** Alternatives of one field of a rule: one of them must match. */
export interface ClauseGroup {
  /** `ports`, `from`, `to`, … */
  readonly field: string;
  readonly alternatives: readonly Clause[];
}

export interface Rule {
  readonly action: Action;
  /** All must match; none: every connection does. */
  readonly groups: readonly ClauseGroup[];
}

/** Which Pods a policy is about. */
export interface Subject {
  readonly selects: (pod: LabelSet, namespace: LabelSet) => Match;
  /** `podSelector app=postgres`. */
  readonly text: () => string;
}

export interface Policy {
  readonly ref: PolicyRef;
  readonly tier: TierName;
  /** Lower first. Those of one tier that are equal are asked in no order: where they disagree, the verdict is unknown. */
  readonly order: number;
  readonly subject: Subject;
  /** Undefined: not about this direction. An empty list: no rule matches. */
  readonly rules: Readonly<Record<Direction, readonly Rule[] | undefined>>;
  /** When it was last written. */
  readonly changed: Millis | undefined;
}

export type TierName = 'Admin' | 'NetworkPolicy' | 'Baseline';

export interface Tier {
  readonly name: TierName;
  /** What becomes of a connection that no rule matches, where at least one policy selects the Pod in this direction. */
  readonly end: 'deny' | 'next';
  /** What a Pod sends to itself by way of a Service is admitted where a policy selects it. */
  readonly admitsItself: boolean;
}

/** In the order in which they are asked. After the last one, all is admitted. */
export const tiers: readonly Tier[] = [
  { name: 'Admin', end: 'next', admitsItself: false },
  { name: 'NetworkPolicy', end: 'deny', admitsItself: true },
  { name: 'Baseline', end: 'next', admitsItself: false },
];

/** By name, so that the same policies are reported in the same order. */
export function byOrder(a: Policy, b: Policy): number {
  const names = ({ ref }: Policy): string => `${ref.namespace ?? ''}/${ref.name}/${ref.kind}`;
  return a.order - b.order || (names(a) < names(b) ? -1 : 1);
}
