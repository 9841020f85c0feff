import { expect, test } from 'vitest';
import { dueAfter } from '../../src/series/schedule.ts';
import { nine, series } from '../builders.ts';

const second = 1000;

test('the first write is a second after the first packet', () => {
  expect(dueAfter(series(), nine)).toBe(nine + second);
});

test.each([
  { writes: 1, wait: 30 },
  { writes: 2, wait: 60 },
  { writes: 3, wait: 120 },
  { writes: 4, wait: 240 },
  { writes: 5, wait: 480 },
  { writes: 6, wait: 900 },
  { writes: 7, wait: 900 },
  { writes: 100, wait: 900 },
])('after write $writes the next is $wait s later', ({ writes, wait }) => {
  const written = series({
    published: { count: 1, writes, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
  });
  expect(dueAfter(written, nine + second)).toBe(nine + wait * second);
});

test('after a pause longer than the wait it is a second after the packet again', () => {
  const written = series({
    published: { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
  });
  expect(dueAfter(written, nine + 3600 * second)).toBe(nine + 3601 * second);
});
