/** Limits how often things are done: pauses between attempts, and rates by token buckets, in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';

export type BackOff = ReturnType<typeof createBackOff>;

/**
 * Chooses random pauses between attempts. Their limit doubles with each failure. Being random, they keep clients that failed together from
 * trying again together.
 */
export function createBackOff(limits: { first: Millis; longest: Millis }, random: () => number) {
  let failures = 0;
  return {
    /** Returns the pause after a failure. `least`: the pause that the other side asked for. */
    next: (least: Millis = 0): Millis => least + random() * Math.min(limits.first * 2 ** failures++, limits.longest),
    reset: (): void => void (failures = 0),
  };
}

/** Reads the header Retry-After, which has seconds. The wait is limited to ten minutes. */
export function retryAfterOf(header: string | undefined): Millis | undefined {
  const seconds = Number(header ?? NaN);
  return seconds >= 0 ? Math.min(seconds, 600) * 1000 : undefined;
}

/** Remembers values for a while. */
export function createCooldown<T>(duration: Millis, now: () => Millis) {
  const since = new Map<T, Millis>();
  const isRecent = (time: Millis | undefined): boolean => time !== undefined && now() - time < duration;

  return {
    add(one: T): void {
      for (const [old, time] of since) if (!isRecent(time)) since.delete(old);
      since.set(one, now());
    },
    has: (one: T): boolean => isRecent(since.get(one)),
  };
}

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
