import type { Millis } from '../model/log-line.ts';

export type TimeShare = ReturnType<typeof createTimeShare>;

/** Lets pieces of work take `part` of the time, between 0 and 1, and `atOnce` of it after a rest. The last piece may take longer. */
export function createTimeShare({ part, atOnce }: { part: number; atOnce: Millis }) {
  /** When all that was taken will have been earned. */
  let earnedAt: Millis = -Infinity;
  return {
    mayBegin: (now: Millis): boolean => (earnedAt - now) * part < atOnce,
    /** A piece of work lasted from `began` until now. */
    ended(began: Millis, now: Millis): void {
      earnedAt = Math.max(earnedAt, began) + (now - began) / part;
    },
  };
}
