import { isMainThread } from 'node:worker_threads';
import { TestRunner } from 'vitest';

/** Root may read everything, so it does this as another user. Skips the test in a thread, as where mutants are tried: it cannot change its user. */
export function asUnprivileged<T>(task: () => T): T {
  if (process.geteuid?.() !== 0) return task();
  if (!isMainThread) TestRunner.getCurrentTest()?.context.skip('a thread cannot change its user');
  process.seteuid?.(65_534);
  try {
    return task();
  } finally {
    process.seteuid?.(0);
  }
}
