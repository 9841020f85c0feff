/** Traces the policies that select a Pod: which clauses match, and the rule that is nearest to a match. */
import type { NamedObject } from '../../base/model/readers.ts';
import {
  anyOf,
  type ClauseTrace,
  type ConnectionVerdict,
  type NearestRule,
  type PolicyRef,
  type PolicyTrace,
  type RuleTrace,
  type Trace,
} from './model.ts';
import {
  alternativesOf,
  type Clause,
  type ClauseGroup,
  type ClauseList,
  rulePath,
  type PolicySelection,
  type Rule,
} from './policy.ts';
import { matchRule } from './decide.ts';
import type { Probe } from './probe.ts';

/** Limits the policies in one trace, and the text of each, because a Namespace may have ten thousand. */
export const maxTraced = 50;

export function matchRuleTraces(
  selecting: readonly PolicySelection[],
  probe: Probe,
  verdict: ConnectionVerdict,
): { traced: PolicyTrace[]; nearest: Trace['nearest'] } {
  const traced: PolicyTrace[] = [];
  const last = lastAsked(selecting, verdict);
  let nearest: { policy: PolicyRef; place: { rule: Rule; index: number } } | undefined;
  let least = Infinity;
  for (const [asked, { policy, selects }] of selecting.entries()) {
    // The order -Infinity marks policies that cannot be evaluated, so they have no rules to show.
    const given = policy.order === -Infinity ? [] : (policy.rules[probe.direction] ?? []);
    // A policy that may not select the Pod, whose labels are unknown, is not named as the nearest.
    const isDecision = (rule: Rule, index: number): boolean =>
      policy.ref === verdict.decision?.policy && rulePath(rule, probe.direction, index) === verdict.decision.rule;
    for (const [index, rule] of asked <= last && selects === true ? given.entries() : []) {
      if (least === 0 || isDecision(rule, index)) break;
      const distance = rule.action === 'admit' ? distanceOf(rule, probe, least) : Infinity;
      if (distance >= least) continue;
      least = distance;
      nearest = { policy: policy.ref, place: { rule, index } };
    }
    if (traced.length < maxTraced) traced.push(tracePolicy({ policy, selects }, given, probe));
  }
  if (nearest === undefined) return { traced, nearest };
  const { rule, index } = nearest.place;
  return { traced, nearest: { policy: nearest.policy, rule: traceNearest(rule, index, probe) } };
}

/** The texts are made when they are read, because few are, and a policy may have tens of thousands of clauses. */
function tracePolicy({ policy, selects }: PolicySelection, given: readonly Rule[], probe: Probe): PolicyTrace {
  const rules = memoized(() =>
    given.map((rule, index) => traceRule(rule, rulePath(rule, probe.direction, index), probe)),
  );
  const selector = memoized(() => policy.subject.text());
  return {
    policy: policy.ref,
    tier: policy.tier,
    selects,
    ruleCount: given.length,
    get selector() {
      return selector();
    },
    get rules() {
      return rules();
    },
  };
}

function memoized<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Policies after this index could not have changed the verdict, so they were not evaluated. */
function lastAsked(selecting: readonly PolicySelection[], { decision, tier }: ConnectionVerdict): number {
  if (decision !== undefined) return selecting.findIndex(({ policy }) => policy.ref === decision.policy);
  return tier === undefined ? Infinity : selecting.findLastIndex(({ policy }) => policy.tier === tier);
}

function traceRule(rule: Rule, path: string, probe: Probe): RuleTrace {
  const groups = memoized(() =>
    rule.groups.map((group) =>
      alternativesOf(group)
        .map((clause, index) => traceClause(clause, clausePath(path, group, index), probe))
        .toArray(),
    ),
  );
  return {
    path,
    action: rule.action,
    get match() {
      return matchRule(rule, probe);
    },
    get groups() {
      return groups();
    },
  };
}

function traceNearest(rule: Rule, index: number, probe: Probe): NearestRule {
  const path = rulePath(rule, probe.direction, index);
  const groups = rule.groups.map((group) => {
    let [count, matching] = [0, undefined as { clause: Clause; place: number } | undefined];
    for (const clause of group.alternatives) {
      if (matching === undefined && clause.matches(probe) === true) matching = { clause, place: count };
      count += clause.packed?.count ?? 1;
    }
    const { clause, place } = matching ?? { clause: group.alternatives[0] as Clause, place: 0 };
    const { packed } = clause;
    const isOne = packed === undefined || matching === undefined;
    const first = packed === undefined ? clause : packed.at(0);
    const shown = isOne ? { clause: first, place } : firstIn(packed, place, probe);
    return { count, clause: traceClause(shown.clause, clausePath(path, group, shown.place), probe) };
  });
  return { path, groups };
}

/** Returns the first packed alternative that matches or, if none does, the first one. `place`: its place in the field. */
function firstIn({ count, at }: ClauseList, place: number, probe: Probe): { clause: Clause; place: number } {
  for (let index = 0; index < count; index++) {
    const clause = at(index);
    if (clause.matches(probe) === true) return { clause, place: place + index };
  }
  return { clause: at(0), place };
}

function clausePath(path: string, { field, single }: ClauseGroup, index: number): string {
  return single === true ? `${path}.${field}` : `${path}.${field}[${index}]`;
}

function traceClause(clause: Clause, path: string, probe: Probe): ClauseTrace {
  const match = clause.matches(probe);
  const has = match === false ? clause.has(probe) : match === true ? (clause.note?.(probe) ?? '') : '';
  const about = (): readonly NamedObject[] => (match === false ? (clause.about?.(probe) ?? []) : []);
  return { path, match, wants: clause.wants(), has, about, inWords: () => clause.words?.(probe) };
}

/** Returns how far a rule is from matching, or any number from `least` on: 1 for each unknown field, 4 for each failing one, 3 for ports, which are opened most often. */
function distanceOf({ groups }: Rule, probe: Probe, least: number): number {
  let distance = 0;
  for (const { field, alternatives } of groups) {
    const match = anyOf(alternatives, (clause) => clause.matches(probe));
    if (match === true) continue;
    distance += match === false ? (/ports$|protocols?$/i.test(field) ? 3 : 4) : 1;
    if (distance >= least) return distance;
  }
  return distance;
}
