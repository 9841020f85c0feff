import type { Millis } from '../model/log-line.ts';

/** What nothing is tried for until some time has passed since it was added. */
export interface Cooldown<T> {
  add: (one: T) => void;
  has: (one: T) => boolean;
  readonly size: number;
}

export function createCooldown<T>(duration: Millis, now: () => Millis): Cooldown<T> {
  const since = new Map<T, Millis>();

  return {
    add(one) {
      forgetOld();
      since.set(one, now());
    },
    has: (one) => isYoung(since.get(one)),
    get size() {
      forgetOld();
      return since.size;
    },
  };

  function forgetOld(): void {
    for (const [one, time] of since) if (!isYoung(time)) since.delete(one);
  }

  /** What is ahead was added before the clock was set back, so nobody knows how long ago. */
  function isYoung(time: Millis | undefined): boolean {
    return time !== undefined && time <= now() && now() - time < duration;
  }
}
