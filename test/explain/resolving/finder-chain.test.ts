import { expect, test } from 'vitest';
import type { LookupWay } from '../../../src/base/model/choices.ts';
import {
  createFinderChain,
  OverBudget,
  type Owners,
  type PodFinder,
} from '../../../src/explain/resolving/lookups/lookup.ts';
import { pod } from '../../builders.ts';

type Outcome = Owners | Error | undefined;

function scene(outcomes: Partial<Record<LookupWay, Outcome>>) {
  const asked: string[] = [];
  const finders = Object.entries(outcomes).map(([way, outcome]): PodFinder => ({
    way: way as LookupWay,
    find() {
      asked.push(way);
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome);
    },
  }));
  const ends: unknown[] = [];
  return { asked, ends, chain: createFinderChain(finders, (way, error) => ends.push([way, error])) };
}

const found = { pods: [pod()] };

test('the first finder responsible for the address answers, even that it is not in use', async () => {
  const { asked, chain } = scene({ 'calico-block': undefined, 'pod-cidr': { pods: [] }, 'field-selector': found });
  await expect(chain.find('10.65.2.9', 'shop')).resolves.toEqual({ pods: [] });
  expect(asked).toEqual(['calico-block', 'pod-cidr']);
  expect(Object.fromEntries(chain.counts)).toMatchObject({
    'calico-block': { hit: 0, miss: 0 },
    'pod-cidr': { hit: 0, miss: 1 },
    'field-selector': { hit: 0, miss: 0 },
  });
});

test('a finder that fails or has no right is followed by the next one', async () => {
  const away = new Error('away');
  const { chain, ends } = scene({ 'calico-block': away, 'pod-cidr': new OverBudget(), 'field-selector': found });
  await expect(chain.find('10.65.2.9', 'shop')).resolves.toBe(found);
  expect(Object.fromEntries(chain.counts)).toMatchObject({
    'calico-block': { failed: 1, refused: 0 },
    'pod-cidr': { failed: 0, refused: 1 },
    'field-selector': { hit: 1 },
  });
  expect(ends).toEqual([
    ['calico-block', away],
    ['field-selector', undefined],
  ]);
});

test('if no finder is responsible and one has failed, the owner is unknown', async () => {
  await expect(
    scene({ 'calico-block': new Error('away'), 'field-selector': undefined }).chain.find('10.65.2.9', 'shop'),
  ).rejects.toThrow('away');
  await expect(scene({ 'field-selector': undefined }).chain.find('10.65.2.9', 'shop')).resolves.toEqual({ pods: [] });
});
