import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairQueue } from '../../../src/base/platform/fair-queue.ts';
import { forAll } from '../../for-all.ts';

test('keys have turns, and items of one key keep their order', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.charAt(0), item);
  const taken = Array.from({ length: 7 }, () => queue.take());
  expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
});

test('a key that may not begin loses its turn, but none of its items', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'b1']) queue.add(item.charAt(0), item);
  expect(queue.take((key) => key !== 'a')).toBe('b1');
  expect(queue.take((key) => key !== 'a')).toBeUndefined();
  expect(queue.take()).toBe('a1');
});

test('for each earlier item of its own key, an item waits for at most one item of each other key', () => {
  const keys = fc.array(fc.integer({ min: 0, max: 5 }).map(String), { maxLength: 100 });
  forAll([keys, fc.integer({ min: 1, max: 4 })], {}, (others, own) => {
    const queue = createFairQueue<string>();
    for (const key of others) queue.add(key, key);
    for (let each = 0; each < own; each++) queue.add('shop', 'shop');
    const order = Array.from({ length: others.length + own }, () => queue.take());
    const last = order.lastIndexOf('shop');
    expect(last).toBeLessThan(own * (new Set(others).size + 1));
  });
});
