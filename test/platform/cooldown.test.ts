import { expect, test } from 'vitest';
import { createCooldown } from '../../src/platform/cooldown.ts';

const minute = 60_000;

test('left alone for as long as it takes, counted from the last time it was added', () => {
  let now = 0;
  const alone = createCooldown<string>(10 * minute, () => now);
  alone.add('shop');
  expect([alone.has('shop'), alone.has('batch')]).toEqual([true, false]);
  now = 6 * minute;
  alone.add('shop');
  now = 16 * minute - 1;
  expect(alone.has('shop')).toBe(true);
  now++;
  expect(alone.has('shop')).toBe(false);
});

test('those whose time is over are not held', () => {
  let now = 0;
  const alone = createCooldown<string>(10 * minute, () => now);
  for (const name of ['a', 'b']) alone.add(name);
  expect(alone.size).toBe(2);
  now = 10 * minute;
  alone.add('c');
  expect(alone.size).toBe(1);
});

test('a clock that is set back ends it', () => {
  let now = 8 * 60 * minute;
  const alone = createCooldown<string>(10 * minute, () => now);
  alone.add('shop');
  now = 0;
  expect(alone.has('shop')).toBe(false);
  expect(alone.size).toBe(0);
});
