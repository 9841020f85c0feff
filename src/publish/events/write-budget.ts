/** Limits the Events that one node writes, in the caller's time, which may be virtual. */
import type { Millis } from '../../base/model/log-line.ts';
import type { WriteBudgetState, WriteKind } from '../../base/model/series.ts';
import { createTokenBucket, type TokenBucket } from '../../base/platform/rates.ts';

/** `burst` writes at once, and `rate` a second in the long run. */
interface Rate {
  burst: number;
  rate: number;
}

export interface WriteLimits {
  /** The limit of all writes. First writes have no other limit, because an object has only one first write in an hour. */
  all: Rate;
  /** The limit of other writes: more Events of an object, new counts, Pod notices. It is lower on a node of a large cluster. */
  others: Rate;
  /** The limit of other writes over an hour, except the last count of a flow that is over. */
  hour: Rate;
}

/**
 * These limits let 390 objects have their first Event within a minute. If all 110 Pods of a node are affected all the time, it writes 110
 * first Events and 240 others an hour. For 5,000 nodes that is 486 writes a second.
 */
export const nodeLimits: WriteLimits = {
  all: { burst: 25, rate: 7 },
  others: { burst: 25, rate: 1 },
  hour: { burst: 120, rate: 240 / 3600 },
};

/** All nodes share this for other writes. `spreadOf` spreads first writes: one on each of 5,000 nodes makes 167 a second on average. */
const clusterLimit: Rate = { burst: 500, rate: 250 };

export interface WriteBudget {
  spend(now: Millis, kind: WriteKind): boolean;
  refund(kind: WriteKind): void;
  availableAt: (now: Millis, kind: WriteKind) => Millis;
  /** Returns the rest of the hour's limit. Save it to disk before the Event is written. */
  state: () => WriteBudgetState;
  readonly revision: number;
}

export interface WriteBudgetOptions {
  limits?: WriteLimits | undefined;
  nodeCount?: (() => number) | undefined;
  random?: (() => number) | undefined;
  /** The `state` of an earlier run. Default: the hour's limit is unused. */
  restored?: WriteBudgetState | undefined;
  /** Returns the time since the machine started, which `state` contains. Without this, no token is earned between two runs. */
  monotonic?: (() => Millis) | undefined;
}

export function createWriteBudget({
  limits = nodeLimits,
  nodeCount = () => 1,
  random = Math.random,
  restored,
  monotonic = () => 0,
}: WriteBudgetOptions = {}): WriteBudget {
  const all = createTokenBucket(limits.all);
  const began = monotonic();
  let kept: WriteBudgetState = { left: leftOf(limits.hour, restored, began), at: began };
  let revision = 0;
  const hour = createTokenBucket(limits.hour, kept.left);
  const others = createSharedBucket(limits.others, nodeCount, random);
  const buckets: Readonly<Record<WriteKind, readonly Bucket[]>> = {
    first: [all],
    final: [all, others],
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
    refund(kind: WriteKind): void {
      for (const bucket of buckets[kind]) bucket.refund();
      if (kind === 'more') kept = { ...kept, left: Math.min(limits.hour.burst, kept.left + 1) };
    },
    availableAt: (now: Millis, kind: WriteKind): Millis =>
      Math.max(...buckets[kind].map((bucket) => bucket.availableAt(now))),
    state: (): WriteBudgetState => kept,
    get revision(): number {
      return revision;
    },
  };
}

/** `present` is from a clock that nobody can set. After a restart of the machine, only its uptime has certainly passed. */
function leftOf({ burst, rate }: Rate, state: WriteBudgetState | undefined, present: Millis): number {
  if (state === undefined) return burst;
  const { left, at } = state;
  const passed = present >= at ? present - at : present;
  return Math.max(0, Math.min(burst, left + (passed / 1000) * rate));
}

type Bucket = Omit<TokenBucket, 'level'>;

/** Limits a node to its share. All nodes may begin at once, so after a pause the first token comes at a random time. */
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
    refund: () => bucket.refund(),
  };

  function availableAt(now: Millis): Millis {
    follow(nodeCount(), now);
    const interval = 1000 / share.rate;
    // After a long pause no write can have waited, because a waiting write takes each token at once.
    if (share.rate < rate && now - latest > 2 * interval) heldUntil ??= now + random() * interval;
    return Math.max(heldUntil ?? now, bucket.availableAt(now));
  }

  function follow(count: number, now: Millis): void {
    if (count === nodes) return;
    nodes = count;
    share = {
      rate: Math.min(rate, clusterLimit.rate / nodes),
      burst: Math.min(burst, Math.max(1, clusterLimit.burst / nodes)),
    };
    // A changed number of nodes must not give each node a new burst.
    bucket = createTokenBucket(share, Math.min(share.burst, bucket.level(now)));
  }
}
