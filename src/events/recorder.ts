import type { Millis } from '../model/log-line.ts';
import type { Series, Turn, Written } from '../model/series.ts';
import { type CoreEvent, eventOf, type EventText } from './event.ts';
import { createWriteBudget, type WriteBudget } from './write-budget.ts';

/** One request to the API server that would have been made. */
export interface Write {
  time: Millis;
  verb: 'create' | 'patch';
  event: CoreEvent;
}

/** What publishing needs of a table of series. */
export interface Publishable {
  /** Takes as many as `mayTake` lets through, as their turns come. */
  takeAll: (now: Millis, mayTake: (turn: Turn) => boolean) => Series[];
  nextDue: () => Millis;
  published: (series: Series, published: Written) => void;
  postpone: (until: Millis) => void;
}

/** Publishing by the clock of the log, with a list as API server. Each node has its own series and budget, as its agent would. */
export interface Recorder<Table extends Publishable> {
  series: (node: string) => Table;
  /** Makes the writes of a node that are due before `now`. Time that runs backwards is ignored. */
  advance: (node: string, now: Millis) => void;
  /** Makes all that are left, as time would after the end of the log. */
  finish: () => void;
  /** Each Event as it was last written, by namespace and name. */
  events: ReadonlyMap<string, CoreEvent>;
  tables: () => Table[];
}

export interface RecorderOptions<Table extends Publishable> {
  createTable: () => Table;
  messageOf: (series: Series) => string | EventText;
  onWrite?: ((write: Write) => void) | undefined;
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
    let known = nodes.get(node);
    if (!known) nodes.set(node, (known = { table: createTable(), budget: createWriteBudget() }));
    return known;
  }

  function drain(table: Table, budget: WriteBudget, now: Millis): void {
    for (let at = table.nextDue(); at <= now && at < Infinity; at = table.nextDue()) {
      const batch = table.takeAll(at, ({ isFirst }) => {
        if (budget.take(at, isFirst)) return true;
        // Time for others to become due, or for more packets to come: whose turn it is shows then.
        table.postpone(budget.availableAt(at, isFirst));
        return false;
      });
      for (const series of batch) write(table, series, at);
    }
  }

  function write(table: Table, series: Series, now: Millis): void {
    const event = eventOf(series, messageOf(series), now);
    onWrite?.({ time: now, verb: series.published.writes === 0 ? 'create' : 'patch', event });
    events.set(`${event.metadata.namespace}/${event.metadata.name}`, event);
    const { count, suppressed, published } = series;
    table.published(series, { ...published, count, suppressed, writes: published.writes + 1, at: now });
  }
}
