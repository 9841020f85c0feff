import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import { entriesOfKind } from '../platform/keyed-changes.ts';
import { createDistinctValues } from './distinct-values.ts';

/** The series of a table as they stand; iterated lazily, while they may change. */
export interface SeriesView {
  current: () => Iterable<Series>;
  past: ReadonlySet<Series>;
}

/** As the disk holds a series: what may become long, apart. */
type Kept = Omit<Series, 'peers' | 'ports'> & { isPast: boolean };

export type SeriesChanges = ReturnType<typeof createSeriesChanges>;

/** Notes what of the series of a table has changed since that was last written to disk. */
export function createSeriesChanges(restored: SeriesState | undefined) {
  const noted = new Map<Series, Noted>();
  const changed = new Set<Series>();
  let removals: StateChange[] = [];
  for (const series of restored?.series ?? []) noted.set(series, note(series, false));
  for (const series of restored?.past ?? []) noted.set(series, note(series, true));

  return {
    changed: (series: Series): void => void changed.add(series),
    removed(series: Series): void {
      changed.delete(series);
      if (noted.delete(series)) removals.push(...removal(series));
    },
    /** Since the last call. */
    take(past: SeriesView['past']): StateChange[] {
      const changes = removals;
      removals = [];
      for (const series of changed) {
        const before = noted.get(series);
        const now = note(series, past.has(series));
        noted.set(series, now);
        const isNew = before?.finding !== now.finding || before.isPast !== now.isPast;
        changes.push(...(isNew ? whole(series, now.isPast) : difference(series, before, now)));
      }
      changed.clear();
      return changes;
    },
  };
}

/** All of them, one key after the other. */
export function* seriesEntries({ current, past }: SeriesView): Generator<StateChange> {
  for (const series of current()) yield* whole(series, false);
  for (const series of past) yield* whole(series, true);
}

/** What the entries and changes have made of the values by their keys. */
export function readSeries(values: ReadonlyMap<string, unknown>): Pick<SeriesState, 'series' | 'past'> {
  const read: Pick<SeriesState, 'series' | 'past'> = { series: [], past: [] };
  const peers = new Map(entriesOfKind<Series['peers']>('peers', values));
  const ports = new Map(entriesOfKind<Series['ports']>('ports', values));
  for (const [key, { isPast, ...series }] of entriesOfKind<Kept>('series', values)) {
    const list = isPast ? read.past : read.series;
    const empty = createDistinctValues;
    list.push({ ...series, peers: peers.get(key) ?? empty(), ports: ports.get(key) ?? empty() });
  }
  return read;
}

/** What the disk has of a series, without its counts. */
function note(series: Series, isPast: boolean) {
  const { finding, published, peers, ports } = series;
  return { finding, isPast, published, peers: peers.seen.length, ports: ports.seen.length };
}

type Noted = ReturnType<typeof note>;

function keyOf({ window, finding }: Series): string {
  return `${window} ${finding.identity}`;
}

function removal(series: Series): StateChange[] {
  const key = keyOf(series);
  const changes: StateChange[] = [['remove', `series ${key}`]];
  if (series.peers.seen.length > 0) changes.push(['remove', `peers ${key}`]);
  if (series.ports.seen.length > 0) changes.push(['remove', `ports ${key}`]);
  return changes;
}

function whole({ peers, ports, ...series }: Series, isPast: boolean): StateChange[] {
  const key = keyOf(series as Series);
  const changes: StateChange[] = [['set', `series ${key}`, { ...series, isPast }]];
  if (peers.seen.length > 0) changes.push(['set', `peers ${key}`, peers]);
  if (ports.seen.length > 0) changes.push(['set', `ports ${key}`, ports]);
  return changes;
}

function difference(series: Series, before: Noted, now: Noted): StateChange[] {
  const key = keyOf(series);
  const { count, first, last, suppressed, due, published } = series;
  const fields = { count, first, last, suppressed, due, ...(before.published !== published && { published }) };
  return [
    ['merge', `series ${key}`, fields],
    ...extension(`peers ${key}`, series.peers, before.peers, now.peers),
    ...extension(`ports ${key}`, series.ports, before.ports, now.ports),
  ];
}

function extension(key: string, { seen, past }: Series['peers'], before: number, now: number): StateChange[] {
  if (now === 0) return [];
  if (before === 0) return [['set', key, { seen, past }]];
  const changes: StateChange[] = past > 0 ? [['merge', key, { past }]] : [];
  if (now > before) changes.push(['extend', key, 'seen', before, seen.slice(before)]);
  return changes;
}
