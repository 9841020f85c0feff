import type { Millis } from '../model/log-line.ts';
import type { Fields, Log } from './logger.ts';

export type RateLimitedLog = ReturnType<typeof createRateLimitedLog>;

interface Problem {
  logged: Millis;
  /** The number that was not logged since. */
  repeated: number;
  /** Repeats that `takeCounts` has not returned yet. */
  uncounted: number;
  total: number;
}

const pause: Millis = 3_600_000;
const limit = 256;
const others = 'other problems';

/** Logs once an hour what may go wrong a thousand times a second. Remembers 256 keys; what is past that has one key. */
export function createRateLimitedLog(log: Log, { now }: { now: () => Millis }) {
  /** Problems in the order in which they were logged. */
  const known = new Map<string, Problem>();

  return {
    report,
    /** The problem is over: logs so if it was reported, and forgets it. Returns whether it was. */
    resolve(this: void, key: string, text = `${key}: well again`): boolean {
      const problem = known.get(key);
      if (problem === undefined) return false;
      known.delete(key);
      log.info({ problem: key, reports: problem.total }, text);
      return true;
    },
    /** Reports by key that were not logged, since the last call. */
    takeCounts(this: void): Record<string, number> {
      const counts: Record<string, number> = {};
      for (const [key, problem] of known) {
        if (problem.uncounted > 0) counts[key] = problem.uncounted;
        problem.uncounted = 0;
      }
      return counts;
    },
  };

  /** Logs when `key` is new or was last logged an hour ago, then with `repeated`: how many were only counted since. */
  function report(level: 'error' | 'warn' | 'info', key: string, fields: Fields, text: string): void {
    const problem = known.get(key);
    if (problem === undefined && key !== others && isFull())
      return report(
        'warn',
        others,
        { example: key },
        `More than ${limit} different problems; the rest is only counted`,
      );
    if (problem !== undefined && !isOver(problem)) {
      problem.repeated++;
      problem.uncounted++;
      problem.total++;
      return;
    }
    known.delete(key);
    const { uncounted = 0, total = 0 } = problem ?? {};
    known.set(key, { logged: now(), repeated: 0, uncounted, total: total + 1 });
    log[level]({ problem: key, ...fields, ...(problem && { repeated: problem.repeated }) }, text);
  }

  /** Makes room by forgetting the problem that was logged longest ago, if its next report would be logged anyway. */
  function isFull(): boolean {
    if (known.size < limit + (known.has(others) ? 1 : 0)) return false;
    for (const [key, problem] of known) {
      if (key === others) continue;
      return !(isOver(problem) && known.delete(key));
    }
    return true;
  }

  function isOver({ logged }: Problem): boolean {
    return now() - logged >= pause;
  }
}
