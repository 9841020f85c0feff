/** Shares the time for connections that failed, because a Pod chooses their number and their targets. */
import type { Millis } from '../../base/model/log-line.ts';
import { processorTime, steadyNow } from '../../base/platform/clock.ts';
import { createTimeShare } from '../../base/platform/shares.ts';
import type { HeldFlow } from './held-flows.ts';
import type { Lookups } from './lookup-queue.ts';

/** Verdicts have a share of their own. On a slow node, each piece takes long, but the first one of each Pod may always begin. */
const share = { part: 0.05, atOnce: 2000 };

export interface PodShare {
  /** Returns whether there is time left for the Pod of this flow. */
  readonly mayWork: (flow: Pick<HeldFlow, 'pod'>) => boolean;
  readonly inShare: <T>(flow: Pick<HeldFlow, 'pod'>, work: () => T) => T;
  /** The processor time of this thread. */
  readonly worked: () => Millis;
}

export function createPodShare({
  now = steadyNow,
  worked = processorTime,
}: Partial<Pick<Lookups, 'now' | 'worked'>> = {}): PodShare {
  const time = createTimeShare(share);
  return {
    worked,
    mayWork: ({ pod }) => time.mayBegin(pod, now()),
    inShare({ pod }, work) {
      const [start, before] = [now(), worked()];
      const result = work();
      time.ended(pod, start, start + worked() - before);
      return result;
    },
  };
}
