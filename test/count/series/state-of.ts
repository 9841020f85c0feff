import type { SeriesState } from '../../../src/base/model/series.ts';
import { entriesOfKind } from '../../../src/base/platform/keyed-changes.ts';
import { readSeries } from '../../../src/count/series/changes.ts';
import type { SeriesTable } from '../../../src/count/series/series.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';

/** Returns a copy of a table, as the disk would give it back. */
export function stateOf(table: Pick<SeriesTable, 'entries' | 'totals'>): SeriesState {
  const values = new Map<string, unknown>();
  for (const change of table.entries()) applyChange(change, values);
  return seriesStateIn(values, table.totals());
}

/** Makes a state from values by key, as entries and changes have left them: a copy. */
export function seriesStateIn(
  values: ReadonlyMap<string, unknown>,
  rest: ReturnType<SeriesTable['totals']>,
): SeriesState {
  const objects = [...entriesOfKind<SeriesState['objects'][number][1]>('object', values)];
  return JSON.parse(JSON.stringify({ ...rest, ...readSeries(values), objects })) as SeriesState;
}
