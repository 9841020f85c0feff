import { LRUCache } from 'lru-cache';
import { objectKey } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn } from '../model/series.ts';
import { createHeap } from '../platform/heap.ts';
import { byWeight, rankOf, ranks } from './urgency.ts';

/** An object with series of one rank that are due. It has one seat, whatever their number. */
interface Place {
  object: string;
  rank: number;
  ready: Set<Series>;
  seat: Seat;
}

/** A place in the order of turns; one that is not its place's any more is passed over. */
interface Seat {
  place: Place;
  group: number;
  turn: number;
  /** The turn that the namespace alone would have. */
  namespaceTurn: number;
  /** The order in which seats were taken. */
  order: number;
}

/** Seats that are given out in turns: those of one rank whose objects had as many Events. */
interface Group {
  seats: number;
  /** The turn that it is. */
  current: number;
  /** The last turn that each namespace and each peer has. */
  last: Map<string, number>;
}

/** Objects that had more Events are all in the last group. */
const levels = 16;
/** Objects of which it is known how many Events they had; past that the oldest counts as one that had none. */
const objectsKnown = 8192;
/** Namespaces and peers that a group keeps without looking which of them still wait. */
const partiesKept = 1000;

/**
 * The order in which series that are due are written. By rank first; among drops without an Event, each object has its first
 * before another has its second. Then namespaces and peers take turns: the turn of a seat is one past the last of its namespace
 * and of its peer, or the current one where these have waited for nothing (start-time fair queueing). So a namespace with one
 * problem waits for one turn of each of the others, however many they have. Each change takes O(log n).
 */
