import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFieldSelectorFinder, selectorBudget } from '../../../../src/agent/kubernetes/pod-finders.ts';
import { OverBudget } from '../../../../src/explain/resolving/lookups/lookup.ts';
import { nine } from '../../../builders.ts';
import { fakeApi, podObject } from './fake-api.ts';
import { forAll } from '../../../for-all.ts';

const minute = 60_000;

test.each([
  [30, 3, 6, 10],
  [1000, 20, 6, 10],
  [3000, 100, 5.9, 3],
  [6000, 200, 1.5, 1],
  [10_000, 170, 1.04, 1],
])('%d Pods on %d nodes give the budget', (pods, nodes, aMinute, burst) => {
  const budget = selectorBudget({ pods, nodes });
  expect((budget?.rate ?? 0) * 60).toBeCloseTo(aMinute, 1);
  expect(budget?.burst).toBe(burst);
});

test.each([
  [20_000, 200],
  [150_000, 5000],
])('no budget is left with %d Pods on %d nodes', (pods, nodes) => {
  expect(selectorBudget({ pods, nodes })).toBeUndefined();
});

test('all nodes together never take more than a twentieth of a core', () => {
  const size = fc.record({ pods: fc.nat({ max: 300_000 }), nodes: fc.nat({ max: 10_000 }) });
  forAll([size], {}, ({ pods, nodes }) => {
    const { rate, burst } = selectorBudget({ pods, nodes }) ?? { rate: 0, burst: 0 };
    const cost = pods * 1.7e-6 * nodes;
    expect(rate * cost).toBeLessThanOrEqual(0.05 + 1e-9);
    expect(burst * cost).toBeLessThanOrEqual(Math.max(2, cost) + 1e-9);
  });
});

const count = (all: number) => ({ items: [{}], metadata: { remainingItemCount: all - 1 } });

function scene({ pods = 30, nodes = 3 } = {}) {
  const clock = { now: nine };
  const api = fakeApi({
    '/api/v1/pods': count(pods),
    '/api/v1/nodes': count(nodes),
    '/api/v1/pods?status.podIP=10.65.2.9': { items: [podObject('db-0', ['10.65.2.9'])] },
    '/api/v1/pods?status.podIP=10.65.2.77': { items: [] },
  });
  return {
    api,
    clock,
    finder: createFieldSelectorFinder({ connection: api, clock: { now: () => clock.now, fromWall: (stamp) => stamp } }),
  };
}

test('the size of the cluster is asked for once an hour', async () => {
  const { api, clock, finder } = scene();
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }] });
  await expect(finder.find('10.65.2.77', 'shop')).resolves.toEqual({ pods: [] });
  expect(api.asked()).toEqual([
    '/api/v1/pods',
    '/api/v1/nodes',
    '/api/v1/pods?status.podIP=10.65.2.9',
    '/api/v1/pods?status.podIP=10.65.2.77',
  ]);
  clock.now += 60 * minute;
  await finder.find('10.65.2.9', 'shop');
  expect(api.asked()).toHaveLength(3);
});

test('past its half of the budget, a Namespace is not looked up, but another one is', async () => {
  const { api, clock, finder } = scene();
  for (let each = 0; each < 5; each++) await finder.find('10.65.2.9', 'shop');
  api.asked();
  await expect(finder.find('10.65.2.9', 'shop')).rejects.toThrow(OverBudget);
  expect(api.asked()).toEqual([]);
  await expect(finder.find('10.65.2.9', 'batch')).resolves.toBeDefined();
  clock.now += 20_000;
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toBeDefined();
});

test('a large cluster is not asked', async () => {
  const { api, finder } = scene({ pods: 20_000, nodes: 200 });
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toBeUndefined();
  expect(api.asked()).toEqual(['/api/v1/pods', '/api/v1/nodes']);
  await expect(finder.look()).resolves.toEqual({ usable: false, why: expect.stringMatching(/\b20000\b.*\b200\b/) });
});

test('a cluster of unknown size is not asked, because it may be large', async () => {
  const { api, finder } = scene();
  api.objects['/api/v1/nodes'] = 500;
  await expect(finder.find('10.65.2.9', 'shop')).rejects.toThrow('status 500');
  expect(api.asked()).toEqual(['/api/v1/pods', '/api/v1/nodes']);
  await expect(finder.look()).resolves.toMatchObject({ usable: false });
});
