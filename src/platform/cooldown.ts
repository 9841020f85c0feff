/** What is not tried again until some time has passed since it was added. */
import type { Millis } from '../model/log-line.ts';

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
