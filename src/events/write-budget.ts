/** Limits the Events that one node writes, in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';
import type { WriteKind } from '../model/series.ts';
import type { WriteBudgetState } from '../model/state-change.ts';
import { monotonicNow } from '../platform/clock.ts';
import { createTokenBucket, type TokenBucket } from '../platform/token-bucket.ts';

/** Writes at once, and a second in the long run. */
interface Rate {
  burst: number;
  rate: number;
}

export interface WriteLimits {
  /** Limits all writes. First ones, of which an object has one in an hour, are held back by nothing else. */
  all: Rate;
  /** Limits others: more Events of an object, new counts, Pod notices. In a large cluster each node has less. */
  others: Rate;
  /** Limits others over an hour, but for the last count of what is over. */
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

/**
 * Limits the others of all nodes together, which may all have something to write at the same time: 250 a second, and 500 at once. First
 * ones, which have 25 and 7 on each node, come later by `spreadOf` where all nodes have them: 167 a second on average for one on each of 5,000 nodes.
 */
const clusterLimit: Rate = { burst: 500, rate: 250 };

export type WriteBudget = ReturnType<typeof createWriteBudget>;

export interface WriteBudgetOptions {
  limits?: WriteLimits | undefined;
  /** Nodes of the cluster, as now known; by default 1. */
  nodeCount?: (() => number) | undefined;
  /** A random number, at least 0 and less than 1. */
  random?: (() => number) | undefined;
  /** `state` of an earlier run, if there is one. */
  restored?: WriteBudgetState | undefined;
  /** Since the machine was started. */
  monotonic?: (() => Millis) | undefined;
}

export function createWriteBudget({
  limits = nodeLimits,
  nodeCount = () => 1,
  random = Math.random,
  restored,
  monotonic = monotonicNow,
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
    /** Whether there was room for one more write. */
    spend(now: Millis, kind: WriteKind): boolean {
      if (buckets[kind].some((bucket) => bucket.available(now) < 1)) return false;
      for (const bucket of buckets[kind]) bucket.take(now);
      if (kind === 'more') {
        kept = { left: hour.level(now), at: monotonic() };
        revision++;
      }
      return true;
    },
    /** No request was made. */
    giveBack(kind: WriteKind): void {
      for (const bucket of buckets[kind]) bucket.giveBack();
      if (kind === 'more') kept = { ...kept, left: Math.min(limits.hour.burst, kept.left + 1) };
    },
    /** The time at which `spend` will succeed. */
    availableAt: (now: Millis, kind: WriteKind): Millis =>
      Math.max(...buckets[kind].map((bucket) => bucket.availableAt(now))),
    /** The rest of the hour's budget, which has to be on disk before the Event is written. */
    state: (): WriteBudgetState => kept,
    /** Changes whenever more of the hour was taken. */
    get revision(): number {
      return revision;
    },
  };
}

/**
 * The time between two runs counts by a clock that cannot be set. After a restart of the machine, as much of it counts as is known to have
 * passed: never more than in truth.
 */
function leftOf({ burst, rate }: Rate, state: WriteBudgetState | undefined, present: Millis): number {
  if (state === undefined) return burst;
  const { left, at } = state;
  const passed = present >= at ? present - at : present;
  return Math.max(0, Math.min(burst, left + (passed / 1000) * rate));
}

type Bucket = Omit<TokenBucket, 'level'>;

/** A node's share of what all nodes may write together. The first token after a pause comes at a random time: all nodes may begin at once. */
function createSharedBucket({ rate, burst }: Rate, nodeCount: () => number, random: () => number): Bucket {
  let nodes = 0;
  let share = { rate, burst };
  let bucket = createTokenBucket(share);
  let latest: Millis = -Infinity;
  /** Holds back the first token after a pause. */
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
    // A write that waits for a token takes it when it comes.
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
