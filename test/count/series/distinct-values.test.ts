import { expect, test } from 'vitest';
import { createDistinctValues, distinctLimit, noteValue } from '../../../src/count/series/slots.ts';

test('distinct values are remembered once, in order', () => {
  const into = createDistinctValues();
  for (const value of ['b', 'a', 'b', 'a']) noteValue(into, value);
  expect(into).toEqual({ seen: ['b', 'a'], past: 0 });
});

test('past the limit, values are only counted', () => {
  const into = createDistinctValues();
  for (let value = 0; value < distinctLimit; value++) noteValue(into, `${value}`);
  for (const value of ['0', 'new', 'new']) noteValue(into, value);
  expect(into.seen.length).toBe(distinctLimit);
  expect(into.past).toBe(2);
});
