import { LRUCache } from 'lru-cache';
import type { Millis } from '../../model/log-line.ts';
import { createTokenBucket } from '../../platform/token-bucket.ts';
import { OverBudget } from './pod-finder.ts';

/** `known`: asked and answered, also with "nobody". `refused`: the budget is used up, or it failed a moment ago. */
export type LookupState = 'known' | 'pending' | 'refused';

export interface LookupCounts {
  hit: number;
  miss: number;
  failed: number;
  refused: number;
  cached: number;
}

/** Finds something out about single addresses, from somewhere slow and shared, without anybody waiting in line for it. */
export interface Lookup<V> {
  /** Begins to find out unless that is known, under way, or not to be afforded. */
  ask: (address: string) => LookupState;
  /** What was last heard; also when that is old, as long as nothing newer is known. */
  get: (address: string) => V | undefined;
  /** Remembers an answer that came along with another one. */
  learn: (address: string, value: V) => void;
  readonly counts: Readonly<LookupCounts>;
}

export interface LookupOptions<V> {
  /** Undefined: nobody. May reject; must not take for ever. */
  find: (address: string) => Promise<V | undefined>;
  /** Called after an answer or a failure. */
  onSettled: (address: string) => void;
  /** Look-ups a second in the long run, and at once. */
  budget: { rate: number; burst: number };
  /** Look-ups under way at once; others wait for their turn. */
  concurrency: number;
  /** Addresses remembered. */
  entries: number;
  ages: { hit: Millis; miss: Millis; failed: Millis };
  now: () => Millis;
}

interface Answer<V> {
  value: V | undefined;
  at: Millis;
  /** How long after `at` it is believed. */
  age: Millis;
  failed: boolean;
}

export function createLookup<V>(options: LookupOptions<V>): Lookup<V> {
  const { find, onSettled, concurrency, ages, now } = options;
  const answers = new LRUCache<string, Answer<V>>({ max: options.entries });
  const bucket = createTokenBucket(options.budget);
  const pending = new Set<string>();
  const queue: string[] = [];
  const counts: LookupCounts = { hit: 0, miss: 0, failed: 0, refused: 0, cached: 0 };
  let running = 0;

  return {
    counts,
    get: (address) => answers.get(address)?.value,
    learn: (address, value) => void answers.set(address, { value, at: now(), age: ages.hit, failed: false }),
    ask(address) {
      if (pending.has(address)) return 'pending';
      const known = answers.get(address);
      const fresh = known !== undefined && isFresh(known);
      if (fresh && !known.failed) {
        counts.cached++;
        return 'known';
      }
      if (fresh || !bucket.take(now())) {
        counts.refused++;
        return 'refused';
      }
      pending.add(address);
      queue.push(address);
      next();
      return 'pending';
    },
  };

  function isFresh({ at, age }: Answer<V>): boolean {
    return now() - at < age;
  }

  /** It came along with another answer meanwhile. */
  function isKnown(address: string): boolean {
    const answer = answers.get(address);
    return answer !== undefined && isFresh(answer);
  }

  function next(): void {
    while (running < concurrency) {
      const address = queue.shift();
      if (address === undefined) return;
      running++;
      void lookUp(address);
    }
  }

  async function lookUp(address: string): Promise<void> {
    try {
      const value = await find(address);
      counts[value === undefined ? 'miss' : 'hit']++;
      // That is better than nothing.
      if (value === undefined && isKnown(address)) return;
      answers.set(address, { value, at: now(), age: value === undefined ? ages.miss : ages.hit, failed: false });
    } catch (error) {
      counts[error instanceof OverBudget ? 'refused' : 'failed']++;
      if (isKnown(address)) return;
      // An old answer is better than none.
      answers.set(address, { value: answers.get(address)?.value, at: now(), age: ages.failed, failed: true });
    } finally {
      running--;
      pending.delete(address);
      onSettled(address);
      next();
    }
  }
}
