/**
 * Decides whose turn it is among the ready series: the first line (`order.ts`) that has any; there, the object whose namespace and peer were
 * written about longest ago; of that object, what has most packets that no Event has counted. A line whose part of the budget is spent
 * is passed over, and holds up no other.
 */
import { LRUCache } from 'lru-cache';
import { objectKey } from '../model/endpoint.ts';
import type { Series } from '../model/series.ts';
import { isIncident, isUpdate } from './order.ts';
import type { Party, ReadySeries } from './lines.ts';
import { createReady } from './ready.ts';

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
