import type { ConntrackHigh } from '../model/observation.ts';
import type { Millis } from '../model/log-line.ts';
import type { ConnectionTracking } from '../incidents/facts.ts';

/** From there on it is an incident. The kernel makes room from 95 % on, by dropping flows without answers. */
export const highShare = 0.9;
/** Below it is no longer high: a table that stays around one share is one incident. */
const lowShare = 0.8;
/** Two files of /proc, a few bytes each. */
const lookEvery: Millis = 30_000;

export interface ConntrackLevelOptions {
  proc: Pick<ConnectionTracking, 'conntrack'>;
  /** That it was high when the last run ended. */
  wasHigh: boolean;
  take: (observation: ConntrackHigh, time: Millis) => void;
  now: () => Millis;
}

export type ConntrackLevel = ReturnType<typeof createConntrackLevel>;

/** Looks how full the host's connection tracking table is. In a Pod whose /proc is not the host's, the limit can be read at most, so there is no incident. */
export function createConntrackLevel({ proc, wasHigh, take, now }: ConntrackLevelOptions) {
  let isHigh = wasHigh;
  let nextLook: Millis = -Infinity;
  let level: { count: number; max: number } | undefined;

  return {
    /** As it was at the last look; undefined: it cannot be read. */
    get level() {
      return level;
    },
    /** Called every few seconds. Resolves when it has looked; never rejects. */
    async look(): Promise<void> {
      if (now() < nextLook) return;
      nextLook = now() + lookEvery;
      const table = await proc.conntrack(undefined);
      const { count, max } = table ?? {};
      level = count === undefined || max === undefined || max === 0 ? undefined : { count, max };
      if (level === undefined) return;
      isHigh = level.count >= (isHigh ? lowShare : highShare) * level.max;
      if (isHigh) take({ kind: 'conntrack-high', ...level }, now());
    },
  };
}
