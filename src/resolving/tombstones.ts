import type { Millis } from '../model/log-line.ts';

export interface TombstoneLimits {
  age: Millis;
  /** Past that the oldest go first. */
  count: number;
}

/** What is gone, but may still be asked for. */
export interface Tombstones<K, V> {
  put: (key: K, value: V, now: Millis) => void;
  get: (key: K) => V | undefined;
  entries: () => Iterable<[K, V]>;
  /** Forgets what is too old. */
  sweep: (now: Millis) => void;
  readonly size: number;
}

export function createTombstones<K, V>(
  { age, count }: TombstoneLimits,
  onForgotten?: (key: K) => void,
): Tombstones<K, V> {
  /** Oldest first. */
  const all = new Map<K, { value: V; since: Millis }>();
  return {
    get size() {
      return all.size;
    },
    put(key, value, since) {
      all.delete(key);
      all.set(key, { value, since });
      const [oldest] = all.size > count ? all.keys() : [];
      if (oldest !== undefined) forget(oldest);
    },
    get: (key) => all.get(key)?.value,
    *entries() {
      for (const [key, { value }] of all) yield [key, value];
    },
    sweep(now) {
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
