/** How many Events one node writes, in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';
import { createTokenBucket } from '../platform/token-bucket.ts';

/** Writes at once, and a second in the long run. */
interface Rate {
  burst: number;
  rate: number;
}

export interface WriteLimits {
  /** Of all writes. First ones, of which an object has one in an hour, are held back by nothing else. */
  all: Rate;
  /** Of others: more Events of an object, new counts, Pod notices. */
  others: Rate;
  /** Of others again, over an hour. */
  hour: Rate;
}

/**
 * 5,000 agents share an API server. 390 objects have their first Event within a minute. A node of 110 Pods that are all affected
 * all the time writes 110 first Events and 240 others an hour: 486 writes a second for 5,000 such nodes.
 */
export const nodeLimits: WriteLimits = {
  all: { burst: 25, rate: 7 },
  others: { burst: 25, rate: 1 },
  hour: { burst: 120, rate: 240 / 3600 },
};

export type WriteBudget = ReturnType<typeof createWriteBudget>;

export function createWriteBudget(limits: WriteLimits = nodeLimits) {
  const all = createTokenBucket(limits.all);
  const others = [all, createTokenBucket(limits.others), createTokenBucket(limits.hour)];
  const bucketsFor = (isFirst: boolean): typeof others => (isFirst ? [all] : others);

  return {
    take(now: Millis, isFirst: boolean): boolean {
      const buckets = bucketsFor(isFirst);
      if (buckets.some((bucket) => bucket.available(now) < 1)) return false;
      for (const bucket of buckets) bucket.take(now);
      return true;
    },
    /** No request was made. */
    giveBack(isFirst: boolean): void {
      for (const bucket of bucketsFor(isFirst)) bucket.giveBack();
    },
    /** When `take` will succeed. */
    availableAt: (now: Millis, isFirst: boolean): Millis =>
      Math.max(...bucketsFor(isFirst).map((bucket) => bucket.availableAt(now))),
  };
}
