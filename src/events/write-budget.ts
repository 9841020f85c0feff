/** Limits the Events that one node writes, in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';
import type { WriteBudgetState, WriteKind } from '../model/series.ts';
import { createTokenBucket, type TokenBucket } from '../platform/token-bucket.ts';

/** Writes at once, and a second in the long run. */
interface Rate {
  burst: number;
  rate: number;
}

export interface WriteLimits {
  /** All writes. Nothing else limits first ones, of which an object has one in an hour. */
  all: Rate;
  /** Others: more Events of an object, new counts, Pod notices. A node of a large cluster has less. */
  others: Rate;
  /** Others over an hour, except the last count of what is over. */
  hour: Rate;
}

/**
 * 390 objects have their first Event within a minute. If all 110 Pods of a node are affected all the time, it writes 110 first Events and 240
 * others an hour: 486 writes a second for 5,000 nodes.
 */
export const nodeLimits: WriteLimits = {
  all: { burst: 25, rate: 7 },
  others: { burst: 25, rate: 1 },
  hour: { burst: 120, rate: 240 / 3600 },
};

/** Others of all nodes together. First ones are spread by `spreadOf` instead: 167 a second on average for one on each of 5,000 nodes. */
const clusterLimit: Rate = { burst: 500, rate: 250 };

export type WriteBudget = ReturnType<typeof createWriteBudget>;

export interface WriteBudgetOptions {
  limits?: WriteLimits | undefined;
  nodeCount?: (() => number) | undefined;
  random?: (() => number) | undefined;
  /** `state` of an earlier run, if there is one. */
  restored?: WriteBudgetState | undefined;
  /** Time since the start of the machine, by which `state` is kept; without it no state is. */
  monotonic?: (() => Millis) | undefined;
}

export function createWriteBudget({
  limits = nodeLimits,
  nodeCount = () => 1,
  random = Math.random,
  restored,
  monotonic = () => 0,
}: WriteBudgetOptions = {}) {
  const all = createTokenBucket(limits.all);
  const began = monotonic();
  let kept: WriteBudgetState = { left: leftOf(limits.hour, restored, began), at: began };
  let revision = 0;
  const hour = createTokenBucket(limits.hour, kept.left);
  const others = createSharedBucket(limits.others, nodeCount, random);
  const buckets: Readonly<Record<WriteKind, readonly Bucket[]>> = {
    first: [all],
    rest: [all, others],
    more: [all, hour, others],
  };

  return {
    spend(now: Millis, kind: WriteKind): boolean {
      if (buckets[kind].some((bucket) => bucket.available(now) < 1)) return false;
      for (const bucket of buckets[kind]) bucket.take(now);
      if (kind === 'more') {
        kept = { left: hour.level(now), at: monotonic() };
        revision++;
      }
      return true;
    },
    /** Returns a write that was not made. */
    giveBack(kind: WriteKind): void {
      for (const bucket of buckets[kind]) bucket.giveBack();
      if (kind === 'more') kept = { ...kept, left: Math.min(limits.hour.burst, kept.left + 1) };
    },
    availableAt: (now: Millis, kind: WriteKind): Millis =>
      Math.max(...buckets[kind].map((bucket) => bucket.availableAt(now))),
    /** What is left of the hour; it is on disk before the Event is written. */
    state: (): WriteBudgetState => kept,
    get revision(): number {
      return revision;
    },
  };
}

/** The time between two runs counts by a clock that cannot be set. After a restart of the machine only its uptime is known to have passed. */
function leftOf({ burst, rate }: Rate, state: WriteBudgetState | undefined, present: Millis): number {
  if (state === undefined) return burst;
  const { left, at } = state;
  const passed = present >= at ? present - at : present;
  return Math.max(0, Math.min(burst, left + (passed / 1000) * rate));
}

type Bucket = Omit<TokenBucket, 'level'>;

/** A node's share of what all nodes may write. All may begin at once, so the first token after a pause comes at a random time. */
function createSharedBucket({ rate, burst }: Rate, nodeCount: () => number, random: () => number): Bucket {
  let nodes = 0;
  let share = { rate, burst };
  let bucket = createTokenBucket(share);
  let latest: Millis = -Infinity;
  let heldUntil: Millis | undefined;

  return {
    available: (now) => (availableAt(now) > now ? 0 : bucket.available(now)),
    availableAt,
    take(now) {
      heldUntil = undefined;
      latest = now;
      return bucket.take(now);
    },
    giveBack: () => bucket.giveBack(),
  };

  function availableAt(now: Millis): Millis {
    follow(nodeCount());
    const interval = 1000 / share.rate;
    // A waiting write takes the token when it comes.
    if (share.rate < rate && now - latest > 2 * interval) heldUntil ??= now + random() * interval;
    return Math.max(heldUntil ?? now, bucket.availableAt(now));
  }

  function follow(count: number): void {
    if (count === nodes) return;
    nodes = count;
    share = {
      rate: Math.min(rate, clusterLimit.rate / nodes),
      burst: Math.min(burst, Math.max(1, clusterLimit.burst / nodes)),
    };
    bucket = createTokenBucket(share);
  }
}
