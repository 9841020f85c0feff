import { expect, test } from 'vitest';
import { createMemoryBudget } from '../../../src/base/platform/memory-budget.ts';
import {
  createFreshValues,
  createSharedAnswers,
  type FreshValuesOptions,
} from '../../../src/base/platform/fresh-values.ts';

type Value = { text: string };

function setUp(given: Partial<FreshValuesOptions<Value>> = {}) {
  const readings: { key: string; done: (text: string) => void; failed: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  const scene = { now: 1000 };
  const memory = createMemoryBudget({ total: 700, isPreferred: () => false });
  const values = createFreshValues<Value>({
    read: async (key) => {
      const { promise, resolve, reject } = Promise.withResolvers<Value>();
      readings.push({ key, done: (text) => resolve({ text }), failed: reject });
      return await promise;
    },
    mayRead: () => true,
    onFailed: (error) => errors.push(error),
    failedFor: 100,
    max: 10,
    memory,
    resource: 'texts',
    weigh: ({ text }) => text.length,
    namespaceOf: (key) => key,
    now: () => scene.now,
    ...given,
  });
  return { values, readings, errors, scene, memory };
}

test('a value that was read after the time is not read again', async () => {
  const { values, readings, scene } = setUp();
  const first = values.refresh('a', 900, 'shop');
  readings[0]?.done('one');
  await first;
  expect(values.get('a')).toStrictEqual({ value: { text: 'one' }, at: 1000 });
  await values.refresh('a', 1000, 'shop');
  expect(readings).toHaveLength(1);
  scene.now = 1001;
  const second = values.refresh('a', 1001, 'shop');
  expect(readings).toHaveLength(2);
  readings[1]?.done('two');
  await second;
  expect(values.get('a')).toStrictEqual({ value: { text: 'two' }, at: 1001 });
});

test('calls during a reading share it', async () => {
  const { values, readings } = setUp();
  const both = Promise.all([values.refresh('a', 1000, 'shop'), values.refresh('a', 1000, 'shop')]);
  expect(readings).toHaveLength(1);
  readings[0]?.done('one');
  await both;
  expect(values.get('a')?.value.text).toBe('one');
});

test('after a failed reading, the old value stays and is read again after a while', async () => {
  const { values, readings, errors, scene } = setUp();
  const first = values.refresh('a', 1000, 'shop');
  readings[0]?.done('one');
  await first;
  scene.now = 2000;
  const second = values.refresh('a', 2000, 'shop');
  readings[1]?.failed(new Error('away'));
  await second;
  expect(errors).toHaveLength(1);
  await values.refresh('a', 2000, 'shop');
  expect(readings).toHaveLength(2);
  expect(values.get('a')?.value.text).toBe('one');
  scene.now = 2100;
  const third = values.refresh('a', 2000, 'shop');
  expect(readings).toHaveLength(3);
  readings[2]?.done('two');
  await third;
  expect(values.get('a')?.value.text).toBe('two');
});

test('without budget, nothing is read and nobody waits', async () => {
  const { values, readings } = setUp({ mayRead: () => false });
  await values.refresh('a', 1000, 'shop');
  expect(readings).toEqual([]);
});

test('all values together stay within the memory, and a larger value is not kept', async () => {
  const { values, readings, memory } = setUp();
  const lengths = [150, 100, 100, 501];
  for (const [index, length] of lengths.entries()) {
    const reading = values.refresh(String(index), 1000, 'shop');
    readings[index]?.done('x'.repeat(length));
    await reading;
  }
  expect(lengths.map((_, index) => values.get(String(index))?.value.text.length)).toStrictEqual([
    undefined,
    100,
    100,
    undefined,
  ]);
  expect(memory.bytes).toBe(600);
});

test('a value for which memory has no room is read again after a while, and the old value is not used', async () => {
  const { values, readings, scene } = setUp();
  const refresh = async (length: number): Promise<void> => {
    const reading = values.refresh('a', scene.now, 'shop');
    readings.at(-1)?.done('x'.repeat(length));
    await reading;
  };
  await refresh(10);
  scene.now += 50;
  await refresh(600);
  expect(values.get('a')).toBeUndefined();
  await refresh(10);
  expect(readings).toHaveLength(2);
  scene.now += 100;
  await refresh(10);
  expect(values.get('a')?.value.text).toHaveLength(10);
});

test('values that are displaced by newer ones free their memory', async () => {
  const { values, readings, memory } = setUp({ max: 2 });
  for (const [index, key] of ['a', 'b', 'c'].entries()) {
    const reading = values.refresh(key, 1000, 'shop');
    readings[index]?.done('x');
    await reading;
  }
  expect(values.get('a')).toBeUndefined();
  expect(memory.bytes).toBe(402);
});

test('shared answers take at most 4 MiB, and a larger one is used once', async () => {
  let asked = 0;
  const answers = createSharedAnswers(
    (key) => {
      asked++;
      return Promise.resolve('x'.repeat(Number(key)));
    },
    { entries: 100, now: () => 1000, weigh: (text) => text.length },
  );
  const mebibyte = 2 ** 20;
  for (let index = 0; index < 5; index++) await answers.get(String(mebibyte - index), 1);
  // The first value was evicted to make room for the fifth.
  await answers.get(String(mebibyte - 4), 1);
  expect(asked).toBe(5);
  await answers.get(String(mebibyte), 1);
  expect(asked).toBe(6);
  for (let index = 0; index < 2; index++)
    expect((await answers.get(String(5 * mebibyte), 1)).value).toHaveLength(5 * mebibyte);
  expect(asked).toBe(8);
});
