/** The wording of the log and the servers. The other tests assert levels, keys, fields and counts only. */
import { expect, test } from 'vitest';
import { createRateLimitedLog } from '../../src/telemetry/logger.ts';
import { fakeLog } from './fake-log.ts';

test('more problems than have keys of their own, and one that is over', () => {
  const { log, entries } = fakeLog();
  const { report, resolve } = createRateLimitedLog(log, { now: () => 0 });
  for (let number = 0; number < 257; number++) report('warn', `key ${number}`, {}, 'a problem');
  resolve('key 1');
  expect(entries.slice(-2).map(({ text }) => text)).toEqual([
    'More than 256 different problems; the rest is only counted',
    'key 1: well again',
  ]);
});
