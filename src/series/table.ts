import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import { type Answers, createAnswers } from './answers.ts';
import { createSeriesChanges } from './changes.ts';
import { type Counter, createCounter } from './counter.ts';
import { createOpenSeries, type SeriesLimits } from './open-series.ts';
import { createPending, type Pending, withdraw } from './pending.ts';
import { dueAfter } from './schedule.ts';

export const defaultSeriesLimits: SeriesLimits = { perObject: 8, total: 20_000 };

/** The one mutable table: what has happened, how often, and what of it is to be published. */
export interface SeriesTable
  extends
    Pick<Counter, 'count' | 'suppress'>,
    Pick<Pending, 'next' | 'take' | 'takeAll' | 'putBack' | 'due' | 'nextDue' | 'postpone' | 'backlog'>,
    Answers {
  /** Packets past the limits: of no series, and of an overflow series. */
  counts: Readonly<{ uncounted: number; overflowed: number }>;
  /** Series held, and how many of them have something to publish. */
  readonly sizes: { series: number; pending: number };
  /** Another number after every change of what an Event says: of counts, not of what was published. */
  readonly revision: number;
  /** What of the series and objects has changed since the last call, at first all there is. */
  takeChanges: () => StateChange[];
  /** All series and objects, as they are when they are taken out. */
  entries: () => Generator<StateChange>;
  /** All else that the table is; not a copy. */
  rest: () => Omit<SeriesState, 'series' | 'past' | 'objects'>;
}

export interface SeriesTableOptions {
  limits?: SeriesLimits;
  /** What an earlier table was when its `state` was taken. The table goes on with it as its own. */
  restored?: SeriesState | undefined;
  /** The clock that writes go by; by default the packets' own. */
  now?: (() => Millis) | undefined;
  /** `nextDue` is earlier than it was. */
  onEarlier?: (() => void) | undefined;
  /** How much later than it could be a series is due; by default not at all. */
  spread?: ((series: Series) => Millis) | undefined;
}

export function createSeriesTable(options: SeriesTableOptions = {}): SeriesTable {
  const { limits = defaultSeriesLimits, restored, now, onEarlier, spread = () => 0 } = options;
  const changes = createSeriesChanges();
  const pending = createPending(restored ? [...restored.series, ...restored.past] : [], onEarlier);
  const open = createOpenSeries({ limits, restored, changes, withdraw: (series) => withdraw(pending, series) });
  const counter = createCounter({ open, pending, restored, onCounted: schedule });
  const { held } = open;

  return {
    counts: counter.counts,
    get sizes() {
      return { series: held.size, pending: pending.size };
    },
    get revision() {
      return counter.revision;
    },
    count: counter.count,
    suppress: counter.suppress,
    ...createAnswers({ held, pending, changes, spread }),
    next: pending.next,
    take: pending.take,
    takeAll: (at, mayTake) => pending.takeAll(at, mayTake),
    putBack: pending.putBack,
    due: pending.due,
    nextDue: pending.nextDue,
    postpone: pending.postpone,
    backlog: pending.backlog,
    takeChanges: open.takeChanges,
    entries: () => open.entries(),
    rest: () => ({ ...open.times(), reports: counter.lossReports(), counts: counter.counts }),
  };

  /** There is something new to publish, unless there was already. */
  function schedule(series: Series, time: Millis): void {
    changes.changed(series);
    if (series.due === null) pending.put(series, dueAfter(series, now?.() ?? time) + spread(series));
  }
}
