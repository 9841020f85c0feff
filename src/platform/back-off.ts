import type { Millis } from '../model/log-line.ts';

/** Pauses between attempts at what fails. */
export interface BackOff {
  /** The pause after one more failure, `least` at least, which the other side asked for. */
  next: (least?: Millis) => Millis;
  /** An attempt did not fail. */
  reset: () => void;
}

/** Each pause has a random length, up to a limit that doubles with each failure: who failed together must not try again together. */
export function createBackOff(limits: { first: Millis; longest: Millis }, random: () => number): BackOff {
  let failures = 0;
  return {
    next: (least = 0) => least + random() * Math.min(limits.first * 2 ** failures++, limits.longest),
    reset: () => void (failures = 0),
  };
}
