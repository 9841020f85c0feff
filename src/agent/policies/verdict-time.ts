/** Shares the time for verdicts by Namespace: an Event waits for the policies of its own Pod, and never for a peer's that take long. */
import type { Millis } from '../../base/model/log-line.ts';
import { createTimeShare } from '../../base/platform/shares.ts';

/** Does work that the policies of a Namespace make long; undefined if that Namespace has no time left. */
export type InShareOf = <T>(namespace: string | undefined, work: () => T) => T | undefined;

/** Evaluates for an Event or a row of the Namespace `asker`; undefined if that has no time left. */
export type VerdictTime = <T>(asker: string, evaluate: (inShareOf: InShareOf) => T | undefined) => T | undefined;

/** Enough for a thousand verdicts at once if a hundred policies select each Pod. */
const atOnce: Millis = 200;

/**
 * Who asks pays this much for a peer's policies, so that many questions cost the peer nothing; a thousand policies take less. Whose policies
 * take longer pays for the rest.
 */
const usual: Millis = 1;

export function createVerdictTime(part: number, stopwatch: () => Millis): VerdictTime {
  const ofAskers = createTimeShare({ part, atOnce });
  /** Apart, so that nobody's packets to a Pod take the time for the Events of that Pod, whatever its policies are. */
  const ofPeers = createTimeShare({ part: part / 2, atOnce: atOnce / 2 });

  return (asker, evaluate) => {
    const began = stopwatch();
    if (!ofAskers.mayBegin(asker, began)) return undefined;
    let paidByPeers: Millis = 0;
    try {
      return evaluate((namespace = asker, work) => {
        if (namespace === asker) return work();
        const start = stopwatch();
        if (!ofPeers.mayBegin(namespace, start)) return undefined;
        try {
          return work();
        } finally {
          const end = stopwatch();
          const beyond = Math.max(0, end - start - usual);
          ofPeers.ended(namespace, end - beyond, end);
          paidByPeers += beyond;
        }
      });
    } finally {
      ofAskers.ended(asker, began, stopwatch() - paidByPeers);
    }
  };
}
