import { copy } from '../platform/address.ts';
import type { DistinctValues } from '../model/series.ts';

/** Distinct values remembered of one tally. */
export const distinctLimit = 512;

export function createDistinctValues(): DistinctValues {
  return { seen: new Set(), past: 0 };
}

/** Counts a value: once if it can be remembered, each time if not. */
export function tally(into: DistinctValues, value: string): void {
  if (into.seen.has(value)) return;
  // A slice of a line would keep the line.
  if (into.seen.size < distinctLimit) into.seen.add(copy(value));
  else into.past++;
}
