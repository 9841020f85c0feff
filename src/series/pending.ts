import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import { backlogAt, type Backlog, dueAt } from './backlog.ts';
import { createDueTimes } from './due-times.ts';
import { createTurns } from './turns.ts';
import { byUrgency } from './urgency.ts';

/** Series with something to publish, each with the time at which that is due. */
export type Pending = ReturnType<typeof createPending>;

/** `restored`: those of them with a time are pending. `onEarlier`: `nextDue` is earlier than it was. */
export function createPending(restored: readonly Series[], onEarlier: (() => void) | undefined) {
  /** Each waits for its time, is ready for its turn, or is being written. */
  const pending = new Set<Series>();
  const times = createDueTimes();
  const turns = createTurns(restored);
  const tried = new WeakSet(restored);
  /** When those that are ready are next looked at. */
  let heldUntil: Millis = -Infinity;
  for (const series of restored) if (series.due !== null) wait(series, series.due);

  return {
    get size(): number {
      return pending.size;
    },
    put,
    /** It cannot be published before then, for a reason that is not its own. */
    delay(series: Series, until: Millis): void {
      turns.refund(series);
      put(series, until);
    },
    delete(series: Series): void {
      series.due = null;
      pending.delete(series);
      times.delete(series);
      turns.remove(series);
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
    putBack: (series: Series, now: Millis): void => turns.giveBack(series, now),
    /** The API server may have it, whatever the answer was or whether the agent was killed before it came. */
    mayBePublished: (series: Series): boolean => series.published.writes > 0 || tried.has(series),
    /** All those whose time has come, most urgent first. Takes no turn. */
    due: (now: Millis): Series[] => dueAt(now, pending),
    /** Earliest time at which `next` will have something; Infinity when there is nothing to publish. */
    nextDue,
    /** None of those that are ready can be published before then. */
    postpone: (until: Millis): void => void (heldUntil = until),
    backlog: (now: Millis): Backlog => backlogAt(now, pending),
  };

  function put(series: Series, due: Millis): void {
    const before = nextDue();
    turns.remove(series);
    wait(series, due);
    if (nextDue() < before) onEarlier?.();
  }

  /** Whose turn it is of those whose time has come; the same again until that is taken, or no longer due. */
  function next(now: Millis): Turn | undefined {
    heldUntil = now;
    for (let series = times.take(now); series !== undefined; series = times.take(now)) turns.add(series, now);
    return turns.next(now);
  }

  /** It is being written: others have their turn, until it is `put` again or `putBack`. */
  function take(series: Series): void {
    turns.take(series);
    tried.add(series);
  }

  function wait(series: Series, due: Millis): void {
    series.due = due;
    pending.add(series);
    times.set(series, due);
  }

  function nextDue(): Millis {
    return Math.min(turns.size > 0 ? heldUntil : Infinity, times.next());
  }
}

/** The series is counted elsewhere from now; false where the API server may have it. */
export function withdraw(pending: Pending, series: Series): boolean {
  if (pending.mayBePublished(series)) return false;
  pending.delete(series);
  return true;
}
