import { LRUCache } from 'lru-cache';
import type { Millis } from '../../model/log-line.ts';
import { createTombstones, type TombstoneLimits } from '../tombstones.ts';
import { chainHash } from './chain-name.ts';

/** Hashes that are looked for together: incidents name 16 chains each at most. */
const asked = 256;

/** Objects found by hashes of texts. No index of these is kept, as few are ever asked for: a pass over all texts finds those asked for lately at once. */
export function createHashedObjects<T, V>(
  textsOf: (object: T) => Iterable<readonly [text: string, value: V]>,
  limits: TombstoneLimits,
) {
  const objects = new Map<string, T>();
  const past = createTombstones<string, V>(limits);
  const found = new LRUCache<string, { value: V | undefined }>({ max: asked });
  let isStale = false;

  return {
    objects: objects as ReadonlyMap<string, T>,
    expect,
    /** What a text stood for that is gone. */
    past: past.get,
    get tombstones(): number {
      return past.size;
    },
    /** `after` undefined: it is gone. */
    replace(key: string, after: T | undefined, now: Millis): void {
      const before = objects.get(key);
      if (after === undefined) objects.delete(key);
      else objects.set(key, after);
      isStale = true;
      if (before === undefined) return;
      const gone = new Map(textsOf(before));
      if (after !== undefined) for (const [text] of textsOf(after)) gone.delete(text);
      for (const [text, value] of gone) past.put(text, value, now);
    },
    /** What was hashed stands for; it may be gone. */
    find(hash: string): V | undefined {
      expect(hash);
      if (isStale) findAll();
      return found.get(hash)?.value;
    },
    sweep(now: Millis): void {
      past.sweep(now);
      isStale = true;
    },
  };

  /** That hash is asked for soon: one pass is enough for several. */
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
