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
