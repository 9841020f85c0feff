import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** Incidents before drops, Pod notices last; first writes before updates, of those open windows first; then the longest due. */
export function byUrgency(now: Millis): (a: Series, b: Series) => number {
  return (a, b) =>
    rank(a, now) - rank(b, now) || (a.due ?? 0) - (b.due ?? 0) || (a.finding.identity < b.finding.identity ? -1 : 1);
}

function rank({ finding: { details }, published: { writes, retried }, windowEnd }: Series, now: Millis): number {
  const kind = details.kind !== 'incident' ? 3 : details.role === 'full' ? 0 : 6;
  // What is refused again and again must not keep updates from being written.
  if (writes > 0 || retried === true) return kind + 2;
  return kind + (windowEnd <= now ? 1 : 0);
}
