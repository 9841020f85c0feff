import { expect, test } from 'vitest';
import { weightOf } from '../../../src/base/platform/weight.ts';
import { heapInUse } from '../../heap.ts';

/** Bytes of heap that each of `count` values takes. The first run only compiles the code. */
async function measured(count: number, make: (number: number) => unknown): Promise<number> {
  await heapOf(count, make);
  return Math.min(await heapOf(count, make), await heapOf(count, make));
}

async function heapOf(count: number, make: (number: number) => unknown): Promise<number> {
  const values = Array.from({ length: count }, (): unknown => 0);
  const before = await heapInUse();
  for (let number = 0; number < count; number++) values[number] = make(number);
  const after = await heapInUse();
  expect(values).toHaveLength(count);
  return (after - before) / count;
}

const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test.each<[what: string, make: (number: number) => unknown]>([
  ['a short text', (number) => copy(String(number).padStart(20, 'x'))],
  ['a long text', (number) => copy(String(number).padStart(400, 'x'))],
  ['a text of two bytes a character', (number) => copy(String(number).padStart(200, '日'))],
  ['whole numbers', (number) => copy([1, 2, 3, 4, 5, 6, 7, 8, number])],
  ['texts', (number) => copy(times(10, (index) => `abcdefgh${number}-${index}`))],
  ['objects of one shape', (number) => copy(times(10, (index) => ({ name: `name-${number}-${index}`, port: 80 })))],
  ['empty objects', () => copy(times(50, () => ({})))],
  ['empty lists', () => copy(times(50, () => []))],
  ['lists in lists', () => copy(times(10, () => times(10, () => [1, 2])))],
  ['a map', (number) => new Map(times(40, (index) => [`key-${number}-${index}`, index]))],
  ['a set', (number) => new Set(times(40, (index) => `key-${number}-${index}`))],
])('estimates the memory of plain data: %s', async (_, make) => {
  const ratio = weightOf(make(0)) / (await measured(2000, make));
  expect(ratio).toBeGreaterThan(0.8);
  expect(ratio).toBeLessThan(2);
});

test.each([1, 3, 40, 400])('%i labels with different keys weigh about their memory', async (count) => {
  const make = (number: number): unknown =>
    copy(Object.fromEntries(times(count, (index) => [`key-${number}-${index}`, `value-${number}`])));
  const ratio = weightOf(make(0), { freeKeys: true }) / (await measured(Math.ceil(4000 / count), make));
  expect(ratio).toBeGreaterThan(0.7);
  expect(ratio).toBeLessThan(2);
});

test('a value nested half a million times has a weight', () => {
  const deep: unknown = JSON.parse('['.repeat(500_000) + ']'.repeat(500_000));
  expect(weightOf(deep)).toBeGreaterThan(500_000 * 32);
});
