import { type Outcome, shortage } from './trial.ts';

/** Limits in MiB: the range, and the precision of the answer. */
export interface Range {
  lowest: number;
  highest: number;
  step: number;
}

const attempts = 3;

export interface Smallest {
  /** In MiB; undefined if no limit of the range is enough. */
  limit: number | undefined;
  /** The outcome under that limit. `free` is the outcome without a limit. */
  at: Outcome | undefined;
  free: Outcome;
}

/**
 * Finds the smallest limit under which `trial` succeeds, by bisection. A failed trial is repeated, because other
 * programs on the machine also take time. Calls `onTrial` for each.
 */
export async function smallestLimit(
  trial: (limit: number | undefined) => Promise<Outcome>,
  { lowest, highest, step }: Range,
  onTrial: (limit: number | undefined, outcome: Outcome, short: string | undefined) => void,
): Promise<Smallest> {
  const free = await trial(undefined);
  onTrial(undefined, free, free.failed);
  if (free.failed !== undefined) return { limit: undefined, at: undefined, free };
  const holds = async (limit: number): Promise<Outcome | undefined> => {
    for (let attempt = 1; ; attempt++) {
      const outcome = await trial(limit);
      const short = shortage(outcome, free);
      onTrial(limit, outcome, short);
      if (short === undefined) return outcome;
      // If the process was killed, a second attempt would not help.
      if (attempt === attempts || outcome.failed !== undefined) return undefined;
    }
  };
  // Numbers of limits: 1 is the lowest. A number past the highest limit counts as enough.
  let [below, enough] = [0, Math.floor((highest - lowest) / step) + 2];
  let at: Outcome | undefined;
  while (enough - below > 1) {
    const middle = Math.floor((below + enough) / 2);
    const outcome = await holds(lowest + (middle - 1) * step);
    if (outcome === undefined) below = middle;
    else [enough, at] = [middle, outcome];
  }
  return { limit: at === undefined ? undefined : lowest + (enough - 1) * step, at, free };
}
