import type { Finding, FlowSide } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Series, SeriesState } from '../../base/model/series.ts';
import type { StateChange } from '../../base/platform/keyed-changes.ts';
import type { SeriesChanges } from './changes.ts';
import {
  createDistinctValues,
  createSlots,
  isSameKind,
  moveInto,
  portsFinding,
  portsIdentity,
  type SlotLimits,
  type Slots,
} from './slots.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import { windowLength, windowOf } from './times.ts';
import { createScans, scanFinding, scanIdentity, type Scans } from './scans.ts';
import { objectKey } from '../../base/model/endpoint.ts';

export interface SeriesLimits extends SlotLimits {
  /** The most series in memory, besides overflow series. Packets without a series count only in `counts.uncounted`. */
  total: number;
}

interface OpenSeriesOptions {
  limits: SeriesLimits;
  restored: SeriesState | undefined;
  changes: SeriesChanges;
  /** Removes a series from the queue. Returns false, and leaves it there, if an Event may already count its packets. */
  withdraw: (series: Series) => boolean;
}

export interface OpenSeries {
  readonly held: HeldSeries;
  /** Finds or opens the series of a finding; undefined past `total`. `last`: the time of the last of several packets in one window. */
  seriesFor(finding: Finding, time: Millis, last?: Millis): Series | undefined;
  /** Returns the open overflow series of a side that gets no series of its own; undefined if its finding is needed to say so. */
  overflowFor(side: FlowSide, time: Millis): Series | undefined;
  /** Forgets a series, because another one counts its packets from now on. */
  forget(series: Series): void;
  /** `clock` is null before the first packet, and `nextSweep` before the first sweep. */
  times: () => { clock: number | null; nextSweep: number | null };
  takeChanges: () => StateChange[];
  entries(): Generator<StateChange>;
}

