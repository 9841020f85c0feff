import { copy } from '../platform/address.ts';
import type { DistinctValues } from '../model/series.ts';

/** Distinct values that are remembered. */
export const distinctLimit = 512;

/** Longer lists are searched by a set, which is no part of the plain data. */
const searchable = 16;
const sets = new WeakMap<DistinctValues, Set<string>>();

export function createDistinctValues(): DistinctValues {
  return { seen: [], past: 0 };
}

/** Counts a value: once if it can be remembered, each time if not. */
export function noteValue(into: DistinctValues, value: string): void {
  const { seen } = into;
  const known = seen.length <= searchable ? undefined : setOf(into);
  if (known?.has(value) ?? seen.includes(value)) return;
  if (seen.length >= distinctLimit) {
    into.past++;
    return;
  }
  // A slice of a line would keep the line.
  const kept = copy(value);
  seen.push(kept);
  known?.add(kept);
}

function setOf(values: DistinctValues): Set<string> {
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new Set(values.seen)));
  return set;
}
