import type { Millis } from '../model/log-line.ts';

export type BackOff = ReturnType<typeof createBackOff>;

/**
 * Pauses of random length between attempts, up to a limit that doubles with each failure, so that those who failed together do not try again
 * together.
 */
export function createBackOff(limits: { first: Millis; longest: Millis }, random: () => number) {
  let failures = 0;
  return {
    /** The pause after a failure; the other side asked for `least`. */
    next: (least: Millis = 0): Millis => least + random() * Math.min(limits.first * 2 ** failures++, limits.longest),
    reset: (): void => void (failures = 0),
  };
}

/** Remembers for a while what was added to it. */
export function createCooldown<T>(duration: Millis, now: () => Millis) {
  const since = new Map<T, Millis>();
  const isRecent = (time: Millis | undefined): boolean => time !== undefined && now() - time < duration;

  return {
    add(one: T): void {
      for (const [old, time] of since) if (!isRecent(time)) since.delete(old);
      since.set(one, now());
    },
    has: (one: T): boolean => isRecent(since.get(one)),
    get size(): number {
      return since.size;
    },
  };
}
