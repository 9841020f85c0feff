/**
 * Keeps the ready series sorted, so that the next one is found without checking each. A lane (`times.ts`) contains namespaces, a namespace
 * has one group for each peer, and a group has series sorted by due time. A turn moves the namespace and the peer back. A heap of times
 * shows when a series moves to another lane, because its flow becomes quiet or its window ends. A quiet flow that gets packets again is
 * moved when it comes to the front of its group.
 */
import type { Millis } from '../../base/model/log-line.ts';
import type { Series } from '../../base/model/series.ts';
import { Heap } from '../../base/platform/heap.ts';
import { byDue, halfLaneOf, isUpdate, lastLane, laneOf, quietFrom } from './times.ts';

/** A namespace or a peer that takes turns with others. */
export interface TurnTaker {
  lastTurn: number;
}

export interface ReadySeries {
  series: Series;
  key: string;
  /** The latest window in which this object had a turn for a drop without an Event; -1 if there was none. */
  object: { window: number };
  namespace: TurnTaker;
  peer: TurnTaker | undefined;
}

interface Group {
  peer: TurnTaker | undefined;
  series: Heap<ReadySeries>;
}

interface Place {
  group: Group;
  first: ReadySeries;
  turn: number;
}

interface Namespace {
  groups: Map<TurnTaker | undefined, Group>;
  order: Heap<Place>;
  /** The valid entry of this namespace in the lane. Its other entries there are outdated. */
  front: Front | undefined;
}

interface Front {
  taker: TurnTaker;
  at: Place;
  /** The last turn of the namespace, and the last one of it or of the peer. */
  own: number;
  turn: number;
}

/** One half of a lane: either the first series of each object, or the further ones. */
interface Lane {
  namespaces: Map<TurnTaker, Namespace>;
  /** Both have each namespace. They are used in turns, as `firstOf` says. */
  byNamespace: Heap<Front>;
  byBoth: Heap<Front>;
}

interface Change {
  entry: ReadySeries;
  at: Millis;
}

interface LaneTable {
  groups: Map<ReadySeries, Group | undefined>;
  /** Made on first use, because a replay has a table for each node. */
  lanes: (Lane | undefined)[];
  changes: Heap<Change>;
  puts: number;
}

export const laneCount = 2 * lastLane + 2;
/**
 * Outdated entries leave a heap only when they reach its front. So the heaps are rebuilt when the number of puts exceeds two for each ready
 * series by this much.
 */
const putsBeforeReset = 10_000;
/** How often the time of a flow is checked. New packets may shorten its average pause, so that it becomes quiet earlier. */
const lookAgain: Millis = 60_000;

export function createLanes() {
  const sorted: LaneTable = {
    groups: new Map(),
    lanes: [],
    changes: new Heap(byTime),
    puts: 0,
  };
  let fresh: ReadySeries[] = [];
  /** The half-lanes whose next turn is by namespaces alone. */
  const isByNamespace: boolean[] = [];

  return {
    size: (): number => sorted.groups.size,
    puts: (): number => sorted.puts,
    add(entry: ReadySeries): void {
      sorted.groups.set(entry, undefined);
      fresh.push(entry);
    },
    again(entry: ReadySeries): void {
      fresh.push(entry);
    },
    remove(entry: ReadySeries): void {
      sorted.groups.delete(entry);
      if (sorted.groups.size === 0) reset();
    },
    reset,
    update(now: Millis): void {
      if (sorted.puts > 2 * sorted.groups.size + putsBeforeReset) reset();
      for (const entry of fresh) if (sorted.groups.has(entry)) put(sorted, entry, now);
      fresh = [];
      for (let next = sorted.changes.peek(); next !== undefined && next.at <= now; next = sorted.changes.peek()) {
        sorted.changes.pop();
        if (sorted.groups.has(next.entry)) put(sorted, next.entry, now);
      }
    },
    noteTurn: (index: number): void => void (isByNamespace[index] = isByNamespace[index] !== true),
    /**
     * `index`: a half-lane, as in `indexOf`. Every second turn is by namespaces alone, so that nobody delays a namespace by packets to its peers.
     * The others are also by peers, so that one peer delays nobody by packets to all namespaces.
     */
    firstOf(index: number, now: Millis): ReadySeries | undefined {
      const lane = sorted.lanes[index];
      if (lane === undefined) return undefined;
      const order = isByNamespace[index] === true ? lane.byNamespace : lane.byBoth;
      for (let front = order.peek(); front !== undefined; front = order.peek()) {
        const { taker } = front;
        const namespace = lane.namespaces.get(taker);
        const isLatest = namespace?.front === front;
        const at = isLatest ? firstPlace(sorted, namespace, index, now) : undefined;
        // An outdated entry is replaced. A namespace that had a turn since then moves back.
        if (at !== undefined && at === front.at && taker.lastTurn === front.own) return at.first;
        order.pop();
        if (at !== undefined) setFront(lane, taker, namespace as Namespace, at);
        else if (isLatest) lane.namespaces.delete(taker);
      }
      return undefined;
    },
  };

  function reset(): void {
    sorted.lanes = [];
    sorted.changes = new Heap(byTime);
    fresh = [...sorted.groups.keys()];
    sorted.puts = 0;
  }
}

