/** Prints why policies admit or deny a connection in one direction. */
import { alignColumns } from '../describe.ts';
import { printable } from '../../base/platform/printable.ts';
import {
  anyTier,
  type ClauseTrace,
  isCalico,
  maxTraced,
  type PolicyTrace,
  policyRefText,
  type RuleTrace,
  tierText,
  type Trace,
} from '../../explain/policies/policies.ts';
import { cell, paintTerminal } from '../terminal.ts';

const maxMissing = 5;
const longestCell = 160;

const colours = { admits: 'green', denies: 'red', unknown: 'yellow' } as const;

/** Returns the verdict in one direction, and a row for each clause that was asked. */
export function directionLines(title: string, trace: Trace): string[] {
  const { verdict, policies, selectingCount } = trace;
  const rows = policies.flatMap((policy) => policyRows(policy, shownRules(policy, trace)));
  const table = alignColumns(rows.map((row) => row.map((text) => cell(text, longestCell))));
  const more = selectingCount - new Set(policies.map(({ policy }) => policy)).size;
  return [
    `${title}: ${paintTerminal(colours[verdict.outcome], words[verdict.outcome])}: ${printable(reasonText(trace))}`,
    ...table.map((line) => `  ${line}`.trimEnd()),
    ...(more > 0 ? [`  and ${more} more policies that select the Pod`] : []),
    ...stagedLines(trace),
  ];
}

function stagedLines({ staged, selectingCount }: Trace): string[] {
  if (staged === undefined) return [];
  const { verdict, policies } = staged;
  const names = policies.slice(0, 3).map(policyRefText);
  const more = policies.length - names.length;
  const who = names.length === 0 ? 'staged policies' : `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  const reason = reasonText({ verdict, selectingCount: selectingCount + policies.length });
  return [`  staged, not enforced: with ${printable(who)} it would be ${words[verdict.outcome]}: ${printable(reason)}`];
}

const words = { admits: 'ADMITTED', denies: 'DENIED', unknown: 'UNKNOWN' } as const;

function reasonText({ verdict, selectingCount }: Pick<Trace, 'verdict' | 'selectingCount'>): string {
  const { reason, decision, missing, tier } = verdict;
  switch (reason) {
    case 'rule':
      return decision === undefined ? '' : `${policyRefText(decision.policy)} ${decision.rule}`;
    case 'isolated':
      if (tier !== undefined && tier !== 'NetworkPolicy') return `no rule of the tier ${tier} admits or passes it`;
      return `no rule of the ${selectingCount === 1 ? 'policy that isolates' : `${selectingCount} policies that select`} it admits this`;
    case 'not-isolated':
      return 'no policy selects it';
    case 'no-rule':
      return 'no rule matches, and no policy isolates it';
    case 'own-node':
      return 'a Node reaches its own Pods';
    case 'itself':
      return 'a Pod reaches itself';
    case 'no-pod':
      return 'policies select Pods only, and none with hostNetwork';
    case 'unknown':
      return `without ${missing.slice(0, maxMissing).join('; ')}${missing.length > maxMissing ? `; and ${missing.length - maxMissing} more` : ''}`;
    default:
      return reason satisfies never;
  }
}

function policyRows(
  { policy, selects, selector, tier, ruleCount }: PolicyTrace,
  rules: readonly RuleTrace[],
): string[][] {
  // An empty list of rules may also mean that the policy was not evaluated.
  const isEmpty = rules.length === 0 && selects === true && tier !== anyTier;
  const clause = isEmpty ? `${selector}, no rules` : selector;
  // Leave the reason out if the selector already says it, as for a policy that was not evaluated.
  const more =
    selects === true || selects.missing.endsWith(selector.slice(1, -1)) ? '' : `may select it: ${selects.missing}`;
  const isPlain = tier === anyTier || (tier === 'NetworkPolicy' && !isCalico(policy));
  return [
    [policyRefText(policy), isPlain ? clause : `${tierText({ policy, tier })} tier, ${clause}`, more],
    ...rules.flatMap(({ path, action, groups }) => {
      const shown = action === 'admit' ? path : `${path} (${action})`;
      if (groups.length === 0) return [[`  ${shown}`, 'every connection', 'match']];
      return groups.flatMap((group) => clauseRows(group, action === 'admit' ? '' : ` (${action})`));
    }),
    ...(rules.length < ruleCount ? [[`  and ${ruleCount - rules.length} more rules`]] : []),
  ];
}

function clauseRows(group: readonly ClauseTrace[], action: string): string[][] {
  const shown = shownClauses(group);
  const more = group.length - shown.length;
  return [...shown.map((each) => clauseRow(each, action)), ...(more > 0 ? [[`  and ${more} more of this field`]] : [])];
}

/** The first rules of a policy, which may have ten thousand, and of the others the deciding and the nearest one. */
export function shownRules(
  { policy, rules }: PolicyTrace,
  { verdict: { decision }, nearest }: Pick<Trace, 'verdict' | 'nearest'>,
): readonly RuleTrace[] {
  const named = new Set([
    decision?.policy === policy ? decision.rule : undefined,
    nearest?.policy === policy ? nearest.rule.path : undefined,
  ]);
  return rules.filter(({ path }, index) => index < maxTraced || named.has(path));
}

/** The first clauses of a field, and the first one that matches or may match. */
export function shownClauses(group: readonly ClauseTrace[]): readonly ClauseTrace[] {
  const first = group.slice(0, maxTraced);
  const found = first.some(({ match }) => match !== false) ? undefined : group.find(({ match }) => match !== false);
  return found === undefined ? first : [...first, found];
}

function clauseRow({ path, wants, match, has }: ClauseTrace, action: string): string[] {
  if (match === true) return [`  ${path}${action}`, wants, has === '' ? 'match' : `match: ${has}`];
  return [`  ${path}${action}`, wants, match === false ? `FAILS: ${has}` : `unknown: ${match.missing}`];
}
