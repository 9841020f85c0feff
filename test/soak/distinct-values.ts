/** Numbers from `from` to `to`, `to` excluded. */
export type Run = [from: number, to: number];

/**
 * Counts a numbered line. Lines come nearly in order, so runs of them, in the order of arrival, take less room than a
 * count for each line.
 */
export function addTo(runs: Run[], number: number): void {
  const last = runs.at(-1);
  if (last?.[1] === number) last[1]++;
  else runs.push([number, number + 1]);
}

/** Returns the numbers below `end` that were never counted, and those that were counted again, once for each time. */
export function differences(runs: readonly Run[], end: number): { missing: Run[]; doubled: Run[] } {
  const missing: Run[] = [];
  const doubled: Run[] = [];
  let next = 0;
  for (const [from, to] of runs.toSorted((a, b) => a[0] - b[0])) {
    if (from > next) missing.push([next, from]);
    if (from < next) doubled.push([from, Math.min(to, next)]);
    next = Math.max(next, to);
  }
  if (next < end) missing.push([next, end]);
  return { missing, doubled };
}

export function lengthOf(runs: readonly Run[]): number {
  return runs.reduce((sum, [from, to]) => sum + to - from, 0);
}
