import type { Millis } from '../../base/model/log-line.ts';
import { type MemoryBudget, ranks } from '../../base/platform/memory-budget.ts';
import { createHolders } from '../../base/platform/holders.ts';
import type { Bytes } from '../../base/platform/weight.ts';

export interface TombstoneLimits {
  age: Millis;
  count: number;
}

export interface TombstoneOptions<V> extends TombstoneLimits {
  memory: MemoryBudget;
  namespaceOf: (value: V) => string;
  weigh: (value: V) => Bytes;
  onForgotten?: (value: V) => void;
}

/** Removed values by key. */
export interface Tombstones<V> {
  readonly size: number;
  put: (key: string, value: V, since: Millis) => void;
  get: (key: string) => V | undefined;
  entries: () => Iterable<[string, V]>;
  sweep: (now: Millis) => void;
}

/** Keeps removed values up to `age`, because they may still be asked for. Past `count`, the Namespace that has the most loses its oldest one. */
export function createTombstones<V>(options: TombstoneOptions<V>): Tombstones<V> {
  const { age, count, memory, namespaceOf, weigh, onForgotten } = options;
  const all = new Map<string, { value: V; since: Millis }>();
  const holders = createHolders();
  const account = memory.open({ resource: 'tombstones', rank: ranks.tombstones, leaveOut: drop });
  return {
    get size(): number {
      return all.size;
    },
    put(key, value, since) {
      const namespace = namespaceOf(value);
      all.delete(key);
      holders.remove(key);
      all.set(key, { value, since });
      holders.add(key, namespace);
      account.set(key, namespace, weigh(value));
      const surplus = all.size > count ? holders.oldestOfLargest(0) : undefined;
      if (surplus !== undefined) forget(surplus);
    },
    get: (key) => all.get(key)?.value,
    *entries() {
      for (const [key, { value }] of all) yield [key, value];
    },
    sweep(now) {
      account.forgetLeftOut();
      for (const [key, { since }] of all) {
        if (since > now - age) return;
        forget(key);
      }
    },
  };

  function forget(key: string): void {
    account.delete(key);
    drop(key);
  }

  function drop(key: string): void {
    const entry = all.get(key);
    all.delete(key);
    holders.remove(key);
    if (entry !== undefined) onForgotten?.(entry.value);
  }
}
