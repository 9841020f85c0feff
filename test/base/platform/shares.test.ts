import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSharedBucket, createTimeShare } from '../../../src/base/platform/shares.ts';
import { nine } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const limits = { rate: 0.5, burst: 60 };

/** Counts how many of `tries` get through at `now`. */
function taken(bucket: ReturnType<typeof createSharedBucket>, key: string, tries: number, now: number): number {
  return Array.from({ length: tries }, () => bucket.take(key, now)).filter(Boolean).length;
}

test('one key takes half of the budget, the next one half of the remainder', () => {
  const bucket = createSharedBucket(limits);
  expect(['a', 'b', 'c', 'd'].map((key) => taken(bucket, key, 1000, nine))).toEqual([30, 15, 7, 4]);
});

test('a single key gets the whole rate', () => {
  const bucket = createSharedBucket(limits);
  taken(bucket, 'a', 1000, nine);
  let count = 0;
  for (let time = 1; time <= 600; time++) count += taken(bucket, 'a', 3, nine + time * second);
  expect(count).toBe(300);
  expect(taken(bucket, 'b', 1000, nine + 600 * second)).toBeGreaterThanOrEqual(14);
});

test('with one token at a time, keys take turns, however often one of them asks', () => {
  const bucket = createSharedBucket({ rate: 1, burst: 1 });
  const counts = { evil: 0, shop: 0 };
  for (let time = 0; time < 100 * second; time += 50) {
    counts.evil += taken(bucket, 'evil', 3, nine + time);
    if (time % 500 === 0) counts.shop += taken(bucket, 'shop', 1, nine + time);
  }
  expect(counts.shop).toBeGreaterThanOrEqual(45);
  expect(counts.evil + counts.shop).toBeGreaterThanOrEqual(95);
});

const names = fc.integer({ min: 0, max: 3 }).map((index) => `evil-${index}`);
const requests = fc.array(fc.tuple(names, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 20 })), {
  maxLength: 100,
});

test('a key that has not asked before gets its part whatever others ask for, and all keys stay within the budget', () => {
  forAll([requests], { numRuns: 500 }, (asked) => {
    const bucket = createSharedBucket(limits);
    let now = nine;
    let sum = 0;
    for (const [key, tries, pause] of asked) {
      now += pause * second;
      sum += taken(bucket, key, tries, now);
      expect(sum).toBeLessThanOrEqual(limits.burst + ((now - nine) / second) * limits.rate + 1e-6);
    }
    // Each of four others took half of what was left, so a sixteenth remains, of which this one takes half.
    expect(taken(bucket, 'shop', 1000, now)).toBeGreaterThanOrEqual(1);
  });
});

const many = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 20 })),
  { maxLength: 100 },
);

test('if each key has its own part, a key gets it however much others have taken', () => {
  const each = 4;
  forAll([many], { numRuns: 500 }, (asked) => {
    const bucket = createSharedBucket({ ...limits, each });
    let now = nine;
    let sum = 0;
    for (const [index, tries, pause] of asked) {
      now += pause * second;
      sum += taken(bucket, `evil-${index}`, tries, now);
      expect(sum).toBeLessThanOrEqual(limits.burst + 16 * each + ((now - nine) / second) * limits.rate + 1e-6);
    }
    expect(taken(bucket, 'shop', 1000, now)).toBeGreaterThanOrEqual(each);
  });
});

test('tokens that a key took from its own share come back at the common rate, so the long-run total stays the same', () => {
  const bucket = createSharedBucket({ ...limits, each: 4 });
  let sum = 0;
  for (let time = 0; time < 3600; time++)
    for (let index = 0; index < 10; index++) sum += taken(bucket, `evil-${index}`, 5, nine + time * second);
  expect(sum).toBeLessThanOrEqual(limits.burst + 10 * 4 + 3600 * limits.rate);
});

test('a key that asks for less than its part of the rate is never refused, however often others ask', () => {
  const others = fc.integer({ min: 1, max: 6 });
  forAll([others, fc.integer({ min: 1, max: 50 })], { numRuns: 100 }, (count, greed) => {
    const bucket = createSharedBucket(limits);
    const every = Math.ceil((count + 1) / limits.rate) + 1;
    for (let time = 0; time < 900; time++) {
      const now = nine + time * second;
      for (let index = 0; index < count; index++) taken(bucket, `evil-${index}`, greed, now);
      if (time % every === 0) expect(bucket.take('shop', now)).toBe(true);
    }
  });
});

const share = { part: 0.02, atOnce: 200 };

test('a piece of work that takes too long does not affect other keys', () => {
  const time = createTimeShare(share);
  expect(time.mayBegin('evil', nine)).toBe(true);
  time.ended('evil', nine, nine + 5000);
  for (let each = 0; each < 50; each++) {
    expect(time.mayBegin('shop', nine + 5000)).toBe(true);
    time.ended('shop', nine + 5000, nine + 5001);
  }
  expect(time.mayBegin('evil', nine + 100_000)).toBe(false);
  expect(time.mayBegin('evil', nine + 400_000)).toBe(true);
});

const works = fc.array(fc.tuple(names, fc.integer({ min: 1, max: 400 }), fc.integer({ min: 0, max: 500 })), {
  maxLength: 300,
});

test('a key works at most for its share and one more piece, and another key may begin at any time', () => {
  forAll([works], { numRuns: 500 }, (asked) => {
    const time = createTimeShare(share);
    const worked = new Map<string, { before: number; last: number }>();
    let now = nine;
    for (const [key, took, pause] of asked) {
      now += pause;
      if (!time.mayBegin(key, now)) continue;
      const { before, last } = worked.get(key) ?? { before: 0, last: 0 };
      worked.set(key, { before: before + last, last: took });
      time.ended(key, now, now + took);
      now += took;
      expect(worked.get(key)?.before).toBeLessThanOrEqual(share.atOnce / 2 + (now - nine) * share.part);
      expect(time.mayBegin('shop', now)).toBe(true);
    }
  });
});
