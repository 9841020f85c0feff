import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addTo, differences, lengthOf, type Run } from './distinct-values.ts';
import { forAll } from '../for-all.ts';

const end = 30;

test('runs of lines agree with a count of each number', () => {
  forAll([fc.array(fc.nat(end - 1), { maxLength: 60 })], {}, (numbers) => {
    const runs: Run[] = [];
    for (const number of numbers) addTo(runs, number);
    const { missing, doubled } = differences(runs, end);
    const times = Array.from({ length: end }, (_, number) => numbers.filter((each) => each === number).length);
    expect(numbersIn(missing)).toEqual(times.flatMap((count, number) => (count === 0 ? [number] : [])));
    expect(numbersIn(doubled)).toEqual(times.flatMap((count, number) => Array(Math.max(0, count - 1)).fill(number)));
    expect(lengthOf(runs)).toBe(numbers.length);
  });
});

test('lines in order are one run', () => {
  const runs: Run[] = [];
  for (let number = 0; number < 1000; number++) addTo(runs, number);
  expect(runs).toEqual([[0, 1000]]);
});

function numbersIn(runs: readonly Run[]): number[] {
  return runs
    .flatMap(([from, to]) => Array.from({ length: to - from }, (_, index) => from + index))
    .toSorted((a, b) => a - b);
}
