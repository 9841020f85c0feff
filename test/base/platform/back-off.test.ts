import { expect, test } from 'vitest';
import { createBackOff, createCooldown } from '../../../src/base/platform/rates.ts';

const minute = 60_000;
const limits = { first: 1000, longest: minute };

test('after each failure, the pause may be twice as long, up to the longest', () => {
  const backOff = createBackOff(limits, () => 1);
  expect(Array.from({ length: 8 }, () => backOff.next())).toEqual([
    1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000,
  ]);
});

test('after thousands of failures a pause is still the longest', () => {
  const backOff = createBackOff(limits, () => 1);
  for (let failure = 0; failure < 5000; failure++) backOff.next();
  expect(backOff.next()).toBe(60_000);
});

test('after a success, pauses start from the first again', () => {
  const backOff = createBackOff(limits, () => 1);
  backOff.next();
  backOff.next();
  backOff.reset();
  expect(backOff.next()).toBe(1000);
});

test('a pause requested by the server is kept, and a random part is added', () => {
  const randoms = [0, 0.5];
  const backOff = createBackOff(limits, () => randoms.shift() ?? 0);
  expect([backOff.next(7000), backOff.next(7000)]).toEqual([7000, 8000]);
});

test('a cooldown lasts for its duration after the last addition', () => {
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
