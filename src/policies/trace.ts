/** Traces the policies and rules that a verdict follows from, clause by clause. */
import { matchRule } from './decide.ts';
import type { ClauseTrace, PolicyRef, PolicyTrace, RuleTrace, Trace, Verdict } from './model.ts';
import type { Selecting } from './policy-set.ts';
import type { Probe } from './probe.ts';
import type { Rule } from './policy.ts';

/** A trace shows so many policies clause by clause: a Namespace may have ten thousand. */
export const maxTraced = 50;

interface Nearest {
  readonly policy: PolicyRef;
  readonly rule: RuleTrace;
  /** The distance from a match; less is nearer. */
  readonly distance: number;
}

/** The traces of the first policies, and the nearest rule of all. */
export function matchRuleTraces(
  selecting: readonly Selecting[],
  probe: Probe,
  verdict: Verdict,
): { traced: PolicyTrace[]; nearest: Trace['nearest'] } {
  const traced: PolicyTrace[] = [];
  const last = lastAsked(selecting, verdict);
  let nearest: Nearest | undefined;
  for (const [asked, { policy, selects }] of selecting.entries()) {
    // Policies that cannot be evaluated have the order -Infinity, and no rules to show.
    const given = policy.order === -Infinity ? [] : (policy.rules[probe.direction] ?? []);
    const isTraced = traced.length < maxTraced;
    const rules = given.flatMap((rule, index) => {
      const path = rule.path ?? `${probe.direction}[${index}]`;
      if (rule.action === 'admit' && asked <= last && nearest?.distance !== 0) {
        const distance = distanceOf(rule, probe);
        if (distance < (nearest?.distance ?? Infinity))
          nearest = { policy: policy.ref, rule: traceRule(rule, path, probe), distance };
      }
      return isTraced ? [traceRule(rule, path, probe)] : [];
    });
    if (isTraced)
      traced.push({
        policy: policy.ref,
        tier: policy.tier,
        selects,
        selector: policy.subject.text(),
        rules,
      });
  }
  return { traced, nearest: nearest && { policy: nearest.policy, rule: nearest.rule } };
}

/** The last policy that was asked: those behind the policy or tier that decides could not have changed the verdict. */
function lastAsked(selecting: readonly Selecting[], { decision, tier }: Verdict): number {
  if (decision !== undefined) return selecting.findIndex(({ policy }) => policy.ref === decision.policy);
  return tier === undefined ? Infinity : selecting.findLastIndex(({ policy }) => policy.tier === tier);
}

function traceRule(rule: Rule, path: string, probe: Probe): RuleTrace {
  const groups = rule.groups.map(({ field, alternatives, single }) =>
    alternatives.map((clause, index): ClauseTrace => {
      const match = clause.matches(probe);
      return {
        path: single === true ? `${path}.${field}` : `${path}.${field}[${index}]`,
        match,
        wants: clause.wants(),
        has: match === false ? clause.has(probe) : match === true ? (clause.note?.(probe) ?? '') : '',
      };
    }),
  );
  return { path, action: rule.action, match: matchRule(rule, probe), groups };
}

/** A rule whose peers match but for the port is nearer than one for other peers: to open a port is the usual change. */
function distanceOf({ groups }: Rule, probe: Probe): number {
  let distance = 0;
  for (const { field, alternatives } of groups) {
    const matches = alternatives.map((clause) => clause.matches(probe));
    if (matches.includes(true)) continue;
    const isPorts = /ports$|protocols?$/i.test(field);
    distance += matches.every((match) => match === false) ? (isPorts ? 3 : 4) : 1;
  }
  return distance;
}
