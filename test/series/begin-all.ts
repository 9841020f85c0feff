import type { Series } from '../../src/model/series.ts';
import type { SeriesTable } from '../../src/series/series.ts';

/** Begins all that is due, in the order of the queue. */
export function beginAll(table: Pick<SeriesTable, 'next' | 'begin'>, now: number): Series[] {
  const begun: Series[] = [];
  for (let turn = table.next(now); turn !== undefined; turn = table.next(now)) {
    table.begin(turn.series);
    begun.push(turn.series);
  }
  return begun;
}
