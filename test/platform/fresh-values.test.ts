import { expect, test } from 'vitest';
import { createFreshValues, type FreshValuesOptions } from '../../src/platform/fresh-values.ts';

type Value = { text: string };

function setUp(given: Partial<FreshValuesOptions<Value>> = {}) {
  const readings: { key: string; done: (text: string) => void; failed: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  const scene = { now: 1000 };
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
    maxSize: 10,
    sizeOf: ({ text }) => text.length,
    now: () => scene.now,
    ...given,
  });
  return { values, readings, errors, scene };
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

test('one that failed is read again after a while, and what was read before stays', async () => {
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

test('without budget nothing is read, and there is no wait', async () => {
  const { values, readings } = setUp({ mayRead: () => false });
  await values.refresh('a', 1000, 'shop');
  expect(readings).toEqual([]);
});

test('sizes together stay within the limit, and one that is larger is not kept', async () => {
  const { values, readings } = setUp();
  for (const [index, text] of ['1234', '56789', 'abcd', 'x'.repeat(11)].entries()) {
    const reading = values.refresh(String(index), 1000, 'shop');
    readings[index]?.done(text);
    await reading;
  }
  expect(['0', '1', '2', '3'].map((key) => values.get(key)?.value.text)).toStrictEqual([
    undefined,
    '56789',
    'abcd',
    undefined,
  ]);
  expect(values.size).toBe(9);
});
