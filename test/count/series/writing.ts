import type { Series } from '../../../src/base/model/series.ts';
import type { SeriesTable } from '../../../src/count/series/series.ts';

/** Begins all that is due, in the order of the queue. */
export function beginAll(table: Pick<SeriesTable, 'next' | 'begin'>, now: number): Series[] {
  const begun: Series[] = [];
  for (let turn = table.next(now); turn !== undefined; turn = table.next(now)) {
    table.begin(turn.series);
    begun.push(turn.series);
  }
  return begun;
}

/** Notes that the API server has the Event of a series after a write, except the last `less` packets. */
export function publish(table: Pick<SeriesTable, 'end'>, series: Series, now: number, less = 0): void {
  const { suppressed, published } = series;
  const count = Math.max(published.count, series.count - less);
  const after = { ...published, count, suppressed, writes: published.writes + 1, at: now };
  table.end(series, { kind: 'published', published: after });
}
