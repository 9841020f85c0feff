import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import { createHeap } from '../platform/heap.ts';
import { createTurns } from './turns.ts';
import { byUrgency } from './urgency.ts';

/** Series with something to publish, each with the time at which that is due. */
export type Pending = ReturnType<typeof createPending>;

/** `waiting`: until it is due; `ready`: for its turn; `taken`: it is being written. */
type Phase = 'waiting' | 'ready' | 'taken';

/** `restored`: those of them with a time are pending. `onEarlier`: `nextDue` is earlier than it was. */
export function createPending(restored: readonly Series[], onEarlier: (() => void) | undefined) {
  const phases = new Map<Series, Phase>();
  /** By the time at which they are due. What is not waiting for that time any more is passed over. */
  const waiting = createHeap<{ series: Series; due: Millis }>(
    (a, b) => a.due - b.due || (a.series.finding.identity < b.series.finding.identity ? -1 : 1),
  );
  const turns = createTurns(restored);
  const tried = new WeakSet(restored);
  /** When those that are ready are next looked at. */
  let heldUntil: Millis = -Infinity;
  /** Asked for each packet of a replay. */
  let earliest: Millis = Infinity;
  for (const series of restored) if (series.due !== null) wait(series, series.due);

  return {
    get size(): number {
      return phases.size;
    },
    put,
    /** It cannot be published before then, for a reason that is not its own. */
    delay(series: Series, until: Millis): void {
      turns.refund(series);
      put(series, until);
    },
    delete(series: Series): void {
      series.due = null;
      turns.remove(series);
      phases.delete(series);
      findEarliest();
    },
    next,
    /** Takes as many as `mayTake` lets through. Gives them in the order of `due`. */
    takeAll(now: Millis, mayTake: (turn: Turn) => boolean): Series[] {
      const batch: Series[] = [];
      for (let turn = next(now); turn !== undefined && mayTake(turn); turn = next(now)) {
        take(turn.series);
        batch.push(turn.series);
      }
      return batch.toSorted(byUrgency(now));
    },
    take,
    /** It was taken, and not written for a reason that is not its own: it has the turn that it had. */
    putBack(series: Series, now: Millis): void {
      turns.giveBack(series, now);
      phases.set(series, 'ready');
      findEarliest();
    },
    /** The API server may have it, whatever the answer was or whether the agent was killed before it came. */
    mayBePublished: (series: Series): boolean => tried.has(series),
    /** All those whose time has come, most urgent first. Takes no turn. */
    due: (now: Millis): Series[] =>
      [...phases.keys()].filter((series) => dueOf(series) <= now).toSorted(byUrgency(now)),
    /** Earliest time at which `next` will have something; Infinity when there is nothing to publish. */
    nextDue: (): Millis => earliest,
    /** None of those that are ready can be published before then. */
    postpone: (until: Millis): void => {
      heldUntil = until;
      findEarliest();
    },
    /** How many are due at `now`, and for how long the first of them has been. */
    backlog: (now: Millis): { due: number; oldest: Millis } => {
      const waits = [...phases.keys()].map((series) => now - dueOf(series)).filter((each) => each >= 0);
      return { due: waits.length, oldest: waits.reduce((most, each) => Math.max(most, each), 0) };
    },
  };

  function put(series: Series, due: Millis): void {
    const before = earliest;
    turns.remove(series);
    wait(series, due);
    if (earliest < before) onEarlier?.();
  }

  /** Whose turn it is of those whose time has come; the same again until that is taken, or no longer due. */
  function next(now: Millis): Turn | undefined {
    heldUntil = now;
    for (let first = firstWaiting(); first !== undefined && first.due <= now; first = firstWaiting()) {
      waiting.pop();
      phases.set(first.series, 'ready');
      turns.add(first.series, now);
    }
    findEarliest();
    return turns.next(now);
  }

  /** It is being written: others have their turn, until it is `put` again or `putBack`. */
  function take(series: Series): void {
    turns.take(series);
    tried.add(series);
    phases.set(series, 'taken');
    findEarliest();
  }

  function findEarliest(): void {
    earliest = Math.min(turns.size > 0 ? heldUntil : Infinity, firstWaiting()?.due ?? Infinity);
  }

  function wait(series: Series, due: Millis): void {
    series.due = due;
    phases.set(series, 'waiting');
    waiting.push({ series, due });
    findEarliest();
  }

  function firstWaiting(): { series: Series; due: Millis } | undefined {
    for (let first = waiting.peek(); first !== undefined; first = waiting.peek()) {
      if (first.series.due === first.due && phases.get(first.series) === 'waiting') return first;
      waiting.pop();
    }
    return undefined;
  }
}

/** When a series is to be written; Infinity where there is nothing to publish. */
export function dueOf({ due }: Pick<Series, 'due'>): Millis {
  return due ?? Infinity;
}
