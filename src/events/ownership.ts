import type { Millis } from '../model/log-line.ts';
import type { Published, Series } from '../model/series.ts';
import { annotationPrefix } from './annotations.ts';
import type { StoredEvent } from './event-store.ts';

/** `STATE BASE`, while counts overlap `STATE BASE COUNT UNTIL`: the memory of a run, what is counted beside it, and `overlap`. */
export const stateAnnotation = `${annotationPrefix}state`;

/** How the count of an Event is put together: that of a series, on top of a base. */
export type Composition = Pick<Published, 'base' | 'first' | 'overlap'>;

export function annotationOf(stateId: string, { base, overlap }: Composition): string {
  return [stateId, base, ...(overlap ? [overlap.count, overlap.until] : [])].join(' ');
}

export function isOwned({ annotations }: StoredEvent, stateId: string): boolean {
  return annotations[stateAnnotation]?.split(' ', 1)[0] === stateId;
}

/** How the count of a series goes on from an Event that was found. All times are of the wall clock. */
export function continuationOf(
  stored: StoredEvent,
  { count, first, last }: Pick<Series, 'count' | 'first' | 'last'>,
  stateId: string,
  now: Millis,
): Composition {
  const began = Math.min(first, stored.firstTimestamp ?? Infinity);
  const [, ...numbers] = (stored.annotations[stateAnnotation] ?? '').split(' ');
  const [base = 0, counted, overlapUntil] = numbers.map(Number);
  // Times are cut to seconds.
  const until = stored.lastTimestamp === undefined ? now : stored.lastTimestamp + 999;
  // An Event of ours that counts more than we know of is from the same hour before the clock was corrected and we were restarted.
  if (isOwned(stored, stateId) && stored.count <= (base || 0) + count) {
    if (counted === undefined || overlapUntil === undefined) {
      // One that was begun again does not go back to before it was deleted.
      return { base: base || 0, first: base < 0 ? (stored.firstTimestamp ?? first) : began };
    }
    return { base: Math.max(0, counted - count), first: began, overlap: { count: counted, until: overlapUntil } };
  }
  // All of ours came after it was written: nothing is counted twice.
  if (first > until) return { base: stored.count, first: began };
  return {
    base: Math.max(0, stored.count - count),
    first: began,
    overlap: last <= until ? { count: stored.count, until } : undefined,
  };
}

/** While ours may be among the packets that the Event had counted, the larger of both counts is right: it is never too high. */
export function baseOf({ count, published: { base, overlap } }: Series): number {
  return overlap === undefined ? base : Math.max(0, overlap.count - count);
}
