import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { createHeap } from '../platform/heap.ts';

interface Wait {
  series: Series;
  due: Millis;
}

/** Series that are not due yet, by the time at which they are. */
export function createDueTimes() {
  const heap = createHeap<Wait>(
    (a, b) => a.due - b.due || (a.series.finding.identity < b.series.finding.identity ? -1 : 1),
  );
  /** A wait in the heap that is no longer its series' own is passed over. */
  const waits = new Map<Series, Wait>();
  /** Asked for each packet of a replay. */
  let earliest: Millis = Infinity;

  return {
    /** Instead of any time that the series has waited for. */
    set(series: Series, due: Millis): void {
      const wait = { series, due };
      waits.set(series, wait);
      heap.push(wait);
      findEarliest();
    },
    delete(series: Series): void {
      if (waits.delete(series)) findEarliest();
    },
    /** The earliest; Infinity where there is none. */
    next: (): Millis => earliest,
    /** The first of those whose time has come, which waits no longer. */
    take(now: Millis): Series | undefined {
      const wait = first();
      if (wait === undefined || wait.due > now) return undefined;
      heap.pop();
      waits.delete(wait.series);
      findEarliest();
      return wait.series;
    },
  };

  function findEarliest(): void {
    earliest = first()?.due ?? Infinity;
  }

  function first(): Wait | undefined {
    for (let wait = heap.peek(); wait !== undefined; wait = heap.peek()) {
      if (waits.get(wait.series) === wait) return wait;
      heap.pop();
    }
    return undefined;
  }
}
