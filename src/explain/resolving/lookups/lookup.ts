import { LRUCache } from 'lru-cache';
import type { LookupWay } from '../../../base/model/choices.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import { type MemoryBudget, ranks } from '../../../base/platform/memory-budget.ts';
import type { Bytes } from '../../../base/platform/weight.ts';
import { createFairQueue } from '../../../base/platform/fair-queue.ts';
import { createSharedBucket, type SharedBudget } from '../../../base/platform/shares.ts';
import type { Pod } from '../objects.ts';

/** `known`: there is an answer, perhaps "nobody". `refused`: there is no budget, or the look-up failed a moment ago. */
export type LookupState = 'known' | 'pending' | 'refused';

export interface LookupCounts {
  hit: number;
  miss: number;
  failed: number;
  refused: number;
  cached: number;
}

export interface LookupOptions<V> {
  /** Resolves to undefined if the address has no owner. May reject, but must settle. `asker`: the Namespace for which it is looked up. */
  find: (address: string, asker: string) => Promise<V | undefined>;
  onSettled: (address: string) => void;
  /** How many look-ups may begin in a second on average, and how many in a burst. Namespaces share it (`createSharedBucket`). */
  budget: SharedBudget;
  /** How many look-ups run at the same time, and how many of one Namespace, because it may choose addresses whose answers are slow. */
  concurrency: { all: number; each: number };
  entries: number;
  ages: { hit: Millis; miss: Millis; failed: Millis };
  now: () => Millis;
  /** Weighs answers, which strangers can make large, in the share of a Namespace. */
  weighed?:
    | { memory: MemoryBudget; weigh: (value: V) => Bytes; namespaceOf: (value: V, address: string) => string }
    | undefined;
}

interface LookupRequest {
  address: string;
  asker: string;
}

interface Answer<V> {
  value: V | undefined;
  failed: boolean;
}

export interface Lookup<V> {
  counts: Readonly<LookupCounts>;
  /** Returns the last answer, even an old one. */
  get: (address: string) => V | undefined;
  /** Returns whether there is a valid answer, perhaps "nobody". */
  readonly isKnown: (address: string) => boolean;
  /** Remembers an answer that came with another one. */
  learn: (address: string, value: V) => void;
  /** `asker`: the Namespace whose share of the budget it takes. */
  ask(address: string, asker: string): LookupState;
}

/** Asks a slow, shared service about single addresses. Callers never wait for an answer. */
export function createLookup<V>(options: LookupOptions<V>): Lookup<V> {
  const { find, onSettled, concurrency, ages, now } = options;
  const answers = createAnswers(options);
  const bucket = createSharedBucket(options.budget);
  const pending = new Set<string>();
  const queue = createFairQueue<LookupRequest>();
  /** How many look-ups of each asker run. */
  const runningOf = new Map<string, number>();
  const counts: LookupCounts = { hit: 0, miss: 0, failed: 0, refused: 0, cached: 0 };
  let running = 0;

  return {
    counts: counts,
    get: (address: string): V | undefined => answers.get(address)?.value,
    isKnown: (address) => isFresh(address) && answers.get(address)?.failed === false,
    learn: (address: string, value: V): void => answers.set(address, { value, failed: false }, ages.hit),
    ask(address: string, asker: string): LookupState {
      if (pending.has(address)) return 'pending';
      const known = answers.get(address);
      const isKnown = isFresh(address);
      if (isKnown && known?.failed === false) {
        counts.cached++;
        return 'known';
      }
      if (isKnown || !bucket.take(asker, now())) {
        counts.refused++;
        return 'refused';
      }
      pending.add(address);
      queue.add(asker, { address, asker });
      next();
      return 'pending';
    },
  };

  function isFresh(address: string): boolean {
    return answers.isFresh(address);
  }

  function next(): void {
    while (running < concurrency.all) {
      const asked = queue.take((asker) => (runningOf.get(asker) ?? 0) < concurrency.each);
      if (asked === undefined) return;
      count(asked.asker, 1);
      void lookUp(asked);
    }
  }

  function count(asker: string, more: 1 | -1): void {
    running += more;
    const own = (runningOf.get(asker) ?? 0) + more;
    if (own === 0) runningOf.delete(asker);
    else runningOf.set(asker, own);
  }

  async function lookUp({ address, asker }: LookupRequest): Promise<void> {
    try {
      const value = await find(address, asker);
      counts[value === undefined ? 'miss' : 'hit']++;
      // Keep answers that `learn` got meanwhile.
      if (value === undefined && isFresh(address)) return;
      answers.set(address, { value, failed: false }, value === undefined ? ages.miss : ages.hit);
    } catch (error) {
      counts[error instanceof OverBudget ? 'refused' : 'failed']++;
      if (isFresh(address)) return;
      answers.set(address, { value: answers.get(address)?.value, failed: true }, ages.failed);
    } finally {
      count(asker, -1);
      pending.delete(address);
      onSettled(address);
      next();
    }
  }
}

