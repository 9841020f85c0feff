import { objectKey } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import type { SeriesChanges } from './changes.ts';
import { createDistinctValues } from './distinct-values.ts';
import { createScans, scanFinding, scanIdentity } from './scans.ts';
import { createSlots, type SlotLimits } from './slots.ts';
import { windowLength, windowOf } from './window.ts';

export interface SeriesLimits extends SlotLimits {
  /** Series held in memory; what is past that is only counted, in `counts.uncounted`. */
  total: number;
}

export interface OpenSeriesOptions {
  limits: SeriesLimits;
  restored: SeriesState | undefined;
  changes: SeriesChanges;
  /** One more peer scans. */
  onScan: () => void;
}

/** The series that are held: those of the windows that are open, and those of past windows with something to publish. */
export function createOpenSeries({ limits, restored, changes, onScan }: OpenSeriesOptions) {
  /** By identity. */
  const current = new Map(restored?.series.map((series) => [series.finding.identity, series]));
  const past = new Set(restored?.past);
  const view = { current: () => current.values(), past };
  const slots = createSlots(limits, restored?.objects);
  const scans = createScans(current.values(), onScan);
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
    scans,
    /** It is counted as something else from now. */
    forget(series: Series): void {
      current.delete(series.finding.identity);
      scans.remove(series);
      slots.giveBack(series);
      changes.removed(series);
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
    const role = scans.roleIn(finding);
    if (role !== undefined) {
      const known = openOne(scanIdentity(finding, role));
      return known ?? (isFull() ? undefined : insert(scanFinding(finding, role), time));
    }
    if (!slots.hasRoom(finding, clock))
      return openOne(overflowIdentity(finding)) ?? insert(overflowFinding(finding), time);
    if (isFull()) return undefined;
    slots.take(finding, clock);
    return insert(finding, time);
  }

  function isFull(): boolean {
    if (current.size + past.size < limits.total) return false;
    sweep();
    return current.size + past.size >= limits.total;
  }

  function insert(finding: Finding, time: Millis): Series {
    const before = current.get(finding.identity);
    if (before !== undefined) scans.remove(before);
    if (before !== undefined && isPending(before)) {
      past.add(before);
      changes.changed(before);
    } else if (before !== undefined) changes.removed(before);
    const series = newSeries(finding, windowOf(clock, objectKey(finding.regarding)), time);
    current.set(finding.identity, series);
    scans.add(series);
    return series;
  }

  /** Forgets series of past windows of which all is published. */
  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    for (const [identity, series] of current) {
      if (isPending(series) || series.windowEnd > clock) continue;
      current.delete(identity);
      scans.remove(series);
      changes.removed(series);
    }
    slots.sweep(clock);
  }
}

function overflowIdentity({ regarding, node }: Finding): string {
  return `overflow|${objectKey(regarding)}|${node}`;
}

/** What is past the places of an object is counted as. */
function overflowFinding(finding: Finding): Finding {
  const { details } = finding;
  if (details.kind === 'incident') return finding;
  const example = details.kind === 'flow' ? details : details.example;
  return {
    ...finding,
    identity: overflowIdentity(finding),
    related: undefined,
    details: { kind: 'overflow', example },
  };
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
