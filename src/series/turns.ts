import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import { createObjectsWaiting, type WaitingObject } from './objects-waiting.ts';
import { createSeats, type Seat } from './seats.ts';
import { createTurnsHad } from './turns-had.ts';
import { byWeight, rankOf, ranks } from './urgency.ts';

/** Objects that had more Events are all in the last group. */
const levels = 16;

/**
 * The order in which series that are due are written. By rank first; among drops without an Event, each object has its first
 * before another has its second. Then namespaces and peers take turns. An object has one seat for its series of one rank,
 * whatever their number.
 */
export function createTurns(restored: readonly Series[]) {
  const waiting = createObjectsWaiting();
  const seats = createSeats<WaitingObject>();
  const had = createTurnsHad(restored);
  /** The seats of series that are being written. */
  const taken = new Map<Series, Seat<WaitingObject>>();

  return {
    get size(): number {
      return waiting.size;
    },
    add,
    /** It needs no turn any more. */
    remove(series: Series): void {
      taken.delete(series);
      stopWaiting(series);
    },
    /** It has its turn, and the next one of its object comes after others. */
    take(series: Series): void {
      const object = waiting.of(series);
      const seat = object && seats.of(object);
      if (seat === undefined) return;
      taken.set(series, seat);
      if (isNew(seat.holder.rank)) had.add(series, 1);
      seats.call(seat);
      stopWaiting(series);
      if (seat.holder.series.size > 0) sit(seat.holder);
    },
    /** It was taken, and not written for a reason that is not its own: it has the turn that it had. */
    giveBack(series: Series, now: Millis): void {
      const seat = refund(series);
      if (seat === undefined) return;
      const holder = add(series, now);
      if (holder.rank === seat.holder.rank) seats.goBack(holder, seat);
    },
    /** The same, but it is not due any more. */
    refund,
    next(now: Millis): Turn | undefined {
      for (let seat = seats.first(); seat !== undefined; seat = seats.first()) {
        const series = heaviest(seat.holder.series);
        if (rankOf(series, now) === seat.holder.rank) return { series, isFirst: isFirst(seat) };
        // Its hour has ended since.
        stopWaiting(series);
        add(series, now);
      }
      return undefined;
    },
  };

  function add(series: Series, now: Millis): WaitingObject {
    const object = waiting.add(series, rankOf(series, now));
    const peer = peerOf(series);
    if (seats.of(object) === undefined) sit(object);
    else if (peer !== undefined) seats.moveUp(object, peer);
    return object;
  }

  function sit(object: WaitingObject): void {
    const series = heaviest(object.series);
    const level = isNew(object.rank) ? Math.min(had.of(series), levels - 1) : 0;
    const namespace = series.finding.regarding.namespace ?? '';
    seats.sit(object, object.rank * levels + level, { namespace, peer: peerOf(series) });
  }

  function stopWaiting(series: Series): void {
    const object = waiting.remove(series);
    if (object?.series.size === 0) seats.leave(object);
  }

  function refund(series: Series): Seat<WaitingObject> | undefined {
    const seat = taken.get(series);
    taken.delete(series);
    if (seat !== undefined && isNew(seat.holder.rank)) had.add(series, -1);
    return seat;
  }
}

function peerOf({ finding: { details } }: Series): string | undefined {
  if (details.kind === 'flow') return details.peer.identity;
  return details.kind === 'scan' || details.kind === 'ports' ? details.example.peer.identity : undefined;
}

function heaviest(ready: ReadonlySet<Series>): Series {
  let first: Series | undefined;
  for (const series of ready) if (first === undefined || byWeight(series, first) < 0) first = series;
  return first as Series;
}

function isNew(rank: number): boolean {
  return rank === ranks.drop.first || rank === ranks.drop.late;
}

function isFirst({ group, holder: { rank } }: Seat<WaitingObject>): boolean {
  return rank <= ranks.incident.late || group === ranks.drop.first * levels;
}
