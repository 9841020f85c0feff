import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEvaluator, type PolicyDirection } from '../../../../src/explain/policies/policies.ts';
import { clusterPolicies, flows, namespaceLists, networkPolicies } from '../arbitraries.ts';
import { hiddenFacts, hideFrom } from '../hiding.ts';
import { evaluator, policySet } from '../objects.ts';
import { calicoObjects, calicoPolicies, unique } from './arbitraries.ts';
import { literalCalicoVerdict } from './literal.ts';
import { runs } from '../../../runs.ts';

/**
 * The same programs whatever the seed and the time, because other programs, or fewer, have other shares of outcomes.
 */
const programsOfShares = { numRuns: 500, seed: 1, interruptAfterTimeLimit: Infinity };

const directions = ['ingress', 'egress'] as const satisfies PolicyDirection[];
const onlyCalico = fc.array(calicoPolicies, { minLength: 1, maxLength: 5 });
const allKinds = fc.array(fc.oneof({ arbitrary: calicoPolicies, weight: 3 }, networkPolicies, clusterPolicies), {
  minLength: 1,
  maxLength: 6,
});

test.each([
  ["Calico's policies", onlyCalico],
  ["Calico's policies among those of Kubernetes", allKinds],
])('%s have the meaning of a literal reading', (_title, policies) => {
  const seen: Record<string, number> = { admits: 0, denies: 0, any: 0 };
  const property = fc.property(policies, calicoObjects, namespaceLists, flows, (given, others, namespaces, flow) => {
    const objects = [...unique(given), ...others];
    const { verdict } = evaluator(objects, namespaces);
    for (const direction of directions) {
      const literal = literalCalicoVerdict({ policies: objects, namespaces }, flow, direction);
      seen[literal] = (seen[literal] ?? 0) + 1;
      expect(verdict(flow, direction).outcome).toBe(literal === 'any' ? 'unknown' : literal);
    }
  });
  fc.assert(property, programsOfShares);
  const all = Object.values(seen).reduce((sum, count) => sum + count, 0);
  expect(Math.min(seen['admits'] ?? 0, seen['denies'] ?? 0)).toBeGreaterThan(all / 20);
  fc.assert(property, { numRuns: runs(10_000) });
});

const unread = fc.subarray(['Tier', 'NetworkSet', 'ServiceAccount'] as const);
const kinds = { Tier: 'tiers', NetworkSet: 'networksets', ServiceAccount: undefined } as const;

test('a missing fact only ever turns a verdict into unknown', () => {
  const outcomes = { known: 0, unknown: 0 };
  const property = fc.property(allKinds, calicoObjects, namespaceLists, flows, hiddenFacts, unread, (...scene) => {
    const [given, others, namespaces, flow, hide, hidden] = scene;
    const policies = unique(given);
    const seen = hideFrom(flow, hide);
    const isHidden = (each: object): boolean =>
      hidden.some((kind) => (each as { kind: string }).kind.replace('Global', '') === kind);
    const { verdict } = createEvaluator({
      policies: policySet(
        [...policies, ...others.filter((each) => !isHidden(each))],
        hidden.map((kind) => kinds[kind]),
      ),
      namespaces: namespaces.filter(({ name }) => !hide.namespaces.includes(name)),
    });
    for (const direction of directions) {
      const { outcome, missing } = verdict(seen, direction);
      outcomes[outcome === 'unknown' ? 'unknown' : 'known'] += 1;
      expect(missing.length > 0).toBe(outcome === 'unknown');
      if (outcome !== 'unknown')
        expect(outcome).toBe(literalCalicoVerdict({ policies: [...policies, ...others], namespaces }, flow, direction));
    }
  });
  fc.assert(property, programsOfShares);
  expect(Math.min(outcomes.known, outcomes.unknown)).toBeGreaterThan((outcomes.known + outcomes.unknown) / 50);
  fc.assert(property, { numRuns: runs(10_000) });
});
