import { expect, test } from 'vitest';
import { createDistinctValues, tally, distinctLimit } from '../../src/series/tally.ts';

test('distinct values are remembered once, in order', () => {
  const into = createDistinctValues();
  for (const value of ['b', 'a', 'b', 'a']) tally(into, value);
  expect(into).toEqual({ seen: new Set(['b', 'a']), past: 0 });
  expect([...into.seen]).toEqual(['b', 'a']);
});

test('past the limit sightings are counted', () => {
  const into = createDistinctValues();
  for (let value = 0; value < distinctLimit; value++) tally(into, `${value}`);
  for (const value of ['0', 'new', 'new']) tally(into, value);
  expect(into.seen.size).toBe(distinctLimit);
  expect(into.past).toBe(2);
});
