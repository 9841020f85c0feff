import { expect, test } from 'vitest';
import { pauseAfter } from '../../../src/commands/top/top.ts';

test.each([
  ['a quick look', 'the interval', 20, 2000],
  ['a look at many agents', 'four times what it took', 3000, 12_000],
])('after %s the pause is %s', (_look, _pause, took, pause) => {
  expect(pauseAfter(took, 2000)).toBe(pause);
});
