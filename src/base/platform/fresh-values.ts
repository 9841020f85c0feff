import { LRUCache } from 'lru-cache';
import type { Millis } from '../model/log-line.ts';
import { type MemoryBudget, ranks } from './memory-budget.ts';
import type { Bytes } from './weight.ts';

export interface FreshValue<T> {
  readonly value: T;
  readonly at: Millis;
}

export interface FreshValuesOptions<T extends object> {
  /** Reads a value. May reject, but must settle. `before`: the value that it replaces. */
  readonly read: (key: string, before: T | undefined) => Promise<T>;
  /** Returns false if reading would cost too much now. `asker`: the Namespace whose budget it takes. */
  readonly mayRead: (asker: string) => boolean;
  readonly onFailed: (error: unknown) => void;
  /** The pause before a key is read again after a failure. */
  readonly failedFor: Millis;
  readonly max: number;
  readonly memory: MemoryBudget;
  /** The name of the values in the budget of memory. */
  readonly resource: string;
  readonly weigh: (value: T) => Bytes;
  /** The Namespace whose share of the memory a value takes. */
  readonly namespaceOf: (key: string) => string;
  readonly now: () => Millis;
}

export interface FreshValues<T extends object> {
  get: (key: string) => FreshValue<T> | undefined;
  /** Resolves when a value read after `since` is there, or cannot be read. Never rejects. */
  refresh(key: string, since: Millis, asker: string): Promise<void>;
}

/** Keeps values by key, and reads them again when a newer one is needed. */
export function createFreshValues<T extends object>(options: FreshValuesOptions<T>): FreshValues<T> {
  const { read, mayRead, onFailed, failedFor, max, memory, resource, weigh, namespaceOf, now } = options;
  const account = memory.open({ resource, rank: ranks.answers, leaveOut: (key) => values.delete(key) });
  const values = new LRUCache<string, FreshValue<T>>({
    max,
    dispose(_, key, reason) {
      if (reason !== 'set') account.delete(key);
    },
  });
  const failed = new LRUCache<string, Millis>({ max });
  const running = new Map<string, Promise<void>>();

  return {
    get: (key: string): FreshValue<T> | undefined => values.get(key),
    async refresh(key: string, since: Millis, asker: string): Promise<void> {
      if ((values.get(key)?.at ?? -Infinity) >= since) return;
      const isCooling = now() - (failed.get(key) ?? -Infinity) < failedFor;
      if (!running.has(key) && (isCooling || !mayRead(asker))) return;
      const reading = running.get(key) ?? begin(key);
      running.set(key, reading);
      await reading;
    },
  };

  async function begin(key: string): Promise<void> {
    const at = now();
    try {
      const value = await read(key, values.peek(key)?.value);
      const isKept = account.set(key, namespaceOf(key), weigh(value));
      if (isKept) values.set(key, { value, at });
      // It is left out now; there may be room later.
      if (isKept) failed.delete(key);
      else failed.set(key, now());
    } catch (error) {
      failed.set(key, now());
      onFailed(error);
    } finally {
      running.delete(key);
    }
  }
}

export interface SharedAnswersOptions<T> {
  readonly entries: number;
  readonly now: () => Millis;
  /** The memory of an answer. By default it counts as small. */
  readonly weigh?: (value: T) => Bytes;
}

/** The memory for the answers of one kind. A larger answer is used once. */
const mostShared: Bytes = 4 * 1024 * 1024;

export interface SharedAnswers<T> {
  /** Returns a value that is at most `maxAge` old. `isNew`: it was read after this call. */
  get(key: string, maxAge: Millis): Promise<{ value: T; isNew: boolean }>;
}

/** Keeps answers by key, so that everyone who asks at about the same time shares one. `ask` may reject; then the next caller asks again. */
export function createSharedAnswers<T>(
  ask: (key: string) => Promise<T>,
  { entries, now, weigh = () => 1 }: SharedAnswersOptions<T>,
): SharedAnswers<T> {
  const answers = new LRUCache<string, { promise: Promise<T>; settled: Millis | undefined }>({
    max: entries,
    maxSize: mostShared,
  });

  return {
    async get(key: string, maxAge: Millis): Promise<{ value: T; isNew: boolean }> {
      const known = answers.get(key);
      const isFresh = known?.settled !== undefined && now() - known.settled < maxAge;
      if (known !== undefined && (isFresh || known.settled === undefined))
        return { value: await known.promise, isNew: !isFresh };
      const answer = { promise: ask(key), settled: undefined };
      answers.set(key, answer, { size: 1 });
      try {
        const value = await answer.promise;
        if (answers.peek(key) === answer)
          answers.set(key, { ...answer, settled: now() }, { size: Math.max(1, weigh(value)) });
        return { value, isNew: true };
      } catch (error) {
        if (answers.get(key) === answer) answers.delete(key);
        throw error;
      }
    },
  };
}
