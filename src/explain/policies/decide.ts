/** Decides the verdict of one direction: which outcomes are possible, and which missing facts would narrow them down. */
import { policyRefName } from './api/read.ts';
import { rulePath, type PolicySelection, type Rule } from './policy.ts';
import {
  type Action,
  both,
  isCalico,
  type MatchResult,
  networkPolicyTier,
  type RuleDecision,
  type Tier,
  Unknown,
} from './model.ts';
import type { TierPolicies } from './selection-cache.ts';
import type { Probe } from './probe.ts';

export interface PolicyOutcome {
  /** If `admits` and `denies` are both true, the verdict is unknown. */
  admits: boolean;
  denies: boolean;
  decision: RuleDecision | undefined;
  /** The tier that denies because none of its rules matches, if that is certain. */
  isolatedBy: string | undefined;
  applies: boolean;
  missing: Set<string>;
}

/** `none`: no rule decides. */
type Possible = Record<Exclude<Action, 'log'> | 'none', boolean>;

export function decide(tierPolicies: readonly TierPolicies[], probe: Probe): PolicyOutcome {
  const outcome: PolicyOutcome = {
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

function decideTier(
  tier: Tier,
  policies: readonly (readonly PolicySelection[])[],
  probe: Probe,
  outcome: PolicyOutcome,
): Possible {
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
function admitsItself({ name }: Tier, selecting: readonly PolicySelection[]): boolean {
  return name === networkPolicyTier && selecting.every(({ policy }) => !isCalico(policy.ref));
}

/** Decides among policies of equal order, any of which may be evaluated first. */
function decideEqual(policies: readonly PolicySelection[], probe: Probe, outcome: PolicyOutcome): Possible {
  const all: Possible = { admit: false, deny: false, pass: false, none: true };
  const deciding: string[] = [];
  let allOnlyAdmit: boolean | undefined;
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
        const path = rulePath(rule, probe.direction, index);
        outcome.decision ??= { policy: ref, rule: path, action: rule.action, changed };
      }
      break;
    }
    if (possible.admit || possible.deny || possible.pass) deciding.push(policyRefName(policy.ref));
    addPossible(all, possible);
    all.none &&= possible.none;
    // If all policies only admit, the first one that admits decides.
    if (!possible.none && (allOnlyAdmit ??= policies.every((each) => onlyAdmits(each, probe)))) break;
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

function onlyAdmits({ policy }: PolicySelection, { direction }: Probe): boolean {
  return policy.rules[direction]?.every(({ action }) => action === 'admit') ?? true;
}

/** Uses loops for speed, because every Event evaluates all rules of all policies that select the Pod. */
export function matchRule({ groups }: Rule, probe: Probe): MatchResult {
  let result: MatchResult = true;
  for (const { alternatives } of groups) {
    let found: MatchResult = false;
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
