import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { byUrgency } from './urgency.ts';

/** Series with something to publish, each with the time at which that is due. */
export type Pending = ReturnType<typeof createPending>;

/** `restored`: those of them with a time are pending. `onEarlier`: `nextDue` is earlier than it was. */
export function createPending(restored: readonly Series[], onEarlier: (() => void) | undefined) {
  const pending = new Set(restored.filter(({ due }) => due !== null));
  let earliest = [...pending].reduce((least, series) => Math.min(least, dueOf(series)), Infinity);

  return {
    get size(): number {
      return pending.size;
    },
    put(series: Series, due: Millis): void {
      series.due = due;
      pending.add(series);
      if (due >= earliest) return;
      earliest = due;
      onEarlier?.();
    },
    delete(series: Series): void {
      series.due = null;
      pending.delete(series);
    },
    /** Those whose time has come, most urgent first. */
    due: (now: Millis): Series[] => {
      const ready: Series[] = [];
      earliest = Infinity;
      for (const series of pending) {
        const due = dueOf(series);
        if (due <= now) ready.push(series);
        else if (due < earliest) earliest = due;
      }
      return ready.toSorted(byUrgency(now));
    },
    /** Earliest time at which `due` will have something; Infinity when there is nothing to publish. */
    nextDue: (): Millis => earliest,
    /** Nothing can be published before then: until that time nothing is due. */
    postpone: (until: Millis): void => {
      earliest = until;
    },
    /** How many are due at `now`, and for how long the first of them has been. */
    backlog: (now: Millis): { due: number; oldest: Millis } => {
      const waits = [...pending].map((series) => now - dueOf(series)).filter((wait) => wait >= 0);
      return { due: waits.length, oldest: Math.max(0, ...waits) };
    },
  };
}

/** When a series is to be written; Infinity where there is nothing to publish. */
export function dueOf({ due }: Pick<Series, 'due'>): Millis {
  return due ?? Infinity;
}
