import { copy } from '../address.ts';
import type { Tally } from '../model.ts';

/** Distinct values remembered of one tally. */
export const tallyLimit = 512;

export function createTally(): Tally {
  return { seen: new Set(), past: 0 };
}

/** Counts a value: once if it can be remembered, each time if not. */
export function tally(into: Tally, value: string): void {
  if (into.seen.has(value)) return;
  // A slice of a line would keep the line.
  if (into.seen.size < tallyLimit) into.seen.add(copy(value));
  else into.past++;
}
