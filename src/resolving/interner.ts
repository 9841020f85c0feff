import { LRUCache } from 'lru-cache';

/**
 * Gives the value that it was given first for a key: thousands of objects have the same few texts and lists, each in a copy of its own
 * as JSON.parse makes them. What is kept outlives the objects; it is bounded by the characters of the keys.
 */
export function createInterner<T extends {}>(): (key: string, value: T) => T {
  const known = new LRUCache<string, T>({ maxSize: 1 << 20, sizeCalculation: (_, key) => key.length || 1 });
  return (key, value) => {
    const first = known.get(key);
    if (first === undefined) known.set(key, value);
    return first ?? value;
  };
}
