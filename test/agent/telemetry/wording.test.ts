/** The wording of the log and the servers. The other tests assert levels, keys, fields and counts only. */
import { expect, test } from 'vitest';
import { createRateLimitedLog } from '../../../src/agent/telemetry/logger.ts';
import { fakeLog } from './fake-log.ts';

test('more problems than have keys of their own', () => {
  const { log, entries } = fakeLog();
  const { report } = createRateLimitedLog(log, { now: () => 0 });
  for (let number = 0; number < 257; number++) report('warn', `key ${number}`, {}, 'a problem');
  expect(entries.at(-1)?.text).toBe('More than 256 different problems; the rest is only counted');
});
