import type { Millis } from '../../model/log-line.ts';

export interface TombstoneLimits {
  age: Millis;
  /** Past that the oldest go first. */
  count: number;
}

/** What is gone, but may still be asked for. */
export interface Tombstones<T> {
  put: (key: string, value: T, now: Millis) => void;
  get: (key: string) => T | undefined;
  entries: () => Iterable<[key: string, value: T]>;
  /** Forgets what is too old. */
  sweep: (now: Millis) => void;
  readonly size: number;
}

export function createTombstones<T>({ age, count }: TombstoneLimits): Tombstones<T> {
  /** Oldest first. */
  const all = new Map<string, { value: T; since: Millis }>();
  return {
    get size() {
      return all.size;
    },
    put(key, value, since) {
      all.delete(key);
      all.set(key, { value, since });
      const [oldest] = all.size > count ? all.keys() : [];
      if (oldest !== undefined) all.delete(oldest);
    },
    get: (key) => all.get(key)?.value,
    *entries() {
      for (const [key, { value }] of all) yield [key, value];
    },
    sweep(now) {
      for (const [key, { since }] of all) {
        if (since > now - age) return;
        all.delete(key);
      }
    },
  };
}
