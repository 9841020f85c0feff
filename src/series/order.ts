/** The order in which series are written, as far as it follows from each alone (`queue.ts`). */
import type { Millis } from '../model/log-line.ts';
import type { Series, WriteKind } from '../model/series.ts';
import { isQuiet } from './times.ts';

/** The lines, in the order in which they are written. Thousands of nodes may report on one Pod `elsewhere`, so its own node comes first. */
const lines = {
  incident: { first: 0, late: 1, rest: 4, update: 5 },
  drop: { first: 2, late: 3, rest: 6, update: 7 },
  notice: { first: 8, late: 9, rest: 10, update: 10 },
} as const;

export const lastLine: number = lines.notice.update;

/** Returns the line in which a series stands. */
export function lineOf(series: Series, now: Millis): number {
  const { details, elsewhere } = series.finding;
  const line = lines[details.kind !== 'incident' ? 'drop' : details.role === 'full' ? 'incident' : 'notice'];
  // A series that is refused again and again must not keep updates from being written.
  if (series.published.retried === true) return line.update;
  if (series.published.writes > 0) return isQuiet(series, now) ? line.rest : line.update;
  return series.windowEnd <= now || elsewhere === true ? line.late : line.first;
}

/** `isMore`: its object had a drop's first write in its hour. */
export function kindOf(line: number, isMore: boolean): WriteKind {
  if (line === lines.incident.rest || line === lines.drop.rest) return 'rest';
  return line <= lines.incident.late || (line === lines.drop.first && !isMore) ? 'first' : 'more';
}

export function isUpdate({ published: { writes, retried } }: Series): boolean {
  return writes > 0 || retried === true;
}

export function isIncident({ finding: { details } }: Series): boolean {
  return details.kind === 'incident';
}

/** Sorts the series of one object: single problems before joined ones, then by packets that no Event has counted, then the newest first. */
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

export function byDue(a: Series, b: Series): number {
  return (a.due ?? 0) - (b.due ?? 0) || byName(a, b);
}

export function byName(a: Series, b: Series): number {
  return a.finding.identity < b.finding.identity ? -1 : 1;
}
