import { expect, test } from 'vitest';
import { createTimeShare } from '../../src/platform/token-bucket.ts';

const limits = { part: 0.01, atOnce: 100 };

test('after a rest, what is taken at once is bounded', () => {
  const share = createTimeShare(limits);
  let pieces = 0;
  for (; share.mayBegin(0); pieces++) share.ended(0, 10);
  expect(pieces).toBe(10);
});

test('a hundredth of the time may be taken after that', () => {
  const share = createTimeShare(limits);
  let [now, taken] = [0, 0];
  for (; now < 1_000_000; now += 10)
    if (share.mayBegin(now)) {
      share.ended(now, now + 5);
      taken += 5;
    }
  expect(taken).toBeGreaterThanOrEqual(10_000);
  expect(taken).toBeLessThanOrEqual(10_000 + 100 + 5);
});

test('a piece that lasted long is earned before the next one', () => {
  const share = createTimeShare(limits);
  share.ended(0, 1000);
  expect(share.mayBegin(90_000)).toBe(false);
  expect(share.mayBegin(90_001)).toBe(true);
});
