import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import type { SeriesChanges } from './changes.ts';
import { createScans } from './scans.ts';

export type HeldSeries = ReturnType<typeof createHeldSeries>;

/** The series in memory: the latest of each identity, and those of past windows with something to publish. */
export function createHeldSeries(changes: SeriesChanges, restored?: Pick<SeriesState, 'series' | 'past'>) {
  /** By identity. */
  const current = new Map(restored?.series.map((series) => [series.finding.identity, series]));
  const past = new Set(restored?.past);
  const view = { current: () => current.values(), past };
  const scans = createScans(current.values());

  return {
    scans,
    get size(): number {
      return current.size + past.size;
    },
    /** Of windows that are not past; some may be over, and not yet forgotten. */
    current: (): Iterable<Series> => current.values(),
    isPast: (series: Series): boolean => past.has(series),
    get: (identity: string): Series | undefined => current.get(identity),
    /** One of the same identity is of a past window now. */
    add(series: Series): void {
      const { identity } = series.finding;
      const before = current.get(identity);
      if (before !== undefined) scans.remove(before);
      if (before !== undefined && isPending(before)) {
        past.add(before);
        changes.changed(before);
      } else if (before !== undefined) changes.removed(before);
      current.set(identity, series);
      scans.add(series);
    },
    remove,
    /** All of it is published. */
    settle(series: Series): void {
      if (past.delete(series)) changes.removed(series);
    },
    /** Forgets series whose window is over at `clock` and of which all is published. */
    sweep(clock: Millis): void {
      for (const series of current.values()) if (!isPending(series) && series.windowEnd <= clock) remove(series);
    },
    takeChanges: (): StateChange[] => changes.take(view),
    entries: (): Generator<StateChange> => changes.entries(view),
  };

  function remove(series: Series): void {
    current.delete(series.finding.identity);
    scans.remove(series);
    changes.removed(series);
  }
}

function isPending({ due }: Series): boolean {
  return due !== null;
}
