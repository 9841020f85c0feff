/**
 * Whose turn it is of the series that are ready: the first line (`order.ts`) that has any; there, the object whose namespace and peer were
 * written about longest ago; of that object, what has most packets that no Event has counted. A line whose part of the budget is spent
 * is passed over, and holds up no other.
 */
import { LRUCache } from 'lru-cache';
import { objectKey } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, WriteKind } from '../model/series.ts';
import { byDue, byWeight, isIncident, isUpdate, kindOf, lineOf } from './order.ts';

/** Objects of which it is known that they had an Event; past that the oldest counts as one that had none. */
const objectsKnown = 8192;

/** Namespaces and peers whose last turn is remembered although nothing of them waits. */
const partiesKept = 1000;

/** A namespace or a peer: who takes turns with others. */
interface Party {
  lastTurn: number;
  waiting: number;
}

interface Ready {
  series: Series;
  key: string;
  /** In which window its object had a turn for a drop without an Event. */
  object: { window: number };
  namespace: Party;
  peer: Party | undefined;
}

/** What is undone where a series was not written for a reason that is not its own. */
interface Begun extends Ready {
  turn: number;
  before: { namespace: number; peer: number; window: number };
}

/** `restored`: series of an earlier run, which may have had Events. */
export function createTurns(restored: readonly Series[]) {
  const ready = new Map<Series, Ready>();
  const begun = new Map<Series, Begun>();
  const objectOf = createObjects();
  const parties = createParties();
  let turn = 0;
  for (const series of restored)
    if (series.published.writes > 0 && !isIncident(series)) noteTurn(objectOf(series), series);

  return {
    /** How many are ready. */
    get size(): number {
      return ready.size;
    },
    arrive,
    leave,
    /** The same again until that is begun, or has left; or, where none may be written, when the first may be. */
    next: (now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis => choose(ready, now, availableAt),
    begin,
    refund,
  };

  function arrive(series: Series): void {
    const { namespace = '' } = series.finding.regarding;
    const ledger = isUpdate(series) ? 'update' : 'new';
    const peer = peerOf(series);
    ready.set(series, {
      series,
      key: objectKey(series.finding.regarding),
      object: objectOf(series),
      namespace: parties.join(`${ledger} namespace ${namespace}`),
      peer: peer === undefined ? undefined : parties.join(`${ledger} peer ${peer}`),
    });
  }

  function leave(series: Series): Ready | undefined {
    begun.delete(series);
    const entry = ready.get(series);
    if (entry === undefined) return undefined;
    ready.delete(series);
    entry.namespace.waiting--;
    if (entry.peer !== undefined) entry.peer.waiting--;
    // Where nothing waits, all begin again.
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
    return true;
  }
}

function choose(all: ReadonlyMap<Series, Ready>, now: Millis, availableAt: (kind: WriteKind) => Millis): Turn | Millis {
  const budget: Partial<Record<WriteKind, Millis>> = {};
  let best: (Turn & { entry: Ready }) | undefined;
  let earliest = Infinity;
  for (const entry of all.values()) {
    const line = lineOf(entry.series, now);
    const kind = kindOf(line, isMore(entry));
    const available = (budget[kind] ??= availableAt(kind));
    if (available > now) earliest = Math.min(earliest, available);
    else if (best === undefined || (line - best.line || byTurn(entry, best.entry)) < 0)
      best = { entry, series: entry.series, line, kind };
  }
  if (best === undefined) return earliest;
  const { entry, kind, line } = best;
  let series = entry.series;
  for (const each of all.values())
    if (each.key === entry.key && lineOf(each.series, now) === line && byWeight(each.series, series) < 0)
      series = each.series;
  return { series, kind, line };
}

function noteTurn(object: Ready['object'], { window }: Series): void {
  object.window = Math.max(object.window, window);
}

function peerOf({ finding: { details } }: Series): string | undefined {
  if (details.kind === 'flow') return details.peer.identity;
  return details.kind === 'scan' || details.kind === 'ports' ? details.example.peer.identity : undefined;
}

/** Whether its object had a turn for a drop without an Event in its hour. */
function isMore({ series, object }: Ready): boolean {
  return object.window === series.window;
}

/** Each object has its first before another has its second. Whose namespace or peer was written about later waits; of one namespace, whose peer was. */
function byTurn(a: Ready, b: Ready): number {
  const [ofA, ofB] = [a.peer?.lastTurn ?? 0, b.peer?.lastTurn ?? 0];
  return (
    (isUpdate(a.series) ? 0 : Number(isMore(a)) - Number(isMore(b))) ||
    Math.max(a.namespace.lastTurn, ofA) - Math.max(b.namespace.lastTurn, ofB) ||
    ofA - ofB ||
    byDue(a.series, b.series)
  );
}

/** The objects that had turns. */
function createObjects(): (series: Series) => Ready['object'] {
  const objects = new LRUCache<string, Ready['object']>({ max: objectsKnown });
  return ({ finding }) => {
    const key = objectKey(finding.regarding);
    let object = objects.get(key);
    if (object === undefined) objects.set(key, (object = { window: -1 }));
    return object;
  };
}

function createParties() {
  const parties = new Map<string, Party>();
  /** How many there may be before those of which nothing waits are forgotten. */
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
