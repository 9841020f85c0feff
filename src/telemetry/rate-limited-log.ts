import type { Millis } from '../model/log-line.ts';
import type { Fields, Log } from './logger.ts';

/** Says once an hour what may go wrong a thousand times a second. Remembers 256 keys; what is past that has one key. */
export interface RateLimitedLog {
  /**
   * Logs when `key` is new or was last logged an hour ago, then with `repeated`: how many were not logged since. All others
   * are counted.
   */
  complain: (level: 'error' | 'warn' | 'info', key: string, fields: Fields, text: string) => void;
  /** It is well again: says so if there was a complaint, and forgets it. */
  settled: (key: string, text?: string) => void;
  /** Complaints by key that were not logged, since the last call. */
  takeCounts: () => Record<string, number>;
}

interface ParseProblem {
  logged: Millis;
  /** Not logged since. */
  repeated: number;
  /** Of these, those that `takeCounts` has not told. */
  unpublished: number;
  total: number;
}

const pause: Millis = 3_600_000;
const limit = 256;
const others = 'other complaints';

export function createRateLimitedLog(log: Log, { now }: { now: () => Millis }): RateLimitedLog {
  /** In the order in which they were logged. */
  const known = new Map<string, ParseProblem>();

  return {
    complain,
    settled(key, text = `${key}: well again`) {
      const complaint = known.get(key);
      if (complaint === undefined) return;
      known.delete(key);
      log.info({ complaints: complaint.total }, text);
    },
    takeCounts() {
      const counts: Record<string, number> = {};
      for (const [key, complaint] of known) {
        if (complaint.unpublished > 0) counts[key] = complaint.unpublished;
        complaint.unpublished = 0;
      }
      return counts;
    },
  };

  function complain(level: 'error' | 'warn' | 'info', key: string, fields: Fields, text: string): void {
    const complaint = known.get(key);
    if (complaint === undefined && key !== others && isFull()) {
      complain('warn', others, { example: key }, `More than ${limit} different complaints; the rest is only counted`);
      return;
    }
    if (complaint !== undefined && !isOver(complaint)) {
      complaint.repeated++;
      complaint.unpublished++;
      complaint.total++;
      return;
    }
    known.delete(key);
    known.set(key, {
      logged: now(),
      repeated: 0,
      unpublished: complaint?.unpublished ?? 0,
      total: (complaint?.total ?? 0) + 1,
    });
    log[level](complaint === undefined ? fields : { ...fields, repeated: complaint.repeated }, text);
  }

  /** Room is made by the one logged longest ago, if its next complaint would be logged anyway. */
  function isFull(): boolean {
    if (known.size < limit + (known.has(others) ? 1 : 0)) return false;
    for (const [key, complaint] of known) {
      if (key === others) continue;
      if (!isOver(complaint)) return true;
      known.delete(key);
      return false;
    }
    return true;
  }

  /** Also when the clock was set back by more than that: silence must not last longer than the pause. */
  function isOver({ logged }: ParseProblem): boolean {
    return Math.abs(now() - logged) >= pause;
  }
}
