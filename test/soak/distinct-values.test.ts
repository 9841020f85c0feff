import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDistinctValues, lengthOf, missingOf, type Run } from './distinct-values.ts';

const end = 30;
const numbers = fc.array(fc.nat(end - 1), { maxLength: 60 });

test('agrees with a count for each number, also when it is restored in between', () => {
  fc.assert(
    fc.property(numbers, numbers, (first, second) => {
      const before = createDistinctValues();
      for (const number of first) before.add(number);
      const values = createDistinctValues(JSON.parse(JSON.stringify(before.counted)) as typeof before.counted);
      for (const number of second) values.add(number);

      const all = [...first, ...second];
      const different = new Set(all);
      expect(values.lines).toBe(different.size);
      expect(values.counted.doubled).toBe(all.length - different.size);
      expect(numbersIn(values.counted.runs)).toEqual([...different].toSorted((a, b) => a - b));
      const missing = missingOf(values.counted, end);
      expect(numbersIn(missing)).toEqual(
        Array.from({ length: end }, (_, number) => number).filter((each) => !different.has(each)),
      );
      expect(lengthOf(missing)).toBe(end - different.size);
    }),
  );
});

test('lines in order are one run', () => {
  const values = createDistinctValues();
  for (let number = 0; number < 1000; number++) values.add(number);
  expect(values.counted).toEqual({ runs: [[0, 1000]], doubled: 0, firstDoubled: [], late: 0 });
});

test('it counts which came again, and how many came late', () => {
  const values = createDistinctValues();
  for (const number of [0, 1, 5, 2, 5, 6, 1]) values.add(number);
  expect(values.counted).toMatchObject({ doubled: 2, firstDoubled: [5, 1], late: 2 });
});

function numbersIn(runs: readonly Run[]): number[] {
  return runs.flatMap(([from, to]) => Array.from({ length: to - from }, (_, index) => from + index));
}
