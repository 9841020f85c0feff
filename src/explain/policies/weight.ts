/** Estimates the memory of compiled policies. A test compares it with the measured heap (test/explain/policies/weight.test.ts). */
import { at, type Json } from '../../base/platform/json.ts';
import { type Bytes, weightOf, weightOfText } from '../../base/platform/weight.ts';
import type { Policy } from './policy.ts';

const weights = {
  policy: 900,
  rule: 180,
  group: 100,
  clause: 330,
  /** A text in a list, such as a network or a value. */
  listed: 200,
  /** A key of an object with many keys, which are labels. */
  key: 120,
  /** A character of a long text, which may be a selector: `a=='b'||` becomes an object with two texts. */
  selector: 16,
  /** The same for the limit of a policy, so that a selector that takes longer than 10 ms to read is not read. */
  largestSelector: 64,
  /** The memory of a rule without an action, which becomes three rules with unknown matches. */
  anyRule: 2400,
  /** The memory of an element of a list. */
  anyClause: 1050,
} as const;

/** Names and values of labels are not longer. */
const longestName = 63;

const manyKeys = 8;

export function weightOfPolicy(object: Json, compiled: readonly Policy[]): Bytes {
  let sum = weightOfSource(object).kept;
  for (const { rules } of compiled) {
    sum += weights.policy;
    for (const each of [...(rules.ingress ?? []), ...(rules.egress ?? [])]) {
      sum += weights.rule;
      for (const { alternatives } of each.groups) sum += weights.group + weights.clause * alternatives.length;
    }
  }
  return sum;
}

/** The largest memory of a compiled policy. */
export function largestWeightOf(object: Json): Bytes {
  return weightOfSource(object).largest;
}

/** For objects that are kept nearly unchanged, such as network sets. */
export function weightOfSpec(object: Json): Bytes {
  return weightOfSource(object).kept;
}

function weightOfSource(object: Json): { kept: Bytes; largest: Bytes } {
  const left: Json[] = [at(object, 'spec'), at(object, 'specs')];
  let kept: Bytes = weightOf(at(object, 'metadata', 'name'));
  let largest: Bytes = weights.policy;
  const { selector, largestSelector } = weights;
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') {
      kept += weightOfText(value);
      if (value.length <= longestName) continue;
      kept += selector * value.length;
      largest += (largestSelector - selector) * value.length;
    } else if (Array.isArray(value)) {
      kept += 48;
      largest += weights.anyClause * value.length;
      for (const each of value) {
        kept += typeof each === 'string' ? weights.listed : 8;
        left.push(each);
      }
    } else if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value as Record<string, Json>);
      kept += 56 + entries.length * (entries.length > manyKeys ? weights.key : 8);
      for (const [key, each] of entries) {
        if (Array.isArray(each) && key.includes('gress')) largest += weights.anyRule * each.length;
        left.push(each);
      }
    }
  }
  return { kept, largest: largest + kept };
}
