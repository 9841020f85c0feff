import { expect, test } from 'vitest';
import { type Sample, slopeOf } from './slope.ts';

const every30s = Array.from({ length: 120 }, (_, index) => index * 30);

test('memory that grows by a megabyte in each minute grows by 60 MB/h', () => {
  const samples = every30s.map((seconds): Sample => [seconds, 50e6 + (seconds / 60) * 1e6]);
  expect(slopeOf(samples)).toBeCloseTo(60e6);
});

test('what grows in the first quarter only is flat', () => {
  const samples = every30s.map((seconds): Sample => [seconds, Math.min(seconds, 800) * 1e5]);
  expect(slopeOf(samples)).toBeCloseTo(0);
});

test('noise around a level is flat', () => {
  const samples = every30s.map((seconds, index): Sample => [seconds, 50e6 + (index % 2) * 1e6]);
  expect(Math.abs(slopeOf(samples))).toBeLessThan(0.1e6);
});

test('two samples have no slope', () => {
  expect(
    slopeOf([
      [0, 1],
      [30, 2],
    ]),
  ).toBeNaN();
});
