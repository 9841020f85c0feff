import { LRUCache } from 'lru-cache';
import { chainHash } from './chain-name.ts';

/** Finds what a hash was made of. */
export interface HashFinder<T> {
  find: (hash: string) => T | undefined;
  /** That hash is asked for soon: one pass is enough for several. */
  expect: (hash: string) => void;
  /** The texts are others now. */
  changed: () => void;
}

/** Hashes that are looked for together: incidents name 16 chains each at most. */
const asked = 256;

/**
 * No index of the hashes is kept, as few are ever asked for: a pass over all texts finds those asked for lately at once. The first
 * text with a hash counts.
 */
export function createHashFinder<T>(texts: () => Iterable<readonly [text: string, value: T]>): HashFinder<T> {
  const found = new LRUCache<string, { value: T | undefined }>({ max: asked });
  let isStale = false;

  return {
    changed: () => void (isStale = true),
    expect,
    find(hash) {
      expect(hash);
      if (isStale) findAll();
      return found.get(hash)?.value;
    },
  };

  function expect(hash: string): void {
    if (found.has(hash)) return;
    found.set(hash, { value: undefined });
    isStale = true;
  }

  function findAll(): void {
    for (const answer of found.values()) answer.value = undefined;
    for (const [text, value] of texts()) {
      const answer = found.peek(chainHash(text));
      if (answer !== undefined) answer.value ??= value;
    }
    isStale = false;
  }
}
