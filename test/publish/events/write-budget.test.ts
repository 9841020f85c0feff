import { expect, test } from 'vitest';
import { createWriteBudget, nodeLimits } from '../../../src/publish/events/write-budget.ts';
import type { WriteKind } from '../../../src/base/model/series.ts';
import { nine } from '../../builders.ts';
import { createRandom } from '../../soak/random.ts';

const second = 1000;
const hour = 3600 * second;

/** Writes as often as it may until `duration` is over; returns how many. */
function writes(kind: WriteKind, duration: number, budget = createWriteBudget()): number {
  let count = 0;
  for (let now = nine; now <= nine + duration; now = budget.availableAt(now, kind))
    if (budget.spend(now, kind)) count++;
  return count;
}

test('390 objects have their first Event within a minute', () => {
  expect(writes('first', 58 * second)).toBeGreaterThanOrEqual(390);
});

test('other writes are 25 at once, then one a second', () => {
  expect(writes('more', 0)).toBe(25);
  expect(writes('more', 10 * second)).toBe(35);
});

test('other writes are 360 in the first hour, then 240 in each', () => {
  expect(writes('more', hour - 1)).toBe(360 - 1);
  expect(writes('more', 2 * hour - 1)).toBe(600 - 1);
});

test('a node whose Pods are all affected all the time writes less than its share of 500 a second of 5,000 nodes', () => {
  expect((110 / 3600 + nodeLimits.hour.rate) * 5000).toBeLessThan(500);
});

test('first writes are not delayed by others, but share the burst', () => {
  const budget = createWriteBudget();
  expect(writes('more', hour, budget)).toBe(359);
  expect(budget.spend(nine + hour, 'more')).toBe(false);
  expect(budget.spend(nine + hour, 'first')).toBe(true);
  const another = createWriteBudget();
  expect(writes('more', 0, another) + writes('first', 0, another)).toBe(25);
});

test('writes returned to the budget can be used', () => {
  const budget = createWriteBudget();
  writes('more', 0, budget);
  budget.refund('more');
  expect(budget.spend(nine, 'more')).toBe(true);
  expect(budget.spend(nine, 'more')).toBe(false);
});

test('other writes of 5,000 nodes that begin at the same moment are 250 a second from the first second on', () => {
  const random = createRandom(1);
  const nodes = 5000;
  const bySecond = Array.from({ length: 60 }, () => 0);
  for (let node = 0; node < nodes; node++) {
    const budget = createWriteBudget({ nodeCount: () => nodes, random });
    for (let now = nine; now < nine + 60 * second; now = budget.availableAt(now, 'more'))
      if (budget.spend(now, 'more')) bySecond[Math.floor((now - nine) / second)]!++;
  }
  expect(Math.max(...bySecond)).toBeLessThan(330);
  expect(Math.min(...bySecond)).toBeGreaterThan(170);
});

test('a node that learns the number of nodes has its share from then on', () => {
  let nodes = 1;
  const budget = createWriteBudget({ nodeCount: () => nodes, random: () => 0 });
  expect(writes('more', 0, budget)).toBe(25);
  nodes = 2500;
  const later = createWriteBudget({ nodeCount: () => nodes, random: () => 0 });
  expect(writes('more', 0, later)).toBe(1);
  expect(later.availableAt(nine, 'more')).toBe(nine + 10 * second);
});

test('Nodes that come and go give no node a new burst', () => {
  let nodes = 400;
  const budget = createWriteBudget({ nodeCount: () => nodes, random: () => 0 });
  expect(writes('final', 0, budget)).toBeGreaterThan(0);
  nodes = 399;
  expect(writes('final', 0, budget)).toBe(0);
});
