/**
 * The queue of series with something to publish. Each waits for its time, then is ready for its turn, then is being written. Its turn ends
 * in one of the ways of `TurnEnd`:
 *
 *     counted ──▶ waits ── its time has come ──▶ ready ── begin ──▶ being written ──▶ published or abandoned: nothing to publish
 *                   ▲                              ▲                  │   │
 *                   │                              └──── postponed ───┘   │
 *                   └─ published but counted on, refused, postponed until ┘
 *
 * A series is due a second after its first packet, then after its back-off while packets keep coming, or once it is quiet (`times.ts`).
 */
import type { Millis } from '../../base/model/log-line.ts';
import type { Series, Turn, WriteKind } from '../../base/model/series.ts';
import { Heap } from '../../base/platform/heap.ts';
import { byDue, byName, laneOf, updateDue } from './times.ts';
import { createTurns } from './turns.ts';

export interface Queue {
  size: () => number;
  put: (series: Series, due: Millis) => void;
  /** Postpones a series that was not refused itself, so it keeps its turn. Without `until`, it is ready again at once. */
  postpone(series: Series, until: Millis | undefined): void;
  remove(series: Series): void;
  /** The series stays in the queue until `begin`; undefined if the budget (`availableAt`) allows none now. */
  next: (now: Millis, availableAt?: (kind: WriteKind) => Millis) => Turn | undefined;
  readonly begin: (series: Series) => void;
  hold: (until: Millis) => void;
  /** Returns when `next` may have a series; Infinity means never. */
  nextDue: () => Millis;
  /** Returns the due series, most urgent first. */
  due: (now: Millis) => Series[];
  backlog: (now: Millis) => Backlog;
}

/** `onEarlier`: called if `nextDue` may have become earlier. */
export function createQueue(restored: readonly Series[], onEarlier: (() => void) | undefined): Queue {
  const all = new Set<Series>();
  const waits = createWaits();
  const turns = createTurns(restored);
  /** When ready series are checked next. */
  let heldUntil: Millis = -Infinity;
  for (const series of restored) if (series.due !== null) wait(series, series.due);

  return {
    size: (): number => all.size,
    put,
    postpone(series: Series, until: Millis | undefined): void {
      const isBegun = turns.undo(series);
      if (until !== undefined) return put(series, until);
      if (!isBegun) return;
      turns.arrive(series);
      heldUntil = -Infinity;
      onEarlier?.();
    },
    remove(series: Series): void {
      series.due = null;
      all.delete(series);
      waits.remove(series);
      turns.leave(series);
    },
    next,
    begin: turns.begin,
    hold: (until: Millis): void => void (heldUntil = until),
    nextDue,
    due: (now: Millis): Series[] => dueOf(all, now),
    backlog: (now: Millis): Backlog => backlogOf(all, now),
  };

  function put(series: Series, due: Millis): void {
    const before = nextDue();
    turns.leave(series);
    wait(series, due);
    if (nextDue() < before) onEarlier?.();
  }

  function wait(series: Series, due: Millis): void {
    series.due = due;
    all.add(series);
    waits.set(series, due);
  }

  function nextDue(): Millis {
    return Math.min(turns.size() > 0 ? heldUntil : Infinity, waits.next());
  }

  function next(now: Millis, availableAt: (kind: WriteKind) => Millis = () => -Infinity): Turn | undefined {
    admit(now);
    const turn = turns.next(now, availableAt);
    heldUntil = typeof turn === 'number' ? turn : now;
    return typeof turn === 'number' ? undefined : turn;
  }

  /** Moves series whose time has come to the ready ones, except flows that continue: these wait for their next time. */
  function admit(now: Millis): void {
    for (let series = waits.take(now); series !== undefined; series = waits.take(now)) {
      const later = now < series.windowEnd ? updateDue(series) : -Infinity;
      if (later > now) wait(series, later);
      else turns.arrive(series);
    }
  }
}

function createWaits() {
  /** Entries with outdated times are skipped. */
  const heap = new Heap<{ series: Series; due: Millis }>((a, b) => a.due - b.due || byName(a.series, b.series));
  const times = new Map<Series, Millis>();
  /** Kept in a variable, because a replay reads it with each packet. */
  let earliest: Millis = Infinity;

  return {
    set(series: Series, due: Millis): void {
      times.set(series, due);
      heap.push({ series, due });
      findEarliest();
    },
    remove(series: Series): void {
      if (times.delete(series)) findEarliest();
    },
    next: (): Millis => earliest,
    take(now: Millis): Series | undefined {
      if (earliest > now || earliest === Infinity) return undefined;
      const first = heap.pop();
      if (first !== undefined) times.delete(first.series);
      findEarliest();
      return first?.series;
    },
  };

  function findEarliest(): void {
    let first = heap.peek();
    for (; first !== undefined && times.get(first.series) !== first.due; first = heap.peek()) heap.pop();
    earliest = first?.due ?? Infinity;
  }
}

function dueOf(all: ReadonlySet<Series>, now: Millis): Series[] {
  return [...all]
    .filter(({ due }) => (due ?? Infinity) <= now)
    .toSorted((a, b) => laneOf(a, now) - laneOf(b, now) || byDue(a, b));
}

/** How many series are due, and for how long the oldest. */
interface Backlog {
  due: number;
  oldest: Millis;
}

function backlogOf(all: ReadonlySet<Series>, now: Millis): Backlog {
  const waits = [...all].map(({ due }) => now - (due ?? Infinity)).filter((each) => each >= 0);
  return { due: waits.length, oldest: waits.reduce((most, each) => Math.max(most, each), 0) };
}