function createLane(): Lane {
  return { namespaces: new Map(), byNamespace: new Heap(byOwnTurn), byBoth: new Heap(byTurn) };
}

function put(sorted: LaneTable, entry: ReadySeries, now: Millis): void {
  const { namespace, peer, series } = entry;
  const lane = (sorted.lanes[indexOf(entry, now)] ??= createLane());
  const known = lane.namespaces.get(namespace) ?? { groups: new Map(), order: new Heap(byPlace), front: undefined };
  lane.namespaces.set(namespace, known);
  const group = known.groups.get(peer) ?? {
    peer,
    series: new Heap<ReadySeries>(byDueTime),
  };
  known.groups.set(peer, group);
  sorted.groups.set(entry, group);
  group.series.push(entry);
  if (group.series.peek() === entry) {
    const at = { group, first: entry, turn: turnOf(peer) };
    known.order.push(at);
    if (known.order.peek() === at) setFront(lane, namespace, known, at);
  }
  sorted.puts++;
  const at = isUpdate(series) ? Math.min(quietFrom(series), now + lookAgain) : series.windowEnd;
  if (at > now) sorted.changes.push({ entry, at });
}

function setFront(lane: Lane, taker: TurnTaker, namespace: Namespace, at: Place): void {
  namespace.front = { taker, at, own: taker.lastTurn, turn: Math.max(taker.lastTurn, at.turn) };
  lane.byNamespace.push(namespace.front);
  lane.byBoth.push(namespace.front);
}

/** Returns the first group of a namespace, and corrects outdated entries. */
function firstPlace(
  sorted: LaneTable,
  { groups: known, order }: Namespace,
  index: number,
  now: Millis,
): Place | undefined {
  for (let at = order.peek(); at !== undefined; at = order.peek()) {
    const { group } = at;
    const first = firstIn(sorted, group, index, now);
    const turn = turnOf(group.peer);
    if (first !== undefined && first === at.first && turn === at.turn) return at;
    order.pop();
    if (first === undefined) known.delete(group.peer);
    else order.push({ group, first, turn });
  }
  return undefined;
}

/** Returns the first series of a group. Drops series that are no longer ready, and moves those that belong to another lane. */
function firstIn(sorted: LaneTable, group: Group, index: number, now: Millis): ReadySeries | undefined {
  for (let entry = group.series.peek(); entry !== undefined; entry = group.series.peek()) {
    const isHere = sorted.groups.get(entry) === group;
    if (isHere && indexOf(entry, now) === index) return entry;
    group.series.pop();
    if (isHere) put(sorted, entry, now);
  }
  return undefined;
}

/** Returns the number of a half-lane. */
export function indexOf({ series, object }: ReadySeries, now: Millis): number {
  const isMore = !isUpdate(series) && object.window === series.window;
  return halfLaneOf(laneOf(series, now), isMore);
}

function turnOf(peer: TurnTaker | undefined): number {
  return peer?.lastTurn ?? 0;
}

function byDueTime(a: ReadySeries, b: ReadySeries): number {
  return byDue(a.series, b.series);
}

/** In a namespace, the peer that has waited longest for a turn is first. */
function byPlace(a: Place, b: Place): number {
  return a.turn - b.turn || byDue(a.first.series, b.first.series);
}

/** The namespace that has waited longest is first. */
function byOwnTurn(a: Front, b: Front): number {
  return a.own - b.own || byPlace(a.at, b.at);
}

/** The last turn of its first peer also counts. */
function byTurn(a: Front, b: Front): number {
  return a.turn - b.turn || byPlace(a.at, b.at);
}

function byTime(a: Change, b: Change): number {
  return a.at - b.at;
}
