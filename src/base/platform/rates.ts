/** Limits how often work is done: pauses between attempts, token buckets. The caller gives the time, which may be virtual. */
import type { Millis } from '../model/log-line.ts';

export interface BackOff {
  /** `least`: the pause that the other side asked for. */
  next: (least?: Millis) => Millis;
  reset: () => void;
}

/** The limit of a pause doubles with each failure. Pauses are random, so that clients that failed together do not try again together. */
export function createBackOff(limits: { first: Millis; longest: Millis }, random: () => number): BackOff {
  let failures = 0;
  return {
    next: (least: Millis = 0): Millis => least + random() * Math.min(limits.first * 2 ** failures++, limits.longest),
    reset: (): void => void (failures = 0),
  };
}

/** Returns the wait that a Retry-After header in seconds asks for, at most ten minutes; undefined for a date or no header. */
export function retryAfterOf(header: string | undefined): Millis | undefined {
  const seconds = Number(header ?? NaN);
  return seconds >= 0 ? Math.min(seconds, 600) * 1000 : undefined;
}

export interface Cooldown<T> {
  add(one: T): void;
  has: (one: T) => boolean;
  readonly size: number;
}

/** Remembers each value for `duration` after it was last added. */
export function createCooldown<T>(duration: Millis, now: () => Millis): Cooldown<T> {
  const since = new Map<T, Millis>();
  const isRecent = (time: Millis | undefined): boolean => time !== undefined && now() - time < duration;

  return {
    add(one: T): void {
      for (const [old, time] of since) if (!isRecent(time)) since.delete(old);
      since.set(one, now());
    },
    has: (one: T): boolean => isRecent(since.get(one)),
    get size(): number {
      return since.values().filter(isRecent).toArray().length;
    },
  };
}

export interface TokenBucket {
  take(now: Millis): boolean;
  refund(): void;
  level(now: Millis): number;
  available(now: Millis): number;
  availableAt(now: Millis): Millis;
}

/** Allows `burst` actions at once and `rate` a second. `tokens`: the number of tokens at first. */
export function createTokenBucket({ rate, burst }: { rate: number; burst: number }, tokens = burst): TokenBucket {
  return new FilledBucket(rate, burst, tokens);
}

/** A class, because a replay has four buckets for each host, and its methods are shared. */
class FilledBucket implements TokenBucket {
  readonly #rate: number;
  readonly #burst: number;
  #tokens: number;
  #filled: Millis | undefined;

  constructor(rate: number, burst: number, tokens: number) {
    this.#rate = rate;
    this.#burst = burst;
    this.#tokens = tokens;
  }

  take(now: Millis): boolean {
    this.#fill(now);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  refund(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }

  level(now: Millis): number {
    this.#fill(now);
    return this.#tokens;
  }

  available(now: Millis): number {
    this.#fill(now);
    return Math.floor(this.#tokens);
  }

  availableAt(now: Millis): Millis {
    const last = this.#fill(now);
    return this.#tokens >= 1 ? now : last + Math.ceil(((1 - this.#tokens) / this.#rate) * 1000);
  }

  /** Adds the tokens earned since. An earlier time adds nothing, because lines of a log may be out of order. */
  #fill(now: Millis): Millis {
    this.#filled ??= now;
    if (now <= this.#filled) return this.#filled;
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filled) / 1000) * this.#rate);
    return (this.#filled = now);
  }
}
