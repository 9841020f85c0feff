import type { Millis } from '../model/log-line.ts';

export interface PaceOptions {
  /** The amount that each look should find, in any unit. */
  aim: number;
  shortest: Millis;
  longest: Millis;
}

/** Bounds the pause between looks at a stream of records, because waking for each record costs several times what reading it does. */
export interface Pace {
  /** `amount`: what was found after the last wait. Returns how long to wait now; at most twice as long. */
  next: (amount: number) => Millis;
}

export function createPace({ aim, shortest, longest }: PaceOptions): Pace {
  let wait = shortest;
  return {
    next(amount) {
      wait = Math.min(longest, Math.max(shortest, wait * Math.min(2, aim / amount)));
      return wait;
    },
  };
}
