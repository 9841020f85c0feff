import { expect, test } from 'vitest';
import { createInterner } from '../../src/resolving/objects.ts';

test('the first value of a key is given for all later ones', () => {
  const intern = createInterner<{ of: number }>();
  const [first, second, third] = [1, 2, 3].map((of) => ({ of }));
  expect([first, second, third].map((value) => value && intern('key', value))).toEqual([first, first, first]);
  expect(intern('key', { of: 4 })).toBe(first);
  expect(intern('', { of: 5 })).toEqual({ of: 5 });
});
