/** Limits rates by token buckets in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';

export type TokenBucket = ReturnType<typeof createTokenBucket>;

/** Allows `burst` at once and `rate` a second. `tokens`: how many there are at first; by default `burst`. */
export function createTokenBucket({ rate, burst }: { rate: number; burst: number }, tokens = burst) {
  let filled: Millis | undefined;
  return {
    take(now: Millis): boolean {
      fill(now);
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    giveBack: (): void => void (tokens = Math.min(burst, tokens + 1)),
    level(now: Millis): number {
      fill(now);
      return tokens;
    },
    available(now: Millis): number {
      fill(now);
      return Math.floor(tokens);
    },
    availableAt(now: Millis): Millis {
      const last = fill(now);
      return tokens >= 1 ? now : last + Math.ceil(((1 - tokens) / rate) * 1000);
    },
  };

  /** Adds the tokens earned since. An earlier time adds nothing, because lines of a log may be out of order. */
  function fill(now: Millis): Millis {
    filled ??= now;
    if (now <= filled) return filled;
    tokens = Math.min(burst, tokens + ((now - filled) / 1000) * rate);
    return (filled = now);
  }
}

/** Allows work to take `part` of the time (between 0 and 1), and `atOnce` after a rest. The last piece of work may take longer. */
export function createTimeShare({ part, atOnce }: { part: number; atOnce: Millis }) {
  /** When all tokens that were taken will be earned again. */
  let earnedAt: Millis = -Infinity;
  return {
    mayBegin: (now: Millis): boolean => (earnedAt - now) * part < atOnce,
    ended(began: Millis, now: Millis): void {
      earnedAt = Math.max(earnedAt, began) + (now - began) / part;
    },
  };
}
