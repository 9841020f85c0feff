import { expect, test } from 'vitest';
import { createCooldown } from '../../src/platform/back-off.ts';

const minute = 60_000;

test('holds for its duration from the last time it was added', () => {
  let now = 0;
  const cooldown = createCooldown<string>(10 * minute, () => now);
  cooldown.add('shop');
  expect([cooldown.has('shop'), cooldown.has('batch')]).toEqual([true, false]);
  now = 6 * minute;
  cooldown.add('shop');
  now = 16 * minute - 1;
  expect(cooldown.has('shop')).toBe(true);
  now++;
  expect(cooldown.has('shop')).toBe(false);
});

test('forgets what is over when the next is added', () => {
  let now = 0;
  const cooldown = createCooldown<string>(10 * minute, () => now);
  for (const name of ['a', 'b']) cooldown.add(name);
  expect(cooldown.size).toBe(2);
  now = 10 * minute;
  cooldown.add('c');
  expect(cooldown.size).toBe(1);
});
