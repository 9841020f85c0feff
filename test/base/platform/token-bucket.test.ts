import { expect, test } from 'vitest';
import { createTokenBucket } from '../../../src/base/platform/rates.ts';
import { nine } from '../../builders.ts';

const second = 1000;

/** Counts how many of `tries` get through at `now`. */
function taken(bucket: ReturnType<typeof createTokenBucket>, tries: number, now: number): number {
  return Array.from({ length: tries }, () => bucket.take(now)).filter(Boolean).length;
}

const limits = { rate: 1, burst: 25 };

test.each([
  { pause: 0.999, expected: 0 },
  { pause: 1, expected: 1 },
  { pause: 10.5, expected: 10 },
  { pause: 3600, expected: 25 },
])('holds $expected after $pause s', ({ pause, expected }) => {
  const bucket = createTokenBucket(limits);
  taken(bucket, 25, nine);
  expect(taken(bucket, 40, nine + pause * second)).toBe(expected);
});

test('says when the next token will be available', () => {
  const bucket = createTokenBucket({ rate: 2, burst: 1 });
  expect(bucket.availableAt(nine)).toBe(nine);
  bucket.take(nine);
  const next = bucket.availableAt(nine + 100);
  expect(next).toBe(nine + 500);
  expect(bucket.take(next - 1)).toBe(false);
  expect(bucket.take(next)).toBe(true);
});

test('a clock that runs backwards adds no tokens, and does not shorten the wait', () => {
  const bucket = createTokenBucket(limits);
  taken(bucket, 25, nine);
  expect(bucket.take(nine - 60 * second)).toBe(false);
  expect(bucket.availableAt(nine - 60 * second)).toBe(nine + second);
});

test('returned tokens can be taken again, up to the burst', () => {
  const bucket = createTokenBucket({ rate: 1, burst: 2 });
  bucket.refund();
  expect(taken(bucket, 5, nine)).toBe(2);
  bucket.refund();
  expect(bucket.available(nine)).toBe(1);
  expect(taken(bucket, 5, nine)).toBe(1);
});
