import type { Millis } from '../../src/base/model/log-line.ts';
import { honestKeys, type HonestEvent } from './honest-tenant.ts';

/** Everything that was written about the same packets. */
export interface EventEntry {
  /** When the packets were logged, and when the last of their Events was first seen. */
  readonly from: Millis;
  readonly until: Millis;
  /** Its text when it was first seen. */
  readonly first: EventText;
  /** Its text when it was last seen. */
  readonly last: EventText;
}

export interface EventText {
  readonly count: number;
  readonly message: string;
  readonly whole: string;
}

/** Events of the honest tenant, by their packets. */
export interface EventLog {
  readonly entries: ReadonlyMap<string, EventEntry>;
  readonly look: () => Promise<void>;
}

export function createEventLog(read: () => Promise<readonly HonestEvent[]>): EventLog {
  const entries = new Map<string, EventEntry>();
  return {
    entries,
    async look() {
      const groups = Map.groupBy(await read().catch(() => []), ({ key }) => key);
      for (const [key, events] of groups) {
        const last = textOf(events);
        const known = entries.get(key);
        const from = Math.min(...events.map((each) => each.logged));
        const until = Math.max(...events.map((each) => each.seen));
        entries.set(key, { from, until, first: known?.first ?? last, last });
      }
    },
  };
}

/** The part of a log that is compared with others. */
export function comparedIn({ entries }: EventLog): readonly (readonly [key: string, entry: EventEntry])[] {
  return [...entries].filter(([key]) => honestKeys.has(key));
}

/** Packets that are alike belong in one Event. If there are several Events, all of them are compared. */
function textOf(events: readonly HonestEvent[]): EventText {
  const sorted = events.toSorted((a, b) => a.message.localeCompare(b.message));
  return {
    count: sorted.reduce((sum, { count }) => sum + count, 0),
    message: sorted.map(({ message, annotations }) => `${message} ${JSON.stringify(annotations)}`).join('\n'),
    whole: sorted.map(({ whole }) => whole).join('\n'),
  };
}
