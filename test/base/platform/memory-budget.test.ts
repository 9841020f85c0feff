import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createMemoryBudget,
  type MemoryAccount,
  type MemoryBudget,
  ranks,
} from '../../../src/base/platform/memory-budget.ts';
import { forAll } from '../../for-all.ts';

/** The memory that an object takes in addition to its own weight. */
const besides = 200;

interface Scene {
  readonly budget: MemoryBudget;
  /** By `resource key`: the Namespace, and the total weight. */
  readonly kept: Map<string, { namespace: string; bytes: number }>;
  readonly left: string[];
  readonly accounts: Readonly<Record<'pods' | 'services' | 'slices', MemoryAccount>>;
  readonly set: (resource: 'pods' | 'services' | 'slices', namespace: string, name: string, bytes: number) => boolean;
  readonly remove: (resource: 'pods' | 'services' | 'slices', namespace: string, name: string) => void;
}

function scene(total: number): Scene {
  const kept: Scene['kept'] = new Map();
  const left: string[] = [];
  const budget = createMemoryBudget({ total, isPreferred: (namespace) => namespace === 'kube-system' });
  const open = (resource: 'pods' | 'services' | 'slices'): MemoryAccount =>
    budget.open({
      resource,
      rank: ranks[resource],
      leaveOut(key) {
        kept.delete(`${resource} ${key}`);
        left.push(`${resource} ${key}`);
      },
    });
  const accounts = { pods: open('pods'), services: open('services'), slices: open('slices') };
  return {
    budget,
    kept,
    left,
    accounts,
    set(resource, namespace, name, bytes) {
      const key = `${namespace}/${name}`;
      const isKept = accounts[resource].set(key, namespace, bytes);
      if (isKept) kept.set(`${resource} ${key}`, { namespace, bytes: bytes + besides });
      return isKept;
    },
    remove(resource, namespace, name) {
      accounts[resource].delete(`${namespace}/${name}`);
      kept.delete(`${resource} ${namespace}/${name}`);
    },
  };
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const resource = fc.constantFrom('pods' as const, 'services' as const, 'slices' as const);
const change = fc.record({
  resource,
  namespace: fc.constantFrom('evil', 'shop', 'bank', 'kube-system'),
  name: fc.constantFrom(...names),
  bytes: fc.oneof(fc.nat(300), fc.nat(5000), fc.nat(100_000)),
  deletes: fc.integer({ min: 0, max: 3 }).map((chance) => chance === 0),
});

test('after any changes, kept objects never weigh more than the budget, and the sums are right', () => {
  forAll(
    [fc.array(change, { maxLength: 120 }), fc.integer({ min: 1000, max: 60_000 })],
    { numRuns: 400 },
    (changes, total) => {
      const { budget, kept, accounts, set, remove } = scene(total);
      for (const each of changes) {
        if (each.deletes) remove(each.resource, each.namespace, each.name);
        else set(each.resource, each.namespace, each.name, each.bytes);
        const sum = [...kept.values()].reduce((bytes, one) => bytes + one.bytes, 0);
        expect(budget.bytes).toBe(sum);
        expect(sum).toBeLessThanOrEqual(total);
        expect(Object.values(accounts).reduce((bytes, one) => bytes + one.bytes, 0)).toBe(sum);
        expect(Object.values(accounts).reduce((count, one) => count + [...one.keys()].length, 0)).toBe(kept.size);
      }
    },
  );
});

test('a Namespace within its share loses nothing, whatever the others do', () => {
  const total = 30_000;
  const honest = fc.array(fc.record({ resource, name: fc.constantFrom(...names), bytes: fc.nat(150) }), {
    maxLength: 15,
  });
  const others = fc.array(change, { maxLength: 60 });
  forAll([honest, others, others], { numRuns: 400 }, (own, before, after) => {
    const { kept, left, set, remove } = scene(total);
    // Eight objects of each of three kinds, of 350 bytes at most: less than a third of the budget.
    const mine = new Map(own.map((each) => [`${each.resource} honest/${each.name}`, each]));
    const stir = (changes: typeof before): void => {
      for (const each of changes) {
        if (each.namespace === 'kube-system' || each.namespace === 'bank') continue;
        if (each.deletes) remove(each.resource, each.namespace, each.name);
        else set(each.resource, each.namespace, each.name, each.bytes);
      }
    };
    stir(before);
    for (const each of mine.values()) expect(set(each.resource, 'honest', each.name, each.bytes)).toBe(true);
    stir(after);
    expect(left.filter((key) => key.includes(' honest/'))).toEqual([]);
    for (const key of mine.keys()) expect(kept.has(key)).toBe(true);
  });
});

test('within a Namespace, objects that explain are left out before objects that name, and large ones before small ones', () => {
  const { set, left, kept } = scene(5000);
  set('pods', 'shop', 'web', 1000);
  set('services', 'shop', 'small', 300);
  set('services', 'shop', 'large', 1000);
  set('slices', 'shop', 'api', 600);
  set('pods', 'shop', 'db', 1300);
  set('pods', 'bank', 'one', 100);
  set('pods', 'shop', 'cache', 1500);
  expect(left).toEqual(['slices shop/api', 'services shop/large', 'services shop/small']);
  expect([...kept.keys()]).toEqual(['pods shop/web', 'pods shop/db', 'pods bank/one', 'pods shop/cache']);
});

test('objects of system Namespaces are left out last, up to half of the budget', () => {
  const { set, left } = scene(6000);
  set('pods', 'kube-system', 'dns', 1500);
  for (const name of ['a', 'b', 'c']) set('slices', name, 'api', 1100);
  set('pods', 'kube-system', 'proxy', 900);
  expect(left).toEqual(['slices a/api']);
  set('pods', 'kube-system', 'large', 2000);
  expect(left).toEqual(['slices a/api', 'pods kube-system/large']);
});

test('an object that has outgrown the room is left out, and its earlier version too', () => {
  const { set, left, accounts } = scene(5000);
  expect(set('services', 'shop', 'api', 100)).toBe(true);
  expect(set('services', 'shop', 'api', 6000)).toBe(false);
  expect(left).toEqual(['services shop/api']);
  expect(accounts.services.leftOut).toBe(1);
  expect(set('services', 'shop', 'api', 100)).toBe(true);
  expect(accounts.services.leftOut).toBe(0);
});

test('a deleted object does not count as left out', () => {
  const { set, remove, accounts } = scene(1000);
  set('services', 'shop', 'api', 6000);
  remove('services', 'shop', 'api');
  expect(accounts.services.leftOut).toBe(0);
});

test('a closed account frees its memory', () => {
  const { set, budget, accounts } = scene(5000);
  set('slices', 'shop', 'api', 1000);
  set('pods', 'shop', 'web', 1000);
  accounts.slices.close();
  expect(budget.bytes).toBe(1000 + besides);
  expect([...budget.accounts].map((each) => each.resource)).toEqual(['pods', 'services']);
});

test('a left-out answer counts for ten minutes, because it may never be asked for again; a left-out object of a watch counts until it has room', () => {
  let now = 0;
  const budget = createMemoryBudget({ total: 1000, isPreferred: () => false, now: () => now });
  const kept = new Set<string>();
  const answers = budget.open({
    resource: 'policies',
    rank: ranks.answers,
    leaveOut(key) {
      kept.delete(key);
      // A cache also deletes an answer that it forgets.
      answers.delete(key);
    },
  });
  const pods = budget.open({ resource: 'pods', rank: ranks.pods, leaveOut: () => {} });
  pods.set('shop/large', 'shop', 2000);
  answers.set('shop', 'shop', 2000);
  kept.add('bank');
  answers.set('bank', 'bank', 500);
  answers.set('bank/more', 'bank', 500);
  expect({ kept: [...kept], answers: answers.leftOut, pods: pods.leftOut }).toEqual({ kept: [], answers: 2, pods: 1 });
  now = 599_999;
  expect(answers.leftOut).toBe(2);
  now = 600_000;
  expect({ answers: answers.leftOut, pods: pods.leftOut }).toEqual({ answers: 0, pods: 1 });
});

test('if more objects are left out than are remembered, the rest counts as left out until the next complete list', () => {
  const budget = createMemoryBudget({ total: 1000, isPreferred: () => false });
  const pods = budget.open({ resource: 'pods', rank: ranks.pods, leaveOut: () => {} });
  for (let index = 0; index < 10_000; index++) pods.set(`evil/${index}`, 'evil', 2000);
  for (let index = 0; index < 9000; index++) pods.delete(`evil/${index}`);
  expect(pods.leftOut).toBeGreaterThan(0);
  pods.forgetLeftOut();
  expect(pods.leftOut).toBe(0);
});
