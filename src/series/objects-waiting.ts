import { objectKey } from '../model/endpoint.ts';
import type { Series } from '../model/series.ts';

/** An object with series of one rank that are due. */
export interface WaitingObject {
  rank: number;
  key: string;
  series: Set<Series>;
}

/** Series that are due, by object and rank. */
export function createObjectsWaiting() {
  const objects = new Map<string, WaitingObject>();
  const objectOf = new Map<Series, WaitingObject>();

  return {
    /** Of series. */
    get size(): number {
      return objectOf.size;
    },
    of: (series: Series): WaitingObject | undefined => objectOf.get(series),
    /** Gives the object that the series now waits with. */
    add(series: Series, rank: number): WaitingObject {
      const key = `${rank} ${objectKey(series.finding.regarding)}`;
      let object = objects.get(key);
      if (object === undefined) objects.set(key, (object = { rank, key, series: new Set() }));
      object.series.add(series);
      objectOf.set(series, object);
      return object;
    },
    /** Gives the object that the series waited with, whose set is empty now if nothing else of it waits. */
    remove(series: Series): WaitingObject | undefined {
      const object = objectOf.get(series);
      objectOf.delete(series);
      object?.series.delete(series);
      if (object?.series.size === 0) objects.delete(object.key);
      return object;
    },
  };
}
