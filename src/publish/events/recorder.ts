import type { Millis } from '../../base/model/log-line.ts';
import type { Series, Turn } from '../../base/model/series.ts';
import { type CoreEvent, eventOf, type EventText } from './event.ts';
import type { Publishable } from './publisher.ts';
import { createWriteBudget, type WriteBudget } from './write-budget.ts';

/** A request that would have been sent to the API server. */
export interface WriteRequest {
  time: Millis;
  verb: 'create' | 'patch';
  event: CoreEvent;
}

/** Publishes into a list, by the clock of the log. Each node has its own series and budget, as with an agent on it. */
export interface Recorder<Table extends Publishable> {
  series: (node: string) => Table;
  advance: (node: string, now: Millis) => void;
  finish: () => void;
  /** The latest version of each Event, by `namespace/name`. */
  events: ReadonlyMap<string, CoreEvent>;
  tables: () => Table[];
}

/** More than the largest clusters have. Past them, the names of hosts in a log may be anything, and all share one table. */
export const mostNodes = 8192;
const unnamed = '';

export interface RecorderOptions<Table extends Publishable> {
  createTable: () => Table;
  messageOf: (series: Series) => string | EventText;
  onWrite?: ((write: WriteRequest) => void) | undefined;
}

export function createRecorder<Table extends Publishable>({
  createTable,
  messageOf,
  onWrite,
}: RecorderOptions<Table>): Recorder<Table> {
  const nodes = new Map<string, { table: Table; budget: WriteBudget }>();
  const events = new Map<string, CoreEvent>();
  return {
    events,
    series: (node) => nodeOf(node).table,
    advance(node, now) {
      const { table, budget } = nodeOf(node);
      if (table.nextDue() <= now) drain(table, budget, now);
    },
    finish() {
      for (const { table, budget } of nodes.values()) drain(table, budget, Infinity);
    },
    tables: () => [...nodes.values()].map(({ table }) => table),
  };

  function nodeOf(node: string): { table: Table; budget: WriteBudget } {
    const name = nodes.has(node) || nodes.size < mostNodes ? node : unnamed;
    let known = nodes.get(name);
    if (!known) nodes.set(name, (known = { table: createTable(), budget: createWriteBudget() }));
    return known;
  }

  function drain(table: Table, budget: WriteBudget, now: Millis): void {
    for (let at = table.nextDue(); at <= now && at < Infinity; at = table.nextDue()) {
      const turns: Turn[] = [];
      for (let turn = begin(table, budget, at); turn !== undefined; turn = begin(table, budget, at)) turns.push(turn);
      // Writes of the same time are sorted by lane, then by when they became due.
      for (const { series } of turns.toSorted(byDue)) write(table, series, at);
    }
  }

  function begin(table: Table, budget: WriteBudget, now: Millis): Turn | undefined {
    const turn = table.next(now, (kind) => budget.availableAt(now, kind));
    if (turn === undefined) return undefined;
    budget.spend(now, turn.kind);
    table.begin(turn.series);
    return turn;
  }

  function write(table: Table, series: Series, now: Millis): void {
    const event = eventOf(series, messageOf(series), now);
    onWrite?.({ time: now, verb: series.published.writes === 0 ? 'create' : 'patch', event });
    events.set(`${event.metadata.namespace}/${event.metadata.name}`, event);
    const { count, suppressed, published } = series;
    const after = { ...published, count, suppressed, writes: published.writes + 1, at: now };
    table.end(series, { kind: 'published', published: after });
  }
}

function byDue(a: Turn, b: Turn): number {
  const order = a.lane - b.lane || (a.series.due ?? 0) - (b.series.due ?? 0);
  return order || (a.series.finding.identity < b.series.finding.identity ? -1 : 1);
}