export function createTurns(restored: readonly Series[]) {
  const places = new Map<string, Place>();
  const placeOf = new Map<Series, Place>();
  /** The seats of series that are being written. */
  const taken = new Map<Series, Seat>();
  const seats = createHeap(compareSeats);
  const groups = new Map<number, Group>();
  /** Turns that each object had for drops without an Event, in the window that it had the last in. */
  const had = new LRUCache<string, { window: number; turns: number }>({ max: objectsKnown });
  let order = 0;
  for (const series of restored)
    if (series.published.writes > 0 && series.finding.details.kind !== 'incident') hadTurn(series, 1);

  return {
    get size(): number {
      return placeOf.size;
    },
    add,
    /** It needs no turn any more. */
    remove(series: Series): void {
      taken.delete(series);
      removeFrom(placeOf.get(series), series, false);
    },
    /** It has its turn, and the next one of its object comes after others. */
    take(series: Series): void {
      const place = placeOf.get(series);
      if (place === undefined) return;
      taken.set(series, place.seat);
      if (isNew(place.rank)) hadTurn(series, 1);
      const group = groupOf(place.seat.group);
      group.current = Math.max(group.current, place.seat.turn);
      removeFrom(place, series, true);
    },
    /** It was taken, and not written for a reason that is not its own: it has the turn that it had. */
    giveBack(series: Series, now: Millis): void {
      const seat = refund(series);
      if (seat === undefined) return;
      const place = add(series, now);
      if (place.rank !== seat.place.rank || compareSeats(place.seat, seat) <= 0) return;
      const { seat: later } = place;
      place.seat = enter({ ...seat, place });
      leave(later);
    },
    /** The same, but it is not due any more. */
    refund,
    next(now: Millis): Turn | undefined {
      for (let seat = seats.peek(); seat !== undefined; seat = seats.peek()) {
        const { place } = seat;
        if (place.seat !== seat || place.ready.size === 0) {
          seats.pop();
          continue;
        }
        const series = heaviest(place.ready);
        if (rankOf(series, now) === place.rank) return { series, isFirst: isFirst(seat) };
        // Its hour has ended since.
        removeFrom(place, series, false);
        add(series, now);
      }
      return undefined;
    },
  };

  function refund(series: Series): Seat | undefined {
    const seat = taken.get(series);
    taken.delete(series);
    if (seat !== undefined && isNew(seat.place.rank)) hadTurn(series, -1);
    return seat;
  }

  /** `movesOn`: what else its object has comes after others. */
  function removeFrom(place: Place | undefined, series: Series, movesOn: boolean): void {
    if (place === undefined) return;
    placeOf.delete(series);
    place.ready.delete(series);
    if (place.ready.size > 0 && !movesOn) return;
    const { seat } = place;
    if (place.ready.size > 0) place.seat = sit(place);
    else places.delete(keyOf(place.rank, place.object));
    leave(seat);
  }

  function add(series: Series, now: Millis): Place {
    const rank = rankOf(series, now);
    const object = objectKey(series.finding.regarding);
    const known = places.get(keyOf(rank, object));
    if (known !== undefined) {
      known.ready.add(series);
      placeOf.set(series, known);
      moveUp(known, series);
      return known;
    }
    const place = { object, rank, ready: new Set([series]) } as Place;
    places.set(keyOf(rank, object), place);
    placeOf.set(series, place);
    place.seat = sit(place);
    return place;
  }

  function sit(place: Place): Seat {
    const series = heaviest(place.ready);
    const level = isNew(place.rank) ? Math.min(turnsHad(series), levels - 1) : 0;
    const number = place.rank * levels + level;
    const group = groupOf(number);
    const namespaceTurn = takeTurn(group, namespaceOf(series));
    const peer = peerOf(series);
    const peerTurn = peer === undefined ? 0 : takeTurn(group, peer);
    const turn = Math.max(namespaceTurn, peerTurn);
    return enter({ place, group: number, turn, namespaceTurn, order: order++ });
  }

  /** An object that waits because of one peer must not wait for that peer's turn when it has something about another. */
  function moveUp(place: Place, series: Series): void {
    const { seat } = place;
    const peer = peerOf(series);
    if (peer === undefined || seat.turn === seat.namespaceTurn) return;
    const group = groupOf(seat.group);
    const turn = Math.max(seat.namespaceTurn, turnAfter(group, peer));
    if (turn >= seat.turn) return;
    group.last.set(peer, turn);
    place.seat = enter({ ...seat, turn });
    leave(seat);
  }

  function enter(seat: Seat): Seat {
    groupOf(seat.group).seats++;
    seats.push(seat);
    return seat;
  }

  function leave(seat: Seat): void {
    const group = groupOf(seat.group);
    // When none waits, all begin again.
    if (--group.seats === 0) groups.delete(seat.group);
  }

  function groupOf(number: number): Group {
    let group = groups.get(number);
    if (group === undefined) groups.set(number, (group = { seats: 0, current: 0, last: new Map() }));
    return group;
  }

  function hadTurn({ window, finding }: Series, turns: number): void {
    const object = objectKey(finding.regarding);
    const known = had.get(object);
    if (known?.window === window) known.turns += turns;
    else if (turns > 0 && (known === undefined || known.window < window)) had.set(object, { window, turns });
  }

  function turnsHad({ window, finding }: Series): number {
    const known = had.get(objectKey(finding.regarding));
    return known?.window === window ? known.turns : 0;
  }
}

function compareSeats(a: Seat, b: Seat): number {
  return a.group - b.group || a.turn - b.turn || a.order - b.order;
}

function keyOf(rank: number, object: string): string {
  return `${rank} ${object}`;
}

function takeTurn(group: Group, party: string): number {
  const turn = turnAfter(group, party);
  group.last.set(party, turn);
  if (group.last.size > partiesKept + 4 * group.seats)
    for (const [each, last] of group.last) if (last <= group.current) group.last.delete(each);
  return turn;
}

function turnAfter({ current, last }: Group, party: string): number {
  return Math.max(current, last.get(party) ?? 0) + 1;
}

function namespaceOf({ finding }: Series): string {
  return `namespace ${finding.regarding.namespace ?? ''}`;
}

function peerOf({ finding: { details } }: Series): string | undefined {
  if (details.kind === 'flow') return `peer ${details.peer.identity}`;
  return details.kind === 'scan' ? `peer ${details.example.peer.identity}` : undefined;
}

function heaviest(ready: ReadonlySet<Series>): Series {
  let first: Series | undefined;
  for (const series of ready) if (first === undefined || byWeight(series, first) < 0) first = series;
  return first as Series;
}

function isNew(rank: number): boolean {
  return rank === ranks.drop.first || rank === ranks.drop.late;
}

function isFirst({ group, place: { rank } }: Seat): boolean {
  return rank <= ranks.incident.late || group === ranks.drop.first * levels;
}
