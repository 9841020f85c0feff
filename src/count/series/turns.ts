/**
 * Decides which ready series is next. It takes the first lane (`times.ts`) whose budget allows a write. There it chooses the object whose
 * namespace, or in every second turn whose namespace and peer, have waited longest for a turn, and of that object the most important series
 * (`byWeight`).
 */
import { objectKey } from '../../base/model/endpoint.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Series, Turn, WriteKind } from '../../base/model/series.ts';
import { createGroups } from '../../base/platform/groups.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import { createLanes, indexOf, laneCount, type TurnTaker, type ReadySeries } from './lanes.ts';
import { byWeight, isIncident, isUpdate, kindOf, laneOf } from './times.ts';

/** The most objects whose Events are remembered, and the most namespaces and peers whose turns are. */
const kept = 8192;

/** The changes of a turn. They are undone if the series could not be written without being refused itself. */
interface Begun extends ReadySeries {
  turn: number;
  before: { namespace: number; peer: number; window: number };
}

/** `restored`: series of an earlier run, which may already have Events. */
export function createTurns(restored: readonly Series[]) {
  const entries = new Map<Series, ReadySeries>();
  const ready = createReady();
  const begun = new Map<Series, Begun>();
  const objectOf = createLatest<ReadySeries['object']>(() => ({ window: -1 }));
  const takerOf = createLatest<TurnTaker>(() => ({ lastTurn: 0 }));
  let turn = 0;
  for (const series of restored)
    if (series.published.writes > 0 && !isIncident(series)) noteTurn(objectOf(keyOf(series)), series);

  return {
    size: ready.size,
    arrive,
    leave,
    next: ready.next,
    begin,
    undo,
  };

  function arrive(series: Series): void {
    const { namespace = '' } = series.finding.regarding;
    const ledger = isUpdate(series) ? 'update' : 'new';
    const peer = peerOf(series);
    const key = keyOf(series);
    const entry: ReadySeries = {
      series,
      key,
      object: objectOf(key),
      namespace: takerOf(`${ledger} namespace ${namespace}`),
      peer: peer === undefined ? undefined : takerOf(`${ledger} peer ${peer}`),
    };
    entries.set(series, entry);
    ready.add(entry);
  }

  function leave(series: Series): ReadySeries | undefined {
    begun.delete(series);
    const entry = entries.get(series);
    if (entry === undefined) return undefined;
    entries.delete(series);
    ready.remove(entry);
    return entry;
  }

  function begin(series: Series): void {
    const entry = leave(series);
    if (entry === undefined) return;
    ready.noteTurn();
    const { object, namespace, peer } = entry;
    const before = { namespace: namespace.lastTurn, peer: peer?.lastTurn ?? 0, window: object.window };
    begun.set(series, { ...entry, turn: ++turn, before });
    namespace.lastTurn = turn;
    if (peer !== undefined) peer.lastTurn = turn;
    if (!isIncident(series) && !isUpdate(series)) noteTurn(object, series);
  }

  /** Undoes the turn of a series; false if it had not begun. Later turns are not changed. */
  function undo(series: Series): boolean {
    const entry = begun.get(series);
    if (entry === undefined) return false;
    const { object, namespace, peer, before } = entry;
    begun.delete(series);
    if (namespace.lastTurn === entry.turn) namespace.lastTurn = before.namespace;
    if (peer?.lastTurn === entry.turn) peer.lastTurn = before.peer;
    if (before.window < object.window) object.window = before.window;
    ready.reorder();
    return true;
  }
}

function noteTurn(object: ReadySeries['object'], { window }: Series): void {
  object.window = Math.max(object.window, window);
}

function peerOf({ finding: { details } }: Series): string | undefined {
  if (details.kind === 'flow') return details.peer.identity;
  return details.kind === 'scan' || details.kind === 'ports' ? details.example.peer.identity : undefined;
}

function keyOf({ finding }: Series): string {
  return objectKey(finding.regarding);
}

function createLatest<T extends {}>(create: () => T): (key: string) => T {
  const values = new RecentValues<T>(kept);
  return (key) => {
    let value = values.get(key);
    if (value === undefined) values.set(key, (value = create()));
    return value;
  };
}

/** Keeps the ready series sorted, because in a storm or at the end of a long log there may be tens of thousands. */
export function createReady() {
  const lanes = createLanes();
  const objects = createGroups<ReadySeries>();
  /** The half-lane of the series that was next. */
  let latest = 0;

  return {
    size: lanes.size,
    add(entry: ReadySeries): void {
      lanes.add(entry);
      objects.add(entry.key, entry);
    },
    remove(entry: ReadySeries): void {
      lanes.remove(entry);
      objects.remove(entry.key, entry);
      // A turn may move the object's other series to the second half of their lane.
      for (const other of objects.all.get(entry.key) ?? []) lanes.again(other);
    },
    /** Notes that the series that was next had its turn. */
    noteTurn: (): void => lanes.noteTurn(latest),
    /** Sorts all series again, because a turn that was undone moves some of them forward. */
    reorder(this: void): void {
      lanes.reset();
    },
    /** Returns the next series, or the time when the budget allows one. */
    next(this: void, now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
      lanes.update(now);
      for (;;) {
        const before = lanes.puts();
        const turn = look(now, availableAt);
        // If series were moved, an earlier lane may have one now.
        if (lanes.puts() === before) return turn;
      }
    },
  };

  function look(now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
    let earliest: Millis = Infinity;
    for (let index = 0; index < laneCount; index++) {
      const first = lanes.firstOf(index, now);
      if (first === undefined) continue;
      const kind = kindOf(index >> 1, index % 2 === 1);
      const available = availableAt(kind);
      if (available <= now) {
        latest = index;
        const series = heaviest(first, index, now);
        return { series, kind, lane: laneOf(series, now) };
      }
      earliest = Math.min(earliest, available);
    }
    return earliest;
  }

  function heaviest({ key, series }: ReadySeries, index: number, now: Millis): Series {
    let most = series;
    for (const each of objects.all.get(key) ?? [])
      if (byWeight(each.series, most) < 0 && indexOf(each, now) === index) most = each.series;
    return most;
  }
}
