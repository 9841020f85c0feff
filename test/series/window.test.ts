import fc from 'fast-check';
import { expect, test } from 'vitest';
import { windowLength, windowOf } from '../../src/series/window.ts';
import { nine } from '../builders.ts';

const times = fc.integer({ min: 0, max: 4_000_000_000_000 });

test('is an hour', () => {
  expect(windowLength).toBe(3_600_000);
});

test('every time lies in exactly one window, of its length', () => {
  fc.assert(
    fc.property(times, fc.string(), (time, uid) => {
      const { number, end } = windowOf(time, uid);
      expect(time).toBeLessThan(end);
      expect(time).toBeGreaterThanOrEqual(end - windowLength);
      expect(windowOf(end - 1, uid)).toEqual({ number, end });
      expect(windowOf(end, uid)).toEqual({ number: number + 1, end: end + windowLength });
    }),
  );
});

test('different objects change windows at different minutes', () => {
  const ends = ['a', 'b', 'c', 'd', 'e'].map((uid) => windowOf(nine, uid).end);
  expect(new Set(ends).size).toBe(ends.length);
});

test('is the same after a restart', () => {
  // SHA-256("uid-of-web-0") begins with 0xc0e9abeb: the phase is that number modulo an hour.
  expect(windowOf(0, 'uid-of-web-0').end).toBe(windowLength - (0xc0e9abeb % windowLength));
});
