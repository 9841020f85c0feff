import { expect, test } from 'vitest';
import { evaluator } from '../objects.ts';
import { felixFlows, felixPods, readFelixScenes } from './felix-verdicts.ts';

test('agrees with what Felix made of generated clusters: policies of Calico and of Kubernetes, IPv4 and IPv6', () => {
  const seen = { admits: 0, denies: 0, unknown: 0 };
  for (const scene of readFelixScenes()) {
    const { verdict } = evaluator(scene.objects, scene.namespaces);
    for (const [index, flow] of felixFlows(felixPods(scene)).entries())
      for (const [offset, direction] of (['ingress', 'egress'] as const).entries()) {
        const felix = scene.verdicts[2 * index + offset];
        if (felix === '-') continue;
        const { outcome } = verdict(flow, direction);
        seen[outcome] += 1;
        // If releases of Calico differ, the evaluator says "unknown", while this release decides.
        if (outcome !== 'unknown')
          expect({ direction, flow, outcome }).toEqual({
            direction,
            flow,
            outcome: felix === '1' ? 'admits' : 'denies',
          });
      }
  }
  expect(Math.min(seen.admits, seen.denies)).toBeGreaterThan(10_000);
  expect(seen.unknown).toBeLessThan(seen.denies / 100);
});
