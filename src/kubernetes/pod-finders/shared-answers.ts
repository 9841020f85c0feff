import { LRUCache } from 'lru-cache';
import type { Millis } from '../../model/log-line.ts';

/** Answers by key, shared by all who ask for the same at the same time, and for a while after. */
export interface SharedAnswers<T> {
  /** At most `maxAge` old; `isNew`: asked for by this call, or under way already. */
  get: (key: string, maxAge: Millis) => Promise<{ value: T; isNew: boolean }>;
}

/** `ask` may reject: then whoever asks next asks again. */
export function createSharedAnswers<T>(
  ask: (key: string) => Promise<T>,
  { entries, now }: { entries: number; now: () => Millis },
): SharedAnswers<T> {
  const answers = new LRUCache<string, { promise: Promise<T>; settled: Millis | undefined }>({ max: entries });

  return {
    async get(key, maxAge) {
      const known = answers.get(key);
      const isFresh = known?.settled !== undefined && now() - known.settled < maxAge;
      if (known !== undefined && (isFresh || known.settled === undefined))
        return { value: await known.promise, isNew: !isFresh };
      const answer = { promise: ask(key), settled: undefined as Millis | undefined };
      answers.set(key, answer);
      try {
        const value = await answer.promise;
        answer.settled = now();
        return { value, isNew: true };
      } catch (error) {
        if (answers.get(key) === answer) answers.delete(key);
        throw error;
      }
    },
  };
}
