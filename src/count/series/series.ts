/** Counts findings by problem, object and hour, and returns the series that are due. */
import type { Millis } from '../../base/model/log-line.ts';
import type { Series, SeriesState, TurnEnd, WrittenEvent } from '../../base/model/series.ts';
import type { StateChange } from '../../base/platform/keyed-changes.ts';
import { createSeriesChanges } from './changes.ts';
import { type Counter, createCounter } from './counter.ts';
import { createOpenSeries, type SeriesLimits } from './open-series.ts';
import { createQueue, type Queue } from './queue.ts';
import { dueAfter } from './times.ts';

export type { SeriesLimits } from './open-series.ts';
export { readSeries } from './changes.ts';
export { longestInterval, readSpreadOf, spreadOf, windowLength, windowOf } from './times.ts';

const defaultSeriesLimits: SeriesLimits = { perObject: 8, total: 20_000 };

export interface SeriesTable
  extends
    Pick<Counter, 'count' | 'countAmongOthers' | 'suppress'>,
    Pick<Queue, 'next' | 'begin' | 'hold' | 'nextDue' | 'due' | 'backlog'> {
  end: (series: Series, ended: TurnEnd) => void;
  /** Packets without a series, and packets of overflow series. */
  counts: Readonly<{ uncounted: number; overflowed: number }>;
  /** How many series are held, and how many of them have something to publish. */
  readonly sizes: { series: number; pending: number };
  /** Changes with every change of the counts. */
  readonly revision: number;
  /** Returns the changes since the last call, or everything at first. */
  takeChanges: () => StateChange[];
  /** Returns everything. Each value is copied when it is read. */
  entries: () => Generator<StateChange>;
  /** Returns the rest of the state, not copied. */
  totals: () => Omit<SeriesState, 'series' | 'past' | 'objects'>;
}

export interface SeriesTableOptions {
  limits?: SeriesLimits;
  /** The state of an earlier table. It becomes part of this one. */
  restored?: SeriesState | undefined;
  /** The clock for writes. By default the times of packets. */
  now?: (() => Millis) | undefined;
  /** Called if `nextDue` may have become earlier. */
  onEarlier?: (() => void) | undefined;
  /** Returns how much later a series is due; by default 0. */
  spread?: ((series: Series) => Millis) | undefined;
}

export function createSeriesTable(options: SeriesTableOptions = {}): SeriesTable {
  const { limits = defaultSeriesLimits, restored, now, onEarlier, spread = () => 0 } = options;
  const changes = createSeriesChanges();
  const all = restored ? [...restored.series, ...restored.past] : [];
  const queue = createQueue(all, onEarlier);
  /** Series that may have an Event at the API server, even if no answer came. */
  const tried = new WeakSet(all);
  const open = createOpenSeries({ limits, restored, changes, withdraw });
  const counter = createCounter({ open, withdraw, restored, onCounted: schedule });
  const { held } = open;

  return {
    counts: counter.counts,
    get sizes() {
      return { series: held.size(), pending: queue.size() };
    },
    get revision() {
      return counter.revision();
    },
    count: counter.count,
    countAmongOthers: counter.countAmongOthers,
    suppress: counter.suppress,
    next: queue.next,
    begin(series) {
      tried.add(series);
      queue.begin(series);
    },
    end,
    hold: queue.hold,
    nextDue: queue.nextDue,
    due: queue.due,
    backlog: queue.backlog,
    takeChanges: open.takeChanges,
    entries: () => open.entries(),
    totals: () => ({ ...open.times(), reports: counter.lossReports(), counts: counter.counts }),
  };

  function schedule(series: Series, time: Millis): void {
    changes.changed(series);
    if (series.due === null) queue.put(series, dueAfter(series, now?.() ?? time) + spread(series));
  }

  function end(series: Series, ended: TurnEnd): void {
    const { count, suppressed } = series;
    changes.changed(series);
    switch (ended.kind) {
      case 'published':
        return published(series, ended.published);
      case 'refused':
        series.published = { ...series.published, retried: true };
        return queue.put(series, ended.until);
      case 'postponed':
        return queue.postpone(series, ended.until);
      case 'abandoned':
        series.published = { ...series.published, count, suppressed };
        return leaveQueue(series);
      default:
        ended satisfies never;
    }
  }

  function published(series: Series, event: WrittenEvent): void {
    series.published = { ...event, retried: undefined };
    const { count, suppressed, at } = event;
    if (series.count <= count && (!series.suppressed || suppressed)) leaveQueue(series);
    // A past window gets no more packets, so there is nothing to wait for.
    else queue.put(series, spread(series) + (held.isPast(series) ? at : dueAfter(series, at)));
  }

  function leaveQueue(series: Series): void {
    queue.remove(series);
    held.published(series);
  }

  /** Returns false if the API server may already have the Event. */
  function withdraw(series: Series): boolean {
    if (series.published.writes > 0 || tried.has(series)) return false;
    queue.remove(series);
    return true;
  }
}
