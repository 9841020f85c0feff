/** Finds values by hashes of their texts. An index would take memory, and few hashes are ever asked for. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Millis } from '../../../base/model/log-line.ts';
import { createTombstones, type TombstoneOptions } from '../tombstones.ts';
import { chainHash } from './chain-name.ts';

/** An incident names at most 16 chains. */
const mostAsked = 256;

/** Hashing this many texts takes two milliseconds. Tenants may have hundreds of thousands of endpoints. */
const textsOfTurn = 1024;

interface Answer<V> {
  value: V | undefined;
  /** The object that has the value; undefined if a deleted object had it. */
  key: string | undefined;
}

type TextsOf<T, V> = (object: T, except?: T) => Iterable<readonly [text: string, value: V]>;

export interface HashedObjects<T, V> {
  objects: ReadonlyMap<string, T>;
  readonly past: (key: string) => V | undefined;
  replace(key: string, after: T | undefined, now: Millis): void;
  readonly leaveOut: (key: string) => void;
  /** Finds the values of hashes, so that `found` has them. Other work has its turns in between. */
  find(hashes: readonly string[]): Promise<void>;
  findNow(hashes: readonly string[]): void;
  readonly found: (hash: string) => V | undefined;
  sweep(now: Millis): void;
}

/** `textsOf`: returns only texts that `except` lacks, without making the others, because a slice may have half a million. */
export function createHashedObjects<T, V>(textsOf: TextsOf<T, V>, limits: TombstoneOptions<V>): HashedObjects<T, V> {
  const objects = new Map<string, T>();
  const past = createTombstones<V>(limits);
  const answers = createAnswers(objects, past.entries, textsOf);

  return {
    objects: objects,
    past: past.get,
    replace(key: string, after: T | undefined, now: Millis): void {
      const before = objects.get(key);
      if (after === undefined) objects.delete(key);
      else objects.set(key, after);
      answers.changed(key);
      if (before === undefined) return;
      let room = limits.count;
      for (const [text, value] of textsOf(before, after)) {
        if (room-- <= 0) return;
        past.put(text, value, now);
      }
    },
    leaveOut(this: void, key: string): void {
      if (objects.delete(key)) answers.changed(key);
    },
    async find(hashes: readonly string[]): Promise<void> {
      let count = 0;
      for (const _ of answers.read(hashes)) if (++count % textsOfTurn === 0) await nextTurn();
    },
    findNow(hashes: readonly string[]): void {
      for (const _ of answers.read(hashes));
    },
    found: answers.found,
    sweep(now: Millis): void {
      past.sweep(now);
      answers.changed(undefined);
    },
  };
}

function createAnswers<T, V>(
  objects: ReadonlyMap<string, T>,
  past: () => Iterable<readonly [text: string, value: V]>,
  textsOf: TextsOf<T, V>,
) {
  const answers = new LRUCache<string, Answer<V>>({ max: mostAsked });
  /** The objects whose texts were not hashed since the last change of the object or of the wanted hashes. */
  const unread = new Set<string>();
  let isPastUnread = false;

  return {
    found: (hash: string): V | undefined => answers.get(hash)?.value,
    /** `key`: the object that changed; undefined if only deleted ones did. */
    changed(key: string | undefined): void {
      isPastUnread = true;
      if (key === undefined) return;
      unread.add(key);
      for (const answer of answers.values()) if (answer.key === key) answer.key = undefined;
    },
    /** Yields after each text. Only objects that have changed are hashed again, unless one of them no longer has its value. */
    *read(hashes: readonly string[]): Generator<void> {
      for (const hash of hashes) expect(hash);
      if (answers.size === 0 || (unread.size === 0 && !isPastUnread)) return;
      const unsure = [...answers.values()].filter(({ key, value }) => key === undefined && value !== undefined);
      const keys = [...unread];
      unread.clear();
      isPastUnread = false;
      yield* readObjects(keys);
      for (const answer of unsure) if (answer.key === undefined) answer.value = undefined;
      for (const [text, value] of past()) {
        const answer = answers.peek(chainHash(text));
        if (answer?.value === undefined) setAnswer(answer, value, undefined);
        yield;
      }
      if (unsure.some(({ value }) => value === undefined)) yield* readObjects([...objects.keys()]);
    },
  };

  function expect(hash: string): void {
    if (answers.get(hash) !== undefined) return;
    answers.set(hash, { value: undefined, key: undefined });
    for (const key of objects.keys()) unread.add(key);
    isPastUnread = true;
  }

  function* readObjects(keys: readonly string[]): Generator<void> {
    for (const key of keys) {
      const object = objects.get(key);
      if (object === undefined) continue;
      for (const [text, value] of textsOf(object)) {
        const answer = answers.peek(chainHash(text));
        if (answer?.key === undefined && objects.get(key) === object) setAnswer(answer, value, key);
        yield;
      }
    }
  }
}

function setAnswer<V>(answer: Answer<V> | undefined, value: V, key: string | undefined): void {
  if (answer !== undefined) Object.assign(answer, { value, key });
}
