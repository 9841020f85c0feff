/** Shares the time for verdicts by Namespace: an Event waits for the policies of its own Pod, and never for slow policies of a peer. */
import type { Millis } from '../../base/model/log-line.ts';
import { createTimeShare } from '../../base/platform/shares.ts';

/** Does work whose length depends on the policies of a Namespace; undefined if that Namespace has no time left. */
export type InShareOf = <T>(namespace: string | undefined, work: () => T) => T | undefined;

/** Evaluates for an Event or a row of the Namespace `asker`; undefined if `asker` has no time left. */
export type VerdictTime = <T>(asker: string, evaluate: (inShareOf: InShareOf) => T | undefined) => T | undefined;

/** Enough for a thousand verdicts at once if a hundred policies select each Pod. */
const atOnce: Millis = 200;

/**
 * The asker pays this much for a peer's policies, so that many questions cost the peer nothing; a thousand policies take less. The peer
 * pays for longer evaluations.
 */
const usual: Millis = 1;

export interface Clocks {
  /** A steady clock. */
  readonly now: () => Millis;
  /** The processor time that this thread has taken. On a busy node, a Namespace does not pay for the time that the thread waits for a processor. */
  readonly worked: () => Millis;
}

export const systemClocks: Clocks = {
  now: () => performance.now(),
  worked: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

export function createVerdictTime(part: number, { now, worked }: Clocks): VerdictTime {
  const ofAskers = createTimeShare({ part, atOnce });
  /** Separate, so that packets to a Pod never use up the time for that Pod's own Events, whatever its policies. */
  const ofPeers = createTimeShare({ part: part / 2, atOnce: atOnce / 2 });

  return (asker, evaluate) => {
    const began = now();
    if (!ofAskers.mayBegin(asker, began)) return undefined;
    const before = worked();
    let paidByPeers: Millis = 0;
    try {
      return evaluate((namespace = asker, work) => {
        if (namespace === asker) return work();
        const start = now();
        if (!ofPeers.mayBegin(namespace, start)) return undefined;
        const beforeIt = worked();
        try {
          return work();
        } finally {
          const beyond = Math.max(0, worked() - beforeIt - usual);
          ofPeers.ended(namespace, start, start + beyond);
          paidByPeers += beyond;
        }
      });
    } finally {
      ofAskers.ended(asker, began, began + worked() - before - paidByPeers);
    }
  };
}
