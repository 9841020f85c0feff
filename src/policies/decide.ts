/** The verdict of one direction: which of the outcomes are possible, and which facts would say more. */
import { nameOf } from './api/read.ts';
import type { Rule } from './policy.ts';
import { isCalico, networkPolicyTier, type Tier } from './tiers.ts';
import type { Action, Decision, Match } from './model.ts';
import type { Selecting, TierPolicies } from './policy-set.ts';
import type { Probe } from './probe.ts';
import { both } from './match.ts';

export interface Outcome {
  /** The possible outcomes of the connection; both: it is unknown. */
  admits: boolean;
  denies: boolean;
  /** Rule that decides for certain. */
  decision: Decision | undefined;
  /** The tier whose policies isolate the Pod for certain, where none admits. */
  isolatedBy: string | undefined;
  /** Whether any policy is about this direction. */
  applies: boolean;
  missing: Set<string>;
}

/** The possible outcomes of one policy, one tier, or all of them. `none`: no decision. */
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
  for (const { selects } of selecting) if (selects !== true) outcome.missing.add(selects);
  if (probe.itself && admitsItself(tier, selecting)) return { ...all, admit: true, none: !sure };
  for (const equal of policies) {
    const group = decideEqual(equal, probe, outcome);
    all.admit ||= group.admit;
    all.deny ||= group.deny;
    all.pass ||= group.pass;
    if (!group.none) return all;
  }
  if (tier.end === 'next') return { ...all, none: true };
  outcome.isolatedBy = sure && !all.admit && !all.pass ? tier.name : undefined;
  return { ...all, deny: true, none: !sure };
}

/** Packets of a Pod to itself by way of a Service are admitted if a NetworkPolicy of Kubernetes selects it. */
function admitsItself({ name }: Tier, selecting: readonly Selecting[]): boolean {
  return name === networkPolicyTier && selecting.every(({ policy }) => !isCalico(policy.ref));
}

/** Policies of one order: the one that decides is any of them. */
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
      if (match !== true) {
        outcome.missing.add(match);
        continue;
      }
      possible.none = false;
      if (rule.action !== 'pass') {
        const { ref, changed } = policy;
        outcome.decision ??= {
          policy: ref,
          rule: rule.path ?? `${probe.direction}[${index}]`,
          action: rule.action,
          changed,
        };
      }
      break;
    }
    if (possible.admit || possible.deny || possible.pass) deciding.push(nameOf(policy.ref));
    all.admit ||= possible.admit;
    all.deny ||= possible.deny;
    all.pass ||= possible.pass;
    all.none &&= possible.none;
    // The first policy that admits decides if all of them only admit.
    if (!possible.none && policies.every((each) => onlyAdmits(each, probe))) break;
  }
  if (Number(all.admit) + Number(all.deny) + Number(all.pass) > 1 && deciding.length > 1)
    outcome.missing.add(`which goes first: ${deciding.slice(0, 3).join(', ')} have the same priority`);
  return all;
}

function onlyAdmits({ policy }: Selecting, { direction }: Probe): boolean {
  return policy.rules[direction]?.every(({ action }) => action === 'admit') ?? true;
}

/** All groups must match, and of each group one alternative. Loops: each packet's Event asks all rules of all policies. */
export function matchRule({ groups }: Rule, probe: Probe): Match {
  let unknown: string | undefined;
  for (const { alternatives } of groups) {
    let found: Match = false;
    for (const clause of alternatives) {
      const match = clause.matches(probe);
      if (match === false) continue;
      found = match;
      if (match === true) break;
    }
    if (found === false) return false;
    if (found !== true) unknown = found;
  }
  return unknown ?? true;
}
