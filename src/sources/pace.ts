import type { Millis } from '../model/log-line.ts';

export interface PaceOptions {
  /** How much is to be found at each look, in whatever unit. */
  aim: number;
  shortest: Millis;
  longest: Millis;
}

/** How long to wait between looks at what comes record by record: waking for each one costs several times what the record does. */
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
