import fc from 'fast-check';
import { expect, test } from 'vitest';
import { unlimitedMemory } from '../../../src/base/platform/memory-budget.ts';
import { createTombstones } from '../../../src/explain/resolving/tombstones.ts';
import { forAll } from '../../for-all.ts';

interface Removed {
  readonly namespace: string;
}

const limit = 12;

function tombstones() {
  return createTombstones<Removed>({
    age: 1000,
    count: limit,
    memory: unlimitedMemory(),
    namespaceOf: ({ namespace }) => namespace,
    weigh: () => 1,
  });
}

test('a Namespace that removes the most loses its own tombstones, others keep theirs up to an equal share', () => {
  const removals = fc.array(fc.tuple(fc.constantFrom('a', 'a', 'a', 'a', 'b', 'c'), fc.nat(40)), {
    minLength: 20,
    maxLength: 120,
  });
  forAll([removals], { numRuns: 300 }, (given) => {
    const { put, get, entries } = tombstones();
    const removed = new Map<string, Set<string>>();
    for (const [index, [namespace, name]] of given.entries()) {
      const key = `${namespace}/${name}`;
      put(key, { namespace }, index);
      removed.set(namespace, (removed.get(namespace) ?? new Set()).add(key));
      expect(get(key)).toEqual({ namespace });
    }
    const distinct = [...removed.values()].reduce((sum, { size }) => sum + size, 0);
    expect([...entries()]).toHaveLength(Math.min(limit, distinct));
    for (const keys of removed.values())
      if (keys.size <= limit / 3) for (const key of keys) expect(get(key)).toBeDefined();
  });
});

test('within a Namespace, the oldest are forgotten first, and all once they are old', () => {
  const { put, entries, sweep } = tombstones();
  for (let index = 0; index < limit + 2; index++) put(`a/${index}`, { namespace: 'a' }, index);
  const first = (): string | undefined => [...entries()][0]?.[0];
  expect(first()).toBe('a/2');
  sweep(1005);
  expect(first()).toBe('a/6');
  sweep(2000);
  expect(first()).toBeUndefined();
});
