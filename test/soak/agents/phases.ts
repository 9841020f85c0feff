import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../../src/base/model/log-line.ts';

/**
 * How long everything lasts, depending on the length of the whole run. A run of a minute has less of each kind, but no
 * fewer kinds.
 */
export interface Lengths {
  /** How long one pair of Pods has drops. With more pairs in an hour, a node would exceed what it may write in it. */
  readonly busy: Millis;
  /** How long a fault of the API server lasts, and the time without a fault after it. */
  readonly fault: Millis;
  /** The shortest and the longest time between two kills of an agent. */
  readonly kill: readonly [Millis, Millis];
  /** The time between two rotations of a log. */
  readonly rotation: Millis;
  /** The time between two episodes of failures of kube-proxy and calico-node. */
  readonly episode: Millis;
  /** The time between two looks at memory. */
  readonly sample: Millis;
}

export function lengthsFor(minutes: number): Lengths {
  const scaled = (full: Millis, least: Millis): Millis => Math.max(least, Math.min(full, (full * minutes) / 10));
  return {
    busy: Math.max(15_000, Math.min(300_000, minutes * 15_000)),
    fault: scaled(30_000, 6000),
    kill: [scaled(10_000, 4000), scaled(40_000, 10_000)],
    rotation: scaled(15_000, 3000),
    episode: scaled(180_000, 30_000),
    sample: scaled(30_000, 4000),
  };
}

export type Run = ReturnType<typeof createRun>;

/** The time during which things happen to the agents. At its end, waiting tasks are woken. */
export function createRun() {
  const ending = new AbortController();
  return {
    get isOver(): boolean {
      return ending.signal.aborted;
    },
    /** Resolves after this time or at the end, whichever comes first. */
    wait: (duration: Millis): Promise<void> => delay(duration, undefined, { signal: ending.signal }).catch(() => {}),
    end: () => ending.abort(),
  };
}
