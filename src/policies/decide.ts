/** Decides the verdict of one direction: which outcomes are possible, and which missing facts would narrow them down. */
import { nameOf } from './api/read.ts';
import { pathOf, type Rule, type Selecting } from './policy.ts';
import {
  type Action,
  both,
  type ClauseTrace,
  type Decision,
  isCalico,
  type Match,
  networkPolicyTier,
  type PolicyTrace,
  type RuleTrace,
  type Tier,
  type Trace,
  Unknown,
  type Verdict,
} from './model.ts';
import type { TierPolicies } from './policy-set.ts';
import type { Probe } from './probe.ts';

export interface Outcome {
  /** If `admits` and `denies` are both true, the verdict is unknown. */
  admits: boolean;
  denies: boolean;
  decision: Decision | undefined;
  /** The tier that denies because none of its rules matches, if that is certain. */
  isolatedBy: string | undefined;
  applies: boolean;
  missing: Set<string>;
}

/** `none`: no rule decides. */
type Possible = Record<Exclude<Action, 'log'> | 'none', boolean>;

export function decide(tierPolicies: readonly TierPolicies[], probe: Probe): Outcome {
  const outcome: Outcome = {
    admits: false,
    denies: false,
    decision: undefined,
    isolatedBy: undefined,
    applies: tierPolicies.length > 0,
    missing: new Set(),
  };
  for (const { tier, policies } of tierPolicies) {
    const possible = decideTier(tier, policies, probe, outcome);
    outcome.admits ||= possible.admit;
    outcome.denies ||= possible.deny;
    if (!possible.pass && !possible.none) return outcome;
  }
  outcome.admits = true;
  return outcome;
}

function decideTier(tier: Tier, policies: readonly (readonly Selecting[])[], probe: Probe, outcome: Outcome): Possible {
  const all: Possible = { admit: false, deny: false, pass: false, none: false };
  const selecting = policies.flat();
  const sure = selecting.some(({ selects }) => selects === true);
  for (const { selects } of selecting) if (selects !== true) outcome.missing.add(selects.missing);
  if (probe.itself && admitsItself(tier, selecting)) return { ...all, admit: true, none: !sure };
  for (const equal of policies) {
    const group = decideEqual(equal, probe, outcome);
    addPossible(all, group);
    if (!group.none) return all;
  }
  if (tier.end === 'next') return { ...all, none: true };
  outcome.isolatedBy = sure && !all.admit && !all.pass ? tier.name : undefined;
  return { ...all, deny: true, none: !sure };
}

/** Returns whether the tier admits a Pod to itself through a Service: that of NetworkPolicies does, unless a Calico policy selects the Pod. */
function admitsItself({ name }: Tier, selecting: readonly Selecting[]): boolean {
  return name === networkPolicyTier && selecting.every(({ policy }) => !isCalico(policy.ref));
}

/** Decides among policies of equal order, any of which may be evaluated first. */
function decideEqual(policies: readonly Selecting[], probe: Probe, outcome: Outcome): Possible {
  const all: Possible = { admit: false, deny: false, pass: false, none: true };
  const deciding: string[] = [];
  for (const { policy, selects } of policies) {
    const rules = policy.rules[probe.direction] ?? [];
    const possible: Possible = { admit: false, deny: false, pass: false, none: true };
    for (const [index, rule] of rules.entries()) {
      if (rule.action === 'log') continue;
      const match = both(matchRule(rule, probe), () => selects);
      if (match === false) continue;
      possible[rule.action] = true;
      if (match instanceof Unknown) {
        outcome.missing.add(match.missing);
        continue;
      }
      possible.none = false;
      if (rule.action !== 'pass') {
        const { ref, changed } = policy;
        const path = pathOf(rule, probe.direction, index);
        outcome.decision ??= { policy: ref, rule: path, action: rule.action, changed };
      }
      break;
    }
    if (possible.admit || possible.deny || possible.pass) deciding.push(nameOf(policy.ref));
    addPossible(all, possible);
    all.none &&= possible.none;
    // If all policies only admit, the first one that admits decides.
    if (!possible.none && policies.every((each) => onlyAdmits(each, probe))) break;
  }
  if (Number(all.admit) + Number(all.deny) + Number(all.pass) > 1 && deciding.length > 1)
    outcome.missing.add(`which goes first: ${deciding.slice(0, 3).join(', ')} have the same priority`);
  return all;
}

function addPossible(all: Possible, { admit, deny, pass }: Possible): void {
  all.admit ||= admit;
  all.deny ||= deny;
  all.pass ||= pass;
}

function onlyAdmits({ policy }: Selecting, { direction }: Probe): boolean {
  return policy.rules[direction]?.every(({ action }) => action === 'admit') ?? true;
}

/** Uses loops for speed, because every Event evaluates all rules of all policies that select the Pod. */
function matchRule({ groups }: Rule, probe: Probe): Match {
  let result: Match = true;
  for (const { alternatives } of groups) {
    let found: Match = false;
    for (const clause of alternatives) {
      const match = clause.matches(probe);
      if (match === false) continue;
      found = match;
      if (match === true) break;
    }
    if (found === false) return false;
    if (found !== true) result = found;
  }
  return result;
}

/** Limits the policies in one trace, because a Namespace may have ten thousand. */
export const maxTraced = 50;

export function matchRuleTraces(
  selecting: readonly Selecting[],
  probe: Probe,
  verdict: Verdict,
): { traced: PolicyTrace[]; nearest: Trace['nearest'] } {
  const traced: PolicyTrace[] = [];
  const last = lastAsked(selecting, verdict);
  let nearest: Trace['nearest'];
  let least = Infinity;
  for (const [asked, { policy, selects }] of selecting.entries()) {
    // The order -Infinity marks policies that cannot be evaluated, so they have no rules to show.
    const given = policy.order === -Infinity ? [] : (policy.rules[probe.direction] ?? []);
    const isTraced = traced.length < maxTraced;
    const rules = given.flatMap((rule, index) => {
      const path = pathOf(rule, probe.direction, index);
      const distance = rule.action === 'admit' && asked <= last && least > 0 ? distanceOf(rule, probe) : Infinity;
      if (distance < least) {
        least = distance;
        nearest = { policy: policy.ref, rule: traceRule(rule, path, probe) };
      }
      return isTraced ? [traceRule(rule, path, probe)] : [];
    });
    if (!isTraced) continue;
    const selector = policy.subject.text();
    traced.push({ policy: policy.ref, tier: policy.tier, selects, selector, rules });
  }
  return { traced, nearest };
}

/** Policies after this index could not have changed the verdict, so they were not evaluated. */
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

/** Returns how far a rule is from matching: 1 for each unknown field, 4 for each failing one, 3 for ports, which are opened most often. */
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
