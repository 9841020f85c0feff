import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { byUrgency } from './urgency.ts';

/** Series with something to tell, each with the time at which that is due. */
export interface Pending {
  readonly size: number;
  has: (series: Series) => boolean;
  [Symbol.iterator]: () => Iterator<Series>;
  /** `series` is due then. */
  put: (series: Series, due: Millis) => void;
  /** Whether it was there. */
  delete: (series: Series) => boolean;
  /** Those whose time has come, most urgent first. */
  due: (now: Millis) => Series[];
  /** Earliest time at which `due` will have something; Infinity when nothing is left to tell. */
  nextDue: () => Millis;
  /** Nothing can be told before then: until that time nothing is due. */
  postpone: (until: Millis) => void;
  /** How many are due at `now`, and for how long the first of them has been. */
  backlog: (now: Millis) => { due: number; oldest: Millis };
}

/** `restored`: those of them with a time are pending. `onEarlier`: `nextDue` is earlier than it was. */
export function createPending(restored: readonly Series[], onEarlier: (() => void) | undefined): Pending {
  const pending = new Set(restored.filter(({ due }) => due !== Infinity));
  let earliest = [...pending].reduce((least, { due }) => Math.min(least, due), Infinity);

  return {
    get size() {
      return pending.size;
    },
    has: (series) => pending.has(series),
    [Symbol.iterator]: () => pending.values(),
    put(series, due) {
      series.due = due;
      pending.add(series);
      if (due >= earliest) return;
      earliest = due;
      onEarlier?.();
    },
    delete(series) {
      series.due = Infinity;
      return pending.delete(series);
    },
    due(now) {
      const ready: Series[] = [];
      earliest = Infinity;
      for (const series of pending) {
        if (series.due <= now) ready.push(series);
        else if (series.due < earliest) earliest = series.due;
      }
      return ready.toSorted(byUrgency(now));
    },
    nextDue: () => earliest,
    postpone(until) {
      earliest = until;
    },
    backlog(now) {
      const waits = [...pending].filter(({ due }) => due <= now).map(({ due }) => now - due);
      return { due: waits.length, oldest: Math.max(0, ...waits) };
    },
  };
}
