import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series, SeriesState } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import type { SeriesChanges } from './changes.ts';
import { createHeldSeries } from './held-series.ts';
import { createPlacement } from './placement.ts';
import { createSlots, type SlotLimits } from './slots.ts';
import { windowLength } from './times.ts';

export interface SeriesLimits extends SlotLimits {
  /** Series held in memory; what is past that is only counted, in `counts.uncounted`. */
  total: number;
}

export interface OpenSeriesOptions {
  limits: SeriesLimits;
  restored: SeriesState | undefined;
  changes: SeriesChanges;
  /** Takes a series out of what is to be published; false where an Event may count it. */
  withdraw: (series: Series) => boolean;
}

export type OpenSeries = ReturnType<typeof createOpenSeries>;

/** Which series a finding counts in, within the limits: its own, that of a scan, that of many ports of its peer, or the one for what is past the places of its object. */
export function createOpenSeries({ limits, restored, changes, withdraw }: OpenSeriesOptions) {
  const held = createHeldSeries(changes, restored);
  const slots = createSlots(limits, restored);
  const placement = createPlacement({ total: limits.total, held, slots, withdraw, sweep });
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
      if (last === undefined) return placement.openOne(finding.identity, clock) ?? placement.open(finding, time, clock);
      const known = latest.get(finding);
      if (known?.version === held.scans.version && clock < known.series.windowEnd) return known.series;
      const series = placement.openOne(finding.identity, clock) ?? placement.open(finding, time, clock);
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

  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    latest = new WeakMap();
    held.sweep(clock);
    slots.sweep(clock);
  }
}

function finite(time: Millis): Millis | null {
  return time === -Infinity ? null : time;
}
