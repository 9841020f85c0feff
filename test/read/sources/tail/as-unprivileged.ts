import { isMainThread } from 'node:worker_threads';
import { TestRunner } from 'vitest';

/**
 * Runs the task as another user, because root may read everything. Skips the test in a thread, which cannot change its
 * user; mutants are tried in threads.
 */
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
