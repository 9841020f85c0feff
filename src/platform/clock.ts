import type { Millis } from '../model/log-line.ts';

/**
 * Milliseconds since the epoch by the wall clock as it was when this process began, plus what the monotonic clock has counted
 * since: a corrected wall clock does not move it. For intervals, budgets, ages and order within one run.
 */
export function steadyNow(): Millis {
  return performance.timeOrigin + performance.now();
}
