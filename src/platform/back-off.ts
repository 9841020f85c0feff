import type { Millis } from '../model/log-line.ts';

/** Pauses between attempts at what fails. */
export interface BackOff {
  /** The pause after one more failure, `least` at least, which the other side asked for. */
  next: (least?: Millis) => Millis;
  /** An attempt did not fail. */
  reset: () => void;
}

/** Each pause has a random length, up to a limit that doubles with each failure: who failed together must not try again together. */
export function createBackOff(limits: { first: Millis; longest: Millis }, random: () => number): BackOff {
  let failures = 0;
  return {
    next: (least = 0) => least + random() * Math.min(limits.first * 2 ** failures++, limits.longest),
    reset: () => void (failures = 0),
  };
}

export interface Cooldown<T> {
  add: (one: T) => void;
  has: (one: T) => boolean;
  readonly size: number;
}

export function createCooldown<T>(duration: Millis, now: () => Millis): Cooldown<T> {
  const since = new Map<T, Millis>();
  const isRecent = (time: Millis | undefined): boolean => time !== undefined && now() - time < duration;

  return {
    add(one) {
      for (const [old, time] of since) if (!isRecent(time)) since.delete(old);
      since.set(one, now());
    },
    has: (one) => isRecent(since.get(one)),
    get size() {
      return since.size;
    },
  };
}
