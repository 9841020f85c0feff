import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { byUrgency } from './urgency.ts';

/** How many series are due, and for how long the first of them has been. */
export interface Backlog {
  due: number;
  oldest: Millis;
}

/** The series whose time has come, most urgent first. */
export function dueAt(now: Millis, pending: Iterable<Series>): Series[] {
  return [...pending].filter(({ due }) => (due ?? Infinity) <= now).toSorted(byUrgency(now));
}

export function backlogAt(now: Millis, pending: Iterable<Series>): Backlog {
  const waits = [...pending].map(({ due }) => now - (due ?? Infinity)).filter((wait) => wait >= 0);
  return { due: waits.length, oldest: waits.reduce((most, wait) => Math.max(most, wait), 0) };
}
