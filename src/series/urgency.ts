import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/**
 * Incidents before drops, short pointers to incidents last; what nobody has heard of before updates, and of that what happens
 * now before what was in hours that are over; then who has waited longest.
 */
export function byUrgency(now: Millis): (a: Series, b: Series) => number {
  return (a, b) => rank(a, now) - rank(b, now) || a.due - b.due || (a.finding.identity < b.finding.identity ? -1 : 1);
}

function rank({ finding: { details }, published: { writes, retried }, windowEnd }: Series, now: Millis): number {
  const kind = details.kind !== 'incident' ? 3 : details.role === 'full' ? 0 : 6;
  // What is refused again and again must not keep updates from being told.
  if (writes > 0 || retried === true) return kind + 2;
  return kind + (windowEnd <= now ? 1 : 0);
}
