/**
 * Decides whose turn it is among the ready series: the first line (`times.ts`) that has any; there, the object whose namespace and peer were
 * written about longest ago; of that object, what has most packets that no Event has counted. A line whose part of the budget is spent
 * is passed over, and holds up no other.
 */
import { LRUCache } from 'lru-cache';
import { objectKey } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind } from '../model/series.ts';
import { createLines, lineCount, type Party, type ReadySeries } from './lines.ts';
import { byWeight, isIncident, isUpdate, kindOf, lineOf } from './times.ts';

/** Objects of which it is known that they had an Event; past that the oldest counts as one that had none. */
const objectsKnown = 8192;

/** Namespaces and peers whose last turn is remembered although nothing of them waits. */
const partiesKept = 1000;

/** Undone if a series was not written for a reason that is not its own. */
interface Begun extends ReadySeries {
  turn: number;
  before: { namespace: number; peer: number; window: number };
}

/** `restored`: series of an earlier run, which may have had Events. */
export function createTurns(restored: readonly Series[]) {
  const entries = new Map<Series, ReadySeries>();
  const ready = createReady();
  const begun = new Map<Series, Begun>();
  const objectOf = createObjects();
  const parties = createParties();
  let turn = 0;
  for (const series of restored)
    if (series.published.writes > 0 && !isIncident(series)) noteTurn(objectOf(series), series);

  return {
    /** The number of ready series. */
    get size(): number {
      return ready.size;
    },
    arrive,
    leave,
    /** The same again until that is begun, or has left; or, where none may be written, when the first may be. */
    next: ready.next,
    begin,
    refund,
  };

  function arrive(series: Series): void {
    const { namespace = '' } = series.finding.regarding;
    const ledger = isUpdate(series) ? 'update' : 'new';
    const peer = peerOf(series);
    const entry: ReadySeries = {
      series,
      key: objectKey(series.finding.regarding),
      object: objectOf(series),
      namespace: parties.join(`${ledger} namespace ${namespace}`),
      peer: peer === undefined ? undefined : parties.join(`${ledger} peer ${peer}`),
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
    entry.namespace.waiting--;
    if (entry.peer !== undefined) entry.peer.waiting--;
    // All turns begin again if nothing waits.
    if (ready.size === 0) parties.clear();
    return entry;
  }

  function begin(series: Series): void {
    const entry = leave(series);
    if (entry === undefined) return;
    const { object, namespace, peer } = entry;
    const before = { namespace: namespace.lastTurn, peer: peer?.lastTurn ?? 0, window: object.window };
    begun.set(series, { ...entry, turn: ++turn, before });
    namespace.lastTurn = turn;
    if (peer !== undefined) peer.lastTurn = turn;
    if (!isIncident(series) && !isUpdate(series)) noteTurn(object, series);
  }

  /** Whether it was begun. Turns that were taken since stay as they are. */
  function refund(series: Series): boolean {
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

/** The objects that had turns. */
function createObjects(): (series: Series) => ReadySeries['object'] {
  const objects = new LRUCache<string, ReadySeries['object']>({ max: objectsKnown });
  return ({ finding }) => {
    const key = objectKey(finding.regarding);
    let object = objects.get(key);
    if (object === undefined) objects.set(key, (object = { window: -1 }));
    return object;
  };
}

function createParties() {
  const parties = new Map<string, Party>();
  /** Parties of which nothing waits are forgotten above this number. */
  let limit = partiesKept;

  return {
    join(name: string): Party {
      let party = parties.get(name);
      if (party === undefined) {
        if (parties.size >= limit) forget();
        parties.set(name, (party = { lastTurn: 0, waiting: 0 }));
      }
      party.waiting++;
      return party;
    },
    clear: (): void => parties.clear(),
  };

  function forget(): void {
    for (const [name, { waiting }] of parties) if (waiting === 0) parties.delete(name);
    limit = Math.max(partiesKept, 2 * parties.size);
  }
}

/** Finds the next series without a look at each: in a storm, and at the end of a long log, tens of thousands are ready. */
export function createReady() {
  const lines = createLines();
  const objects = new Map<string, Set<ReadySeries>>();

  return {
    get size(): number {
      return lines.size;
    },
    add(entry: ReadySeries): void {
      lines.add(entry);
      const same = objects.get(entry.key);
      if (same === undefined) objects.set(entry.key, new Set([entry]));
      else same.add(entry);
    },
    remove(entry: ReadySeries): void {
      lines.remove(entry);
      const same = objects.get(entry.key);
      if (same?.delete(entry) === true && same.size === 0) objects.delete(entry.key);
      // The turn of one moves the others of its object into another line.
      for (const other of same ?? []) lines.again(other);
    },
    /** Sorts all again, because after a turn that was given back some belong further to the front. */
    reorder(this: void): void {
      lines.reset();
    },
    /** Returns the next series that the budget allows now; if none may be written now, the time when one may. */
    next(this: void, now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
      lines.update(now);
      for (;;) {
        const before = lines.puts;
        const turn = look(now, availableAt);
        // A look that moved series into other lines is repeated, because an earlier line may have a series now.
        if (lines.puts === before) return turn;
      }
    },
  };

  function look(now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
    let earliest: Millis = Infinity;
    for (let index = 0; index < lineCount; index++) {
      const first = lines.firstOf(index, now);
      if (first === undefined) continue;
      const line = index >> 1;
      const kind = kindOf(line, index % 2 === 1);
      const available = availableAt(kind);
      if (available <= now) return { series: heaviest(first, line, now), kind, line };
      earliest = Math.min(earliest, available);
    }
    return earliest;
  }

  /** Returns the object's series of this line that has most packets which no Event has counted. */
  function heaviest({ key, series }: ReadySeries, line: number, now: Millis): Series {
    let most = series;
    for (const each of objects.get(key) ?? [])
      if (byWeight(each.series, most) < 0 && lineOf(each.series, now) === line) most = each.series;
    return most;
  }
}
