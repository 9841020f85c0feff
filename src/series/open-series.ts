import { objectKey } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import type { SeriesChanges } from './changes.ts';
import { createDistinctValues } from './distinct-values.ts';
import { createHeldSeries } from './held-series.ts';
import { scanFinding, scanIdentity } from './scans.ts';
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
}

export type OpenSeries = ReturnType<typeof createOpenSeries>;

/** Which series a finding counts in, within the limits: its own, that of a scan, or the one for what is past the places of its object. */
export function createOpenSeries({ limits, restored, changes }: OpenSeriesOptions) {
  const held = createHeldSeries(changes, restored);
  const slots = createSlots(limits, restored?.objects);
  let nextSweep: Millis = restored?.nextSweep ?? -Infinity;
  /** The latest time seen. Windows never go back: a packet that comes late counts in the window that is open now. */
  let clock: Millis = restored?.clock ?? -Infinity;
  /** What a finding that comes again was counted in, as long as no series comes or goes. */
  let latest = new WeakMap<Finding, { series: Series; version: number }>();

  return {
    held,
    /**
     * The series that a finding counts in at `time`, a new one with a count of 0 where there is none; undefined past the total. `last`: of a
     * finding that comes again, from `time` to then, in which no window ends.
     */
    of(finding: Finding, time: Millis, last?: Millis): Series | undefined {
      clock = Math.max(clock, last ?? time);
      if (clock >= nextSweep) sweep();
      // Entries for findings that never come again would cost more than all else.
      if (last === undefined) return openOne(finding.identity) ?? open(finding, time);
      const known = latest.get(finding);
      if (known?.version === held.scans.version && clock < known.series.windowEnd) return known.series;
      const series = openOne(finding.identity) ?? open(finding, time);
      if (series !== undefined) latest.set(finding, { series, version: held.scans.version });
      return series;
    },
    /** It is counted as something else from now. */
    forget(series: Series): void {
      held.remove(series);
      slots.giveBack(series);
    },
    /** The latest time seen, and when series of past windows are next looked for; null: not yet. */
    times: () => ({ clock: finite(clock), nextSweep: finite(nextSweep) }),
    takeChanges: (): StateChange[] => [...held.takeChanges(), ...slots.takeChanges()],
    *entries(): Generator<StateChange> {
      yield* held.entries();
      yield* slots.entries();
    },
  };

  function openOne(identity: string): Series | undefined {
    const known = held.get(identity);
    return known !== undefined && clock < known.windowEnd ? known : undefined;
  }

  function open(finding: Finding, time: Millis): Series | undefined {
    const role = held.scans.roleIn(finding);
    if (role !== undefined) {
      const known = openOne(scanIdentity(finding, role));
      return known ?? (isFull() ? undefined : begin(scanFinding(finding, role), time));
    }
    if (!slots.hasRoom(finding, clock))
      return openOne(overflowIdentity(finding)) ?? begin(overflowFinding(finding), time);
    if (isFull()) return undefined;
    slots.take(finding, clock);
    return begin(finding, time);
  }

  function isFull(): boolean {
    if (held.size < limits.total) return false;
    sweep();
    return held.size >= limits.total;
  }

  function begin(finding: Finding, time: Millis): Series {
    const series = newSeries(finding, windowOf(clock, objectKey(finding.regarding)), time);
    held.add(series);
    return series;
  }

  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    latest = new WeakMap();
    held.sweep(clock);
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

function finite(time: Millis): Millis | null {
  return time === -Infinity ? null : time;
}
