import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** From the first packet to the first write: what follows at once is in the first count. */
export const firstDelay: Millis = 1000;

/** Nothing waits for longer to be published. */
export const longestWait: Millis = 900_000;

/** Distances between the writes of a series while packets keep coming; the last repeats. */
const intervals: readonly Millis[] = [30, 60, 120, 240, 480, 900].map((seconds) => seconds * 1000);

/** When a series that was just counted has to be written: soon if it never was, else after its back-off. */
export function dueAfter(series: Series, time: Millis): Millis {
  const { writes, at } = series.published;
  if (writes === 0 || at === null) return time + firstDelay;
  return Math.max(time + firstDelay, at + (intervals[Math.min(writes, intervals.length) - 1] ?? 0));
}
