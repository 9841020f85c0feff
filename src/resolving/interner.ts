import { LRUCache } from 'lru-cache';

/** Gives the first value of a key, because JSON.parse makes a copy of each text. Bounded by the characters of the keys. */
export function createInterner<T extends {}>(): (key: string, value: T) => T {
  const known = new LRUCache<string, T>({ maxSize: 1 << 20, sizeCalculation: (_, key) => key.length || 1 });
  return (key, value) => {
    const first = known.get(key);
    if (first === undefined) known.set(key, value);
    return first ?? value;
  };
}
