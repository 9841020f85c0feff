import type { Millis } from '../model/log-line.ts';
import type { Series, Written } from '../model/series.ts';
import type { SeriesChanges } from './changes.ts';
import type { HeldSeries } from './held-series.ts';
import type { Pending } from './pending.ts';
import { dueAfter } from './schedule.ts';

/** What follows for a series from the API server's answer to a write. */
export interface Answers {
  /** The API server has it. What was counted meanwhile is published later. */
  published: (series: Series, published: Written) => void;
  /** It cannot be published before then, for a reason that is not its own. */
  delay: (series: Series, at: Millis) => void;
  /** It could not be published; try again then. */
  retry: (series: Series, at: Millis) => void;
  /** It will never be published: its object or namespace is gone, or its Event is refused for good. */
  abandon: (series: Series) => void;
}

export interface AnswersOptions {
  held: HeldSeries;
  pending: Pending;
  changes: SeriesChanges;
  /** How much later than it could be a series is due. */
  spread: (series: Series) => Millis;
}

export function createAnswers({ held, pending, changes, spread }: AnswersOptions): Answers {
  return {
    published(series, published) {
      series.published = published;
      changes.changed(series);
      const { count, suppressed, at } = published;
      if (series.count <= count && (!series.suppressed || suppressed)) return settle(series);
      // Of a past window: no more packets will come, so there is nothing to wait for.
      pending.put(series, spread(series) + (held.isPast(series) ? at : dueAfter(series, at)));
    },
    delay(series, at) {
      changes.changed(series);
      pending.delay(series, at);
    },
    retry(series, at) {
      series.published = { ...series.published, retried: true };
      changes.changed(series);
      pending.put(series, at);
    },
    abandon(series) {
      series.published = { ...series.published, count: series.count, suppressed: series.suppressed };
      changes.changed(series);
      settle(series);
    },
  };

  function settle(series: Series): void {
    pending.delete(series);
    held.settle(series);
  }
}
