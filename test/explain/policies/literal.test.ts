import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PolicyDirection } from '../../../src/explain/policies/policies.ts';
import { clusterPolicies, flows, namespaceLists, networkPolicies } from './arbitraries.ts';
import { hiddenFacts, hideFrom } from './hiding.ts';
import { literalVerdict } from './literal.ts';
import { evaluator } from './objects.ts';
import { runs } from '../../runs.ts';
import { forAll } from '../../for-all.ts';

const directions = ['ingress', 'egress'] as const satisfies PolicyDirection[];
const onlyNetworkPolicies = fc.array(networkPolicies, { maxLength: 4 });
const allKinds = fc.array(fc.oneof(networkPolicies, clusterPolicies), { maxLength: 5 });

test.each([
  ['NetworkPolicies', onlyNetworkPolicies],
  ['policies of all kinds', allKinds],
])('%s have the meaning of a literal reading of the API', (_title, policies) => {
  const seen = new Set<string>();
  forAll([policies, namespaceLists, flows], { numRuns: runs(15_000) }, (given, namespaces, flow) => {
    const { verdict } = evaluator(given, namespaces);
    for (const direction of directions) {
      const literal = literalVerdict({ policies: given, namespaces }, flow, direction);
      seen.add(literal);
      expect(verdict(flow, direction).outcome).toBe(literal === 'any' ? 'unknown' : literal);
    }
  });
  expect([...seen]).toEqual(expect.arrayContaining(['admits', 'denies']));
});

test('a missing fact only ever turns a verdict into unknown', () => {
  const outcomes = { known: 0, unknown: 0 };
  forAll([allKinds, namespaceLists, flows, hiddenFacts], { numRuns: runs(15_000) }, (given, namespaces, flow, hide) => {
    const readable = namespaces.filter(({ name }) => !hide.namespaces.includes(name));
    const seen = hideFrom(flow, hide);
    const { verdict } = evaluator(given, readable);
    for (const direction of directions) {
      const { outcome, missing } = verdict(seen, direction);
      outcomes[outcome === 'unknown' ? 'unknown' : 'known'] += 1;
      expect(missing.length > 0).toBe(outcome === 'unknown');
      if (outcome !== 'unknown') expect(outcome).toBe(literalVerdict({ policies: given, namespaces }, flow, direction));
    }
  });
  // Other seeds give other shares, but neither kind may be missing.
  expect(Math.min(outcomes.known, outcomes.unknown)).toBeGreaterThan((outcomes.known + outcomes.unknown) / 50);
});
