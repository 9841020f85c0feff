import { LRUCache } from 'lru-cache';
import type { Millis } from '../../model/log-line.ts';
import { createTombstones, type TombstoneLimits } from '../tombstones.ts';
import { chainHash } from './chain-name.ts';

/** Objects of one kind, found by the hashes of texts that follow from each. */
export interface HashedObjects<T, V> {
  readonly objects: ReadonlyMap<string, T>;
  /** `after` undefined: it is gone. */
  replace: (key: string, after: T | undefined, now: Millis) => void;
  /** That hash is asked for soon: one pass is enough for several. */
  expect: (hash: string) => void;
  /** What was hashed stands for; it may be gone. */
  find: (hash: string) => V | undefined;
  /** What a text stood for that is gone. */
  past: (text: string) => V | undefined;
  sweep: (now: Millis) => void;
  readonly tombstones: number;
}

/** Hashes that are looked for together: incidents name 16 chains each at most. */
const asked = 256;

/** No index of the hashes is kept, as few are ever asked for: a pass over all texts finds those asked for lately at once. */
export function createHashedObjects<T, V>(
  textsOf: (object: T) => Iterable<readonly [text: string, value: V]>,
  limits: TombstoneLimits,
): HashedObjects<T, V> {
  const objects = new Map<string, T>();
  const past = createTombstones<string, V>(limits);
  const found = new LRUCache<string, { value: V | undefined }>({ max: asked });
  let isStale = false;

  return {
    objects,
    expect,
    past: past.get,
    get tombstones() {
      return past.size;
    },
    replace(key, after, now) {
      const before = objects.get(key);
      if (after === undefined) objects.delete(key);
      else objects.set(key, after);
      isStale = true;
      if (before === undefined) return;
      const gone = new Map(textsOf(before));
      if (after !== undefined) for (const [text] of textsOf(after)) gone.delete(text);
      for (const [text, value] of gone) past.put(text, value, now);
    },
    find(hash) {
      expect(hash);
      if (isStale) findAll();
      return found.get(hash)?.value;
    },
    sweep(now) {
      past.sweep(now);
      isStale = true;
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

  function* texts(): Iterable<readonly [string, V]> {
    for (const object of objects.values()) yield* textsOf(object);
    yield* past.entries();
  }
}