export function createOpenSeries(options: OpenSeriesOptions): OpenSeries {
  const { limits, restored, changes } = options;
  const held = createHeldSeries(changes, restored);
  const slots = createSlots(limits, restored);
  const placement = createPlacement(options, held, slots, sweep);
  let nextSweep: Millis = restored?.nextSweep ?? -Infinity;
  /** The latest time that was seen. Windows never go back, so a late packet counts in the window that is open now. */
  let clock: Millis = restored?.clock ?? -Infinity;
  /** Remembers the series of findings that come again, until a series is added or removed. */
  let latest = new WeakMap<Finding, { series: Series; version: number }>();

  return {
    held,
    seriesFor(finding: Finding, time: Millis, last?: Millis): Series | undefined {
      clock = Math.max(clock, last ?? time);
      if (clock >= nextSweep) sweep();
      // Without `last`, the finding object never comes again. Remembering it would cost more than everything else.
      if (last === undefined) return placement.openOne(finding.identity, clock) ?? placement.open(finding, time, clock);
      const known = latest.get(finding);
      if (known?.version === held.scans.version() && clock < known.series.windowEnd) return known.series;
      const series = placement.openOne(finding.identity, clock) ?? placement.open(finding, time, clock);
      if (series !== undefined) latest.set(finding, { series, version: held.scans.version() });
      return series;
    },
    overflowFor(side: FlowSide, time: Millis): Series | undefined {
      if (time >= nextSweep) return undefined;
      const series = placement.overflowOf(side, Math.max(clock, time));
      if (series !== undefined) clock = Math.max(clock, time);
      return series;
    },
    forget(series: Series): void {
      held.remove(series);
      slots.free(series);
    },
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

interface HeldSeries {
  readonly scans: Scans;
  size: () => number;
  /** The latest series of each identity, even if its window is over. */
  current: () => Iterable<Series>;
  isPast: (series: Series) => boolean;
  get: (identity: string) => Series | undefined;
  /** Adds a series, and replaces the one of the same identity, whose window is over. */
  add(series: Series): void;
  remove: (series: Series) => void;
  published(series: Series): void;
  sweep(clock: Millis): void;
  takeChanges: () => StateChange[];
  entries: () => Generator<StateChange>;
}

/** Holds the latest series of each identity, and series of past windows until they are published. */
function createHeldSeries(changes: SeriesChanges, restored?: Pick<SeriesState, 'series' | 'past'>): HeldSeries {
  const current = new Map(restored?.series.map((series) => [series.finding.identity, series]));
  const past = new Set(restored?.past);
  const view = { current: () => current.values(), past };
  const scans = createScans(current.values());

  return {
    scans,
    size: (): number => current.size + past.size,
    current: (): Iterable<Series> => current.values(),
    isPast: (series: Series): boolean => past.has(series),
    get: (identity: string): Series | undefined => current.get(identity),
    add(series: Series): void {
      const { identity } = series.finding;
      const before = current.get(identity);
      if (before !== undefined) scans.remove(before);
      if (before !== undefined && isPending(before)) {
        past.add(before);
        changes.changed(before);
      } else if (before !== undefined) changes.removed(before);
      current.set(identity, series);
      scans.add(series);
    },
    remove,
    published(series: Series): void {
      if (past.delete(series)) changes.removed(series);
    },
    sweep(clock: Millis): void {
      for (const series of current.values()) if (!isPending(series) && series.windowEnd <= clock) remove(series);
    },
    takeChanges: (): StateChange[] => changes.take(view),
    entries: (): Generator<StateChange> => changes.entries(view),
  };

  function remove(series: Series): void {
    current.delete(series.finding.identity);
    scans.remove(series);
    changes.removed(series);
  }
}

function isPending({ due }: Series): boolean {
  return due !== null;
}

const overflowsKept = 1024;

/** The shortest pause between two sweeps that make room, because past the limit each packet of a storm asks for room. */
const roomInterval: Millis = 1000;

/** Chooses the series for a finding: its own, the scan's, the one for all ports of its peer, or the object's overflow. */
function createPlacement(
  { limits: { total }, withdraw }: OpenSeriesOptions,
  held: HeldSeries,
  slots: Slots,
  sweep: () => void,
) {
  let nextRoom: Millis = -Infinity;
  /** The last overflow series of each object, by `objectKey`: an identity would be a new text for each packet. */
  const overflows = new RecentValues<Series>(overflowsKept);
  return { openOne, open, overflowOf };

  function overflowOf(side: FlowSide, clock: Millis): Series | undefined {
    const object = objectKey(side.regarding);
    const last = overflows.get(object);
    const isOpen =
      last !== undefined && last.finding.node === side.node && openOne(last.finding.identity, clock) === last;
    const window = isOpen ? last.window : windowOf(clock, object).number;
    if (!slots.isCrowded(object, side.peer.identity, window) || held.scans.roleOfSide(side) !== undefined)
      return undefined;
    if (isOpen) return last;
    const series = openOne(overflowIdentity(side), clock);
    if (series !== undefined) overflows.set(object, series);
    return series;
  }

  function openOne(identity: string, clock: Millis): Series | undefined {
    const known = held.get(identity);
    return known !== undefined && clock < known.windowEnd ? known : undefined;
  }

  function open(finding: Finding, time: Millis, clock: Millis): Series | undefined {
    const role = held.scans.roleIn(finding);
    if (role !== undefined) {
      const known = openOne(scanIdentity(finding, role), clock);
      return known ?? (isFull(clock) ? undefined : begin(scanFinding(finding, role), time, clock));
    }
    const room = slots.roomFor(finding, clock);
    if (room !== 'free')
      return (
        (room === 'past share' ? openPorts(finding, time, clock) : undefined) ??
        openOne(overflowIdentity(finding), clock) ??
        begin(overflowFinding(finding), time, clock)
      );
    return isFull(clock) ? undefined : beginWithSlot(finding, time, clock);
  }

  /** Moves series of the peer that no Event counts yet into one for all its ports, because it has used its share of slots. */
  function openPorts(finding: Finding, time: Millis, clock: Millis): Series | undefined {
    const identity = portsIdentity(finding);
    if (identity === undefined) return undefined;
    const known = openOne(identity, clock);
    if (known !== undefined) return isSameKind(known, finding) ? known : undefined;
    const moved = slots.flowsOf(finding).filter((series) => isSameKind(series, finding) && withdraw(series));
    for (const series of moved) {
      held.remove(series);
      slots.giveUp(series);
    }
    if (moved.length === 0 && (slots.isFull(finding, clock) || isFull(clock))) return undefined;
    const joint = beginWithSlot(portsFinding(finding, identity), time, clock);
    for (const series of moved) moveInto(joint, series);
    return joint;
  }

  function beginWithSlot(finding: Finding, time: Millis, clock: Millis): Series {
    const series = begin(finding, time, clock);
    slots.fill(series);
    return series;
  }

  function isFull(clock: Millis): boolean {
    if (held.size() < total || clock < nextRoom) return held.size() >= total;
    nextRoom = clock + roomInterval;
    sweep();
    return held.size() >= total;
  }

  function begin(finding: Finding, time: Millis, clock: Millis): Series {
    const series = newSeries(finding, windowOf(clock, objectKey(finding.regarding)), time);
    // The signs of a scan are carried over from the hour before, but the conclusion (`look`) is drawn again.
    const before = held.get(finding.identity)?.scan;
    if (before !== undefined) series.scan = { ...before, look: undefined };
    held.add(series);
    return series;
  }
}

function overflowIdentity({ regarding, node }: Pick<Finding, 'regarding' | 'node'>): string {
  return `overflow|${objectKey(regarding)}|${node}`;
}

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
