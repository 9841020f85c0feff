import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** First writes before updates, of those open windows first; of both incidents before drops; Pod notices last. */
export const ranks = {
  incident: { first: 0, late: 1, update: 4 },
  drop: { first: 2, late: 3, update: 5 },
  notice: { first: 6, late: 7, update: 8 },
} as const;

export function rankOf(series: Series, now: Millis): number {
  const { details } = series.finding;
  const { writes, retried } = series.published;
  const kind = details.kind !== 'incident' ? 'drop' : details.role === 'full' ? 'incident' : 'notice';
  // What is refused again and again must not keep updates from being written.
  if (writes > 0 || retried === true) return ranks[kind].update;
  // Thousands of nodes may have something to say of one Pod elsewhere, whose own node comes first.
  return series.windowEnd <= now || series.finding.elsewhere === true ? ranks[kind].late : ranks[kind].first;
}

/** By rank, then the longest due. */
export function byUrgency(now: Millis): (a: Series, b: Series) => number {
  return (a, b) => rankOf(a, now) - rankOf(b, now) || byDue(a, b);
}

export function byDue(a: Series, b: Series): number {
  return (a.due ?? 0) - (b.due ?? 0) || (a.finding.identity < b.finding.identity ? -1 : 1);
}

/** Of one object: problems of their own before what joins several, then what has most packets that no Event has counted, then the newest. */
export function byWeight(a: Series, b: Series): number {
  return (
    Number(isJoined(a)) - Number(isJoined(b)) ||
    b.count - b.published.count - (a.count - a.published.count) ||
    b.last - a.last ||
    byDue(a, b)
  );
}

function isJoined({ finding: { details } }: Series): boolean {
  return (
    details.kind === 'overflow' || details.kind === 'ports' || (details.kind === 'scan' && details.of === 'target')
  );
}
