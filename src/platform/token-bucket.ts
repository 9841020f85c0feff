/** A token bucket in the caller's time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';

export interface TokenBucket {
  take: (now: Millis) => boolean;
  /** What was taken was not used. */
  giveBack: () => void;
  /** How many times `take` would succeed now. */
  available: (now: Millis) => number;
  /** When the next token will be there. */
  availableAt: (now: Millis) => Millis;
}

/** Lets through `burst` at once and `rate` a second after that. */
export function createTokenBucket({ rate, burst }: { rate: number; burst: number }): TokenBucket {
  let tokens = burst;
  let filled: Millis = -Infinity;
  return {
    take(now) {
      fill(now);
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    giveBack: () => void (tokens = Math.min(burst, tokens + 1)),
    available(now) {
      fill(now);
      return Math.floor(tokens);
    },
    availableAt(now) {
      fill(now);
      return tokens >= 1 ? now : filled + Math.ceil(((1 - tokens) / rate) * 1000);
    },
  };

  /** Lines of a log are a little out of order: an earlier time adds nothing. */
  function fill(now: Millis): void {
    if (now <= filled) return;
    tokens = Math.min(burst, tokens + ((now - filled) / 1000) * rate);
    filled = now;
  }
}