interface Answers<V> {
  /** Returns an old answer, too. */
  get: (address: string) => Answer<V> | undefined;
  set: (address: string, answer: Answer<V>, age: Millis) => void;
  isFresh: (address: string) => boolean;
}

function createAnswers<V>({ entries, ages, now, weighed }: LookupOptions<V>): Answers<V> {
  const account = weighed?.memory.open({
    resource: 'lookups',
    rank: ranks.answers,
    leaveOut: (address) => answers.delete(address),
  });
  const answers = new LRUCache<string, Answer<V>>({
    max: entries,
    allowStale: true,
    noDeleteOnStaleGet: true,
    ttlResolution: 0,
    perf: { now },
    dispose(_, address, reason) {
      if (reason !== 'set') account?.delete(address);
    },
  });
  return {
    get: (address) => answers.get(address),
    isFresh: (address) => answers.getRemainingTTL(address) > 0,
    set(address, answer, age) {
      if (isKept(address, answer.value)) answers.set(address, answer, { ttl: age });
      else answers.set(address, { value: undefined, failed: true }, { ttl: ages.failed });
    },
  };

  function isKept(address: string, value: V | undefined): boolean {
    if (weighed === undefined) return true;
    if (value !== undefined)
      return account?.set(address, weighed.namespaceOf(value, address), weighed.weigh(value)) === true;
    account?.delete(address);
    return true;
  }
}

export interface Owners {
  /** Pods with this address, including those on the host's network, and other Pods from the same answer. */
  pods: readonly Pod[];
  /** The node that has the address itself, if the answer names it. */
  node?: string | undefined;
}

export interface PodFinder {
  readonly way: LookupWay;
  /**
   * Resolves to undefined if this way does not know such addresses, and to no Pods and no node if the address has no owner. Rejects if
   * there is no answer, and with `OverBudget` if no request was sent. `asker`: the Namespace whose share of a budget it takes.
   */
  find: (address: string, asker: string) => Promise<Owners | undefined>;
  /** Returns whether this way works in this cluster. Never rejects. A way without this function is checked by `doctor` itself. */
  look?: () => Promise<FinderState>;
}

export interface FinderState {
  usable: boolean;
  why: string;
}

export class OverBudget extends Error {}

export type WayResult = 'hit' | 'miss' | 'failed' | 'refused';

export interface FinderChain {
  readonly counts: ReadonlyMap<LookupWay, Record<WayResult, number>>;
  /** Rejects if no way has answered and one has failed. */
  find: (address: string, asker: string) => Promise<Owners>;
}

/** Asks the ways in order. `onEnd`: called with the error if a way has failed, and with undefined if it has answered. */
export function createFinderChain(
  finders: readonly PodFinder[],
  onEnd: (way: LookupWay, error: unknown) => void,
): FinderChain {
  const counts: ReadonlyMap<LookupWay, Record<WayResult, number>> = new Map(
    finders.map(({ way }) => [way, { hit: 0, miss: 0, failed: 0, refused: 0 }]),
  );

  return { counts, find };

  async function find(address: string, asker: string): Promise<Owners> {
    let failure: unknown;
    for (const finder of finders) {
      try {
        const owners = await finder.find(address, asker);
        if (owners === undefined) continue;
        count(finder.way, owners.pods.length > 0 || owners.node !== undefined ? 'hit' : 'miss');
        onEnd(finder.way, undefined);
        return owners;
      } catch (error) {
        const refused = error instanceof OverBudget;
        count(finder.way, refused ? 'refused' : 'failed');
        if (!refused) onEnd(finder.way, error);
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    return { pods: [] };
  }

  function count(way: LookupWay, result: WayResult): void {
    const own = counts.get(way);
    if (own !== undefined) own[result]++;
  }
}
