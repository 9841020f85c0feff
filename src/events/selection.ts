import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import type { PublisherTable } from './attempts.ts';
import type { Outage } from './outage.ts';
import type { WriteBudget } from './write-budget.ts';

/** A series that is to be written, and a copy of what its Event will say, which is on disk before it is written. */
export interface Taken extends Turn {
  copy: Series;
}

export interface SelectionOptions {
  table: PublisherTable;
  budget: WriteBudget;
  outage: Outage;
  /** How many writes are in flight that an earlier batch has not waited for. */
  inFlight: { readonly size: number };
  /** If not, it is given up, or tried again later. */
  mayBeWritten: (series: Series) => boolean;
  now: () => Millis;
}

/** While the API server accepts nothing; the second one, in case that the first hangs because of its namespace. */
const mostInOutage = 2;

/** How soon more is tried then. */
const nextLook: Millis = 1000;

/** Which series are written next: as their turns come, as far as the budget goes. */
export function createSelection({ table, budget, outage, inFlight, mayBeWritten, now }: SelectionOptions) {
  return {
    /** One only while it is not known whether the API server accepts anything. */
    take(): Taken[] {
      const batch: Taken[] = [];
      for (let turn = table.next(now()); turn !== undefined; turn = table.next(now())) {
        const { series } = turn;
        // All nodes have waited for the API server: first Events are paced as others are.
        const isFirst = turn.isFirst && !outage.isCatchingUp;
        if (!mayBeWritten(series)) continue;
        if (batch.length > 0 && outage.isOn) return batch;
        if (outage.isOn && inFlight.size >= mostInOutage) {
          table.postpone(now() + nextLook);
          return batch;
        }
        if (!budget.take(now(), isFirst)) {
          table.postpone(budget.availableAt(now(), isFirst));
          return batch;
        }
        table.take(series);
        batch.push({ series, isFirst, copy: structuredClone(series) });
      }
      outage.caughtUp();
      return batch;
    },
    /** No attempt was made: others can be. */
    giveBack({ isFirst }: Taken): void {
      budget.giveBack(isFirst);
      table.postpone(now());
    },
  };
}
