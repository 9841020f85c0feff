import { expect, test } from 'vitest';
import { answersOf } from '../../../src/commands/doctor/check.ts';
import { runChecks } from '../../../src/commands/doctor/run-checks.ts';

test('all run at once, and results come in order', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const checks = await runChecks({
    tasks: [
      { name: 'first', run: () => promise.then(() => answersOf('first').ok('')) },
      {
        name: 'second',
        run: () => Promise.resolve([answersOf('second').ok(''), answersOf('third').ok('')]).finally(resolve),
      },
    ],
    timeout: 5000,
    schedule: () => () => {},
  });
  expect(checks.map(({ name }) => name)).toEqual(['first', 'second', 'third']);
});

test.each([
  ['rejects', () => Promise.reject(new Error('no luck'))],
  [
    'throws',
    () => {
      throw new Error('no luck');
    },
  ],
])('a check that %s is unknown', async (_, run) => {
  const checks = await runChecks({ tasks: [{ name: 'a', run }], timeout: 5000, schedule: () => () => {} });
  expect(checks).toMatchObject([{ name: 'a', status: 'unknown', finding: 'the check itself failed: no luck' }]);
});

test('a check that takes too long is unknown, and the others are not kept', async () => {
  const timers = new Set<() => void>();
  const checks = runChecks({
    tasks: [
      { name: 'slow', run: () => new Promise(() => {}) },
      { name: 'quick', run: () => Promise.resolve(answersOf('quick').ok('')) },
    ],
    timeout: 5000,
    schedule(task, delay) {
      expect(delay).toBe(5000);
      timers.add(task);
      return () => void timers.delete(task);
    },
  });
  // The quick one has called its timer off by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(timers.size).toBe(1);
  for (const timer of timers) timer();
  await expect(checks).resolves.toMatchObject([
    { name: 'slow', status: 'unknown', finding: 'no result within 5 s' },
    { name: 'quick', status: 'ok' },
  ]);
});
