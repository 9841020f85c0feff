import { objectKey } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** A series that is due. */
interface Waiting {
  series: Series;
  rank: number;
  /** Its hour is over. */
  isPast: boolean;
}

/** And whose turn it takes. */
interface Candidate extends Waiting {
  /** How many Events its object has or gets before this one. */
  objectTurn: number;
  /** How many of its namespace and of its peer go before it. */
  turn: number;
  /** When its namespace or its peer was last written about; 0: not yet. */
  served: Millis;
}

/**
 * The order in which series that are due are written. Incidents before drops, Pod notices last; first writes before updates. Among
 * these each object has its first Event before another has its second, and what happens now goes before what was in hours that are
 * over. Namespaces and peers take turns, so that neither a tenant with a thousand problems nor a peer that scans holds up others.
 * Then what has waited longest. `all`: series that say what was written before.
 */
export function byUrgency(ready: readonly Series[], all: Iterable<Series>, now: Millis): Series[] {
  if (ready.length < 2) return [...ready];
  const lastWrites = lastWritesOf(all);
  const takeTurn = createTurns();
  return ready
    .map((series): Waiting => ({ series, rank: rankOf(series), isPast: series.windowEnd <= now }))
    .toSorted((a, b) => a.rank - b.rank || Number(a.isPast) - Number(b.isPast) || byAge(a, b))
    .map(({ series, rank, isPast }): Candidate => {
      const { object, parties } = partiesOf(series);
      const hadTurn = lastWrites.has(object) || series.published.retried === true;
      const objectTurn = takeTurn(`${rank} ${object}`) + (hadTurn ? 1 : 0);
      const turns = parties.map((party) => takeTurn(`${rank} ${objectTurn} ${party}`));
      const served = Math.max(...parties.map((party) => lastWrites.get(party) ?? 0));
      return { series, rank, isPast, objectTurn, turn: Math.max(...turns), served };
    })
    .toSorted(
      (a, b) =>
        a.rank - b.rank ||
        a.objectTurn - b.objectTurn ||
        Number(a.isPast) - Number(b.isPast) ||
        a.turn - b.turn ||
        a.served - b.served ||
        byAge(a, b),
    )
    .map(({ series }) => series);
}

function byAge({ series: a }: Waiting, { series: b }: Waiting): number {
  return (a.due ?? 0) - (b.due ?? 0) || (a.finding.identity < b.finding.identity ? -1 : 1);
}

function rankOf({ finding: { details }, published: { writes, retried } }: Series): number {
  const kind = details.kind !== 'incident' ? 2 : details.role === 'full' ? 0 : 4;
  // What is refused again and again must not keep updates from being written.
  return writes > 0 || retried === true ? kind + 1 : kind;
}

/** The object of a series, and who takes turns: its namespace and, of a drop, its peer. */
function partiesOf({ finding: { regarding, details } }: Series): { object: string; parties: string[] } {
  const parties = [`namespace ${regarding.namespace ?? ''}`];
  if (details.kind === 'flow') parties.push(`peer ${details.peer.identity}`);
  return { object: `object ${objectKey(regarding)}`, parties };
}

/** By object and by party. */
function lastWritesOf(all: Iterable<Series>): Map<string, Millis> {
  const times = new Map<string, Millis>();
  for (const series of all) {
    const { at } = series.published;
    if (at === null) continue;
    const { object, parties } = partiesOf(series);
    for (const key of [object, ...parties]) times.set(key, Math.max(at, times.get(key) ?? 0));
  }
  return times;
}

/** Counts from 0 for each key. */
function createTurns(): (key: string) => number {
  const taken = new Map<string, number>();
  return (key) => {
    const turn = taken.get(key) ?? 0;
    taken.set(key, turn + 1);
    return turn;
  };
}
