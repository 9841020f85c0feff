import type { DistinctValues, Series, SeriesState } from '../../base/model/series.ts';
import { entriesOfKind, type StateChange } from '../../base/platform/keyed-changes.ts';
import { createDistinctValues } from './slots.ts';

/** The series of a table. Readers take them one by one, so the table may change meanwhile. */
export interface SeriesView {
  current: () => Iterable<Series>;
  past: ReadonlySet<Series>;
}

/** A series as kept on disk. Lists that may become long have keys of their own. */
type SeriesRecord = Omit<Series, 'peers' | 'ports'> & { isPast: boolean };

export interface SeriesChanges {
  changed(series: Series): void;
  removed(series: Series): void;
  take(view: SeriesView): StateChange[];
  entries(view: SeriesView): Generator<StateChange>;
}

/** Tracks which series have changed since the last write to disk. */
export function createSeriesChanges(): SeriesChanges {
  let noted: Map<Series, SeriesNote> | undefined;
  let changed = new Set<Series>();
  let removals: StateChange[] = [];
  /** Keys are numbers, because after a change of the clock two series may have the same problem and hour. */
  const keys = new WeakMap<Series, string>();
  let lastKey = 0;

  return {
    changed(series: Series): void {
      if (noted !== undefined) changed.add(series);
    },
    removed(series: Series): void {
      changed.delete(series);
      if (noted?.delete(series) === true) removals.push(...removal(series, keyOf(series)));
    },
    take({ current, past }: SeriesView): StateChange[] {
      if (noted === undefined) changed = new Set([...current(), ...past]);
      noted ??= new Map();
      const changes = removals;
      removals = [];
      for (const series of changed) {
        const before = noted.get(series);
        const now = note(series, past.has(series));
        noted.set(series, now);
        const isNew = before?.finding !== now.finding || before.isPast !== now.isPast;
        const key = keyOf(series);
        changes.push(...(isNew ? whole(series, key, now.isPast) : difference(series, key, before, now)));
      }
      changed.clear();
      return changes;
    },
    *entries({ current, past }: SeriesView): Generator<StateChange> {
      for (const series of current()) yield* whole(series, keyOf(series), false);
      for (const series of past) yield* whole(series, keyOf(series), true);
    },
  };

  function keyOf(series: Series): string {
    let key = keys.get(series);
    if (key === undefined) keys.set(series, (key = `${++lastKey}`));
    return key;
  }
}

export function readSeries(values: ReadonlyMap<string, unknown>): Pick<SeriesState, 'series' | 'past'> {
  const read: Pick<SeriesState, 'series' | 'past'> = { series: [], past: [] };
  const peers = new Map(entriesOfKind<DistinctValues>('peers', values));
  const ports = new Map(entriesOfKind<DistinctValues>('ports', values));
  for (const [key, { isPast, ...series }] of entriesOfKind<SeriesRecord>('series', values)) {
    const list = isPast ? read.past : read.series;
    const empty = createDistinctValues;
    list.push({ ...series, peers: peers.get(key) ?? empty(), ports: ports.get(key) ?? empty() });
  }
  return read;
}

/** Returns the part of a series on disk after a write, without its counts. */
function note(series: Series, isPast: boolean) {
  const { finding, published, peers, ports } = series;
  return { finding, isPast, published, peers: peers.seen.length, ports: ports.seen.length };
}

type SeriesNote = ReturnType<typeof note>;

function removal(series: Series, key: string): StateChange[] {
  const changes: StateChange[] = [['remove', `series ${key}`]];
  if (series.peers.seen.length > 0) changes.push(['remove', `peers ${key}`]);
  if (series.ports.seen.length > 0) changes.push(['remove', `ports ${key}`]);
  return changes;
}

function whole({ peers, ports, ...series }: Series, key: string, isPast: boolean): StateChange[] {
  const changes: StateChange[] = [
    ['set', `series ${key}`, { ...series, ...(series.scan && { scan: { ...series.scan } }), isPast }],
  ];
  if (peers.seen.length > 0) changes.push(['set', `peers ${key}`, copy(peers)]);
  if (ports.seen.length > 0) changes.push(['set', `ports ${key}`, copy(ports)]);
  return changes;
}

function copy({ seen, past }: DistinctValues): DistinctValues {
  return { seen: [...seen], past };
}

function difference(series: Series, key: string, before: SeriesNote, now: SeriesNote): StateChange[] {
  const { count, first, last, suppressed, due, published, scan } = series;
  const fields = {
    count,
    first,
    last,
    suppressed,
    due,
    ...(before.published !== published && { published }),
    ...(scan !== undefined && { scan: { ...scan } }),
  };
  return [
    ['merge', `series ${key}`, fields],
    ...extension(`peers ${key}`, series.peers, before.peers, now.peers),
    ...extension(`ports ${key}`, series.ports, before.ports, now.ports),
  ];
}

function extension(key: string, values: DistinctValues, before: number, now: number): StateChange[] {
  const { seen, past } = values;
  if (now === 0) return [];
  if (before === 0) return [['set', key, copy(values)]];
  const changes: StateChange[] = past > 0 ? [['merge', key, { past }]] : [];
  if (now > before) changes.push(['extend', key, 'seen', before, seen.slice(before)]);
  return changes;
}
