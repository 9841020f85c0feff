import { objectKey } from '../model/endpoint.ts';
import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import type { SeriesChanges } from './changes.ts';
import { createDistinctValues } from './distinct-values.ts';
import { createSlots, type SlotLimits } from './slots.ts';
import { windowLength, windowOf } from './window.ts';

export interface SeriesLimits extends SlotLimits {
  /** Series held in memory; what is past that is only counted, in `counts.uncounted`. */
  total: number;
}

/** The series that are held: those of the windows that are open, and those of past windows with something to publish. */
export function createOpenSeries(limits: SeriesLimits, restored: SeriesState | undefined, changes: SeriesChanges) {
  /** By identity. */
  const current = new Map(restored?.series.map((series) => [series.finding.identity, series]));
  const past = new Set(restored?.past);
  const view = { current: () => current.values(), past };
  const slots = createSlots(limits, restored?.objects);
  let nextSweep: Millis = restored?.nextSweep ?? -Infinity;
  /** The latest time seen. Windows never go back: a packet that comes late counts in the window that is open now. */
  let clock: Millis = restored?.clock ?? -Infinity;

  return {
    /** The series that a finding counts in at `time`, a new one with a count of 0 where there is none; undefined past the total. */
    of(finding: Finding, time: Millis): Series | undefined {
      if (time > clock) clock = time;
      if (clock >= nextSweep) sweep();
      return openOne(finding.identity) ?? open(finding, time);
    },
    /** Of the windows that are open; some may be over, and not yet forgotten. */
    current: (): Iterable<Series> => current.values(),
    isPast: (series: Series): boolean => past.has(series),
    /** All of it is published. */
    settle(series: Series): void {
      if (past.delete(series)) changes.removed(series);
    },
    get size(): number {
      return current.size + past.size;
    },
    /** The latest time seen, and when series of past windows are next looked for; null: not yet. */
    times: () => ({ clock: finite(clock), nextSweep: finite(nextSweep) }),
    takeChanges: (): StateChange[] => [...changes.take(view), ...slots.takeChanges()],
    *entries(): Generator<StateChange> {
      yield* changes.entries(view);
      yield* slots.entries();
    },
  };

  function openOne(identity: string): Series | undefined {
    const known = current.get(identity);
    return known !== undefined && clock < known.windowEnd ? known : undefined;
  }

  function open(finding: Finding, time: Millis): Series | undefined {
    const { details } = finding;
    if (!slots.hasRoom(finding, clock) && details.kind === 'flow') return overflow(finding, details, time);
    if (current.size + past.size >= limits.total) {
      sweep();
      if (current.size + past.size >= limits.total) return undefined;
    }
    slots.take(finding, clock);
    return insert(finding, time);
  }

  function overflow(finding: Finding, example: FlowDetails, time: Millis): Series {
    const identity = `overflow|${objectKey(finding.regarding)}|${finding.node}`;
    const details = { kind: 'overflow', example } as const;
    return openOne(identity) ?? insert({ ...finding, identity, related: undefined, details }, time);
  }

  function insert(finding: Finding, time: Millis): Series {
    const before = current.get(finding.identity);
    if (before !== undefined && isPending(before)) {
      past.add(before);
      changes.changed(before);
    } else if (before !== undefined) changes.removed(before);
    const series = newSeries(finding, windowOf(clock, objectKey(finding.regarding)), time);
    current.set(finding.identity, series);
    return series;
  }

  /** Forgets series of past windows of which all is published. */
  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    for (const [identity, series] of current) {
      if (isPending(series) || series.windowEnd > clock) continue;
      current.delete(identity);
      changes.removed(series);
    }
    slots.sweep(clock);
  }
}

function newSeries(finding: Finding, { number, end }: { number: number; end: Millis }, time: Millis): Series {
  return {
    finding,
    window: number,
    windowEnd: end,
    count: 0,
    first: time,
    last: time,
    suppressed: false,
    peers: createDistinctValues(),
    ports: createDistinctValues(),
    published: { count: 0, writes: 0, at: null, suppressed: false, base: 0, resourceVersion: undefined },
    due: null,
  };
}

function isPending({ due }: Series): boolean {
  return due !== null;
}

function finite(time: Millis): Millis | null {
  return time === -Infinity ? null : time;
}
