import type { Millis } from '../model/log-line.ts';

export interface TombstoneLimits {
  age: Millis;
  count: number;
}

/** Keeps removed values up to `age`, because they may still be asked for. */
export function createTombstones<K, V>({ age, count }: TombstoneLimits, onForgotten?: (key: K) => void) {
  const all = new Map<K, { value: V; since: Millis }>();
  return {
    get size(): number {
      return all.size;
    },
    put(key: K, value: V, since: Millis): void {
      all.delete(key);
      all.set(key, { value, since });
      const [oldest] = all.size > count ? all.keys() : [];
      if (oldest !== undefined) forget(oldest);
    },
    get: (key: K): V | undefined => all.get(key)?.value,
    *entries(): Iterable<[K, V]> {
      for (const [key, { value }] of all) yield [key, value];
    },
    sweep: (now: Millis): void => {
      for (const [key, { since }] of all) {
        if (since > now - age) return;
        forget(key);
      }
    },
  };

  function forget(key: K): void {
    all.delete(key);
    onForgotten?.(key);
  }
}
