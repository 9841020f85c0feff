import { LRUCache } from 'lru-cache';
import { objectKey } from '../model/endpoint.ts';
import type { Series } from '../model/series.ts';

/** Objects of which it is known how many Events they had; past that the oldest counts as one that had none. */
const objectsKnown = 8192;

/** How many turns each object had for drops without an Event, in the window that it had the last in. */
export function createTurnsHad(restored: readonly Series[]) {
  const had = new LRUCache<string, { window: number; turns: number }>({ max: objectsKnown });
  for (const series of restored)
    if (series.published.writes > 0 && series.finding.details.kind !== 'incident') add(series, 1);

  return {
    /** `turns`: 1, or -1 for one that led to no attempt. */
    add,
    /** In the window of the series. */
    of({ window, finding }: Series): number {
      const known = had.get(objectKey(finding.regarding));
      return known?.window === window ? known.turns : 0;
    },
  };

  function add({ window, finding }: Series, turns: 1 | -1): void {
    const object = objectKey(finding.regarding);
    const known = had.get(object);
    if (known?.window === window) known.turns += turns;
    else if (turns > 0 && (known === undefined || known.window < window)) had.set(object, { window, turns });
  }
}
