import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../../src/base/model/log-line.ts';

/** How long everything lasts, from the length of the whole run: a run of a minute has less of each, and no less kinds. */
export interface Lengths {
  /** Drops of one pair of Pods. In an hour, Events of more Pods than these are more than a node may write in it. */
  readonly busy: Millis;
  /** One fault of the API server, and the time without any after it. */
  readonly fault: Millis;
  /** Between two kills of one agent, at least and at most. */
  readonly kill: readonly [Millis, Millis];
  /** Between two rotations of a log. */
  readonly rotation: Millis;
  /** Between two episodes of failures of kube-proxy and calico-node. */
  readonly episode: Millis;
  /** Between two looks at memory. */
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

/** The time in which things are done to the agents. Waiting tasks are woken at its end. */
export function createRun() {
  const ending = new AbortController();
  return {
    get isOver(): boolean {
      return ending.signal.aborted;
    },
    /** Resolves after this time or at the end, whichever is first. */
    wait: (duration: Millis): Promise<void> => delay(duration, undefined, { signal: ending.signal }).catch(() => {}),
    end: () => ending.abort(),
  };
}
