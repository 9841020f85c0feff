/**
 * The series whose time has come, kept so that whose turn it is is found without a look at each: in a storm, and at the end of a long log,
 * tens of thousands are ready.
 *
 * Each is in the line that it stands in (`order.ts`), there with its namespace, and there in a group with those of the same peer, by the
 * times at which they were due. A turn moves one namespace and one peer back; flows become quiet and windows end, for which there is a heap
 * of times; after a turn that is given back all are put in order again. A quiet flow of which packets come again is found out when it comes
 * to the front of its group.
 */
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind } from '../model/series.ts';
import { createHeap, type Heap } from '../platform/heap.ts';
import { byDue, byWeight, isUpdate, kindOf, lastLine, lineOf } from './order.ts';
import { quietFrom } from './times.ts';

/** A namespace or a peer: who takes turns with others. */
export interface Party {
  lastTurn: number;
  waiting: number;
}

export interface ReadySeries {
  series: Series;
  key: string;
  /** In which window its object had a turn for a drop without an Event. */
  object: { window: number };
  namespace: Party;
  peer: Party | undefined;
}

/** Series of one namespace and one peer, the first that was due first. */
interface Group {
  peer: Party | undefined;
  series: Heap<ReadySeries>;
}

/** A group as it was when it was put in order. */
interface Place {
  group: Group;
  first: ReadySeries;
  turn: number;
}

interface Namespace {
  groups: Map<Party | undefined, Group>;
  order: Heap<Place>;
}

/** Each half of a line: first series of objects, then further ones. */
type Line = Map<Party, Namespace>;

/** So many may be put into lines, beside twice as many as are ready, before what has left them since is cleared away. */
const putBeforeReset = 10_000;
/** A flow of which packets come again becomes quiet at another time. */
const lookAgain: Millis = 60_000;

export function createReady() {
  /** In which group each is; undefined: in none yet. */
  const groups = new Map<ReadySeries, Group | undefined>();
  const objects = new Map<string, Set<ReadySeries>>();
  const lines: Line[] = Array.from({ length: 2 * lastLine + 2 }, () => new Map<Party, Namespace>());
  let changes = createHeap<{ entry: ReadySeries; at: Millis }>((a, b) => a.at - b.at);
  let fresh: ReadySeries[] = [];
  let putSinceReset = 0;

  return {
    get size(): number {
      return groups.size;
    },
    add(entry: ReadySeries): void {
      groups.set(entry, undefined);
      fresh.push(entry);
      const same = objects.get(entry.key);
      if (same === undefined) objects.set(entry.key, new Set([entry]));
      else same.add(entry);
    },
    remove(entry: ReadySeries): void {
      groups.delete(entry);
      const same = objects.get(entry.key);
      if (same?.delete(entry) === true && same.size === 0) objects.delete(entry.key);
      if (groups.size === 0) reset();
    },
    /** A turn was given back: some may come earlier than they stand. */
    reorder: reset,
    /** Who is next of those that the budget allows now; or, where none may be written, when the first may be. */
    next(now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
      putFresh(now);
      for (;;) {
        const before = putSinceReset;
        const turn = look(now, availableAt);
        // Otherwise some were found to belong into another line, perhaps an earlier one.
        if (putSinceReset === before) return turn;
      }
    },
  };

  function look(now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
    let earliest: Millis = Infinity;
    for (let index = 0; index < lines.length; index++) {
      const first = firstOf(index, now);
      if (first === undefined) continue;
      const line = index >> 1;
      const kind = kindOf(line, index % 2 === 1);
      const available = availableAt(kind);
      if (available <= now) return { series: heaviest(first, line, now), kind, line };
      earliest = Math.min(earliest, available);
    }
    return earliest;
  }

  function reset(): void {
    for (const line of lines) line.clear();
    changes = createHeap((a, b) => a.at - b.at);
    fresh = [...groups.keys()];
    putSinceReset = 0;
  }

  function putFresh(now: Millis): void {
    if (putSinceReset > 2 * groups.size + putBeforeReset) reset();
    for (const entry of fresh) if (groups.has(entry)) put(entry, now);
    fresh = [];
    for (let next = changes.peek(); next !== undefined && next.at <= now; next = changes.peek()) {
      changes.pop();
      if (groups.has(next.entry)) put(next.entry, now);
    }
  }

  function put(entry: ReadySeries, now: Millis): void {
    const { namespace, peer, series } = entry;
    const line = lines[indexOf(entry, now)] as Line;
    const known = line.get(namespace) ?? { groups: new Map(), order: createHeap(byPlace) };
    line.set(namespace, known);
    const group = known.groups.get(peer) ?? {
      peer,
      series: createHeap<ReadySeries>((a, b) => byDue(a.series, b.series)),
    };
    known.groups.set(peer, group);
    groups.set(entry, group);
    group.series.push(entry);
    if (group.series.peek() === entry) known.order.push({ group, first: entry, turn: turnOf(peer) });
    putSinceReset++;
    const at = isUpdate(series) ? quietFrom(series) : series.windowEnd;
    if (at > now) changes.push({ entry, at: Math.min(at, now + lookAgain) });
  }

  /** The first of a line, by the turns of namespaces and peers. */
  function firstOf(index: number, now: Millis): ReadySeries | undefined {
    let best: { at: Place; turn: number } | undefined;
    const line = lines[index] as Line;
    for (const [party, namespace] of line) {
      const at = firstPlace(namespace, index, now);
      if (at === undefined) {
        line.delete(party);
        continue;
      }
      const turn = Math.max(party.lastTurn, at.turn);
      if (best === undefined || (turn - best.turn || byPlace(at, best.at)) < 0) best = { at, turn };
    }
    return best?.at.first;
  }

  /** The first group of a namespace that stands where it should; undefined where there is none. */
  function firstPlace({ groups: known, order }: Namespace, index: number, now: Millis): Place | undefined {
    for (let at = order.peek(); at !== undefined; at = order.peek()) {
      const { group } = at;
      const first = firstIn(group, index, now);
      const turn = turnOf(group.peer);
      if (first !== undefined && first === at.first && turn === at.turn) return at;
      order.pop();
      if (first === undefined) known.delete(group.peer);
      else order.push({ group, first, turn });
    }
    return undefined;
  }

  /** Those that have left are passed over, and those that belong into another line by now are put there. */
  function firstIn(group: Group, index: number, now: Millis): ReadySeries | undefined {
    for (let entry = group.series.peek(); entry !== undefined; entry = group.series.peek()) {
      const isHere = groups.get(entry) === group;
      if (isHere && indexOf(entry, now) === index) return entry;
      group.series.pop();
      if (isHere) put(entry, now);
    }
    return undefined;
  }

  /** Of one object and line, what has most packets that no Event has counted. */
  function heaviest({ key, series }: ReadySeries, line: number, now: Millis): Series {
    let most = series;
    for (const each of objects.get(key) ?? [])
      if (byWeight(each.series, most) < 0 && lineOf(each.series, now) === line) most = each.series;
    return most;
  }
}

/** Each object has its first before another has its second. */
function indexOf({ series, object }: ReadySeries, now: Millis): number {
  const isMore = !isUpdate(series) && object.window === series.window;
  return 2 * lineOf(series, now) + Number(isMore);
}

function turnOf(peer: Party | undefined): number {
  return peer?.lastTurn ?? 0;
}

/** Of one namespace, whose peer was written about later waits. */
function byPlace(a: Place, b: Place): number {
  return a.turn - b.turn || byDue(a.first.series, b.first.series);
}
