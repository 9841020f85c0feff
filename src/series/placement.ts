import { objectKey } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';
import { createDistinctValues } from './distinct-values.ts';
import type { HeldSeries } from './held-series.ts';
import { isAlike, moveInto, portsFinding, portsIdentity } from './many-ports.ts';
import { scanFinding, scanIdentity } from './scans.ts';
import type { Slots } from './slots.ts';
import { windowOf } from './times.ts';

export interface PlacementOptions {
  /** Series held in memory. */
  total: number;
  held: HeldSeries;
  slots: Slots;
  /** Takes a series out of what is to be published; false where an Event may count it. */
  withdraw: (series: Series) => boolean;
  /** Forgets series of past windows. */
  sweep: () => void;
}

/** In which series a finding that has none of its own is counted: a new one, that of a scan, that of its peer's ports, or that of what is past the places of its object. */
export function createPlacement({ total, held, slots, withdraw, sweep }: PlacementOptions) {
  return { openOne, open };

  /** The series of an identity whose window is not over at `clock`. */
  function openOne(identity: string, clock: Millis): Series | undefined {
    const known = held.get(identity);
    return known !== undefined && clock < known.windowEnd ? known : undefined;
  }

  function open(finding: Finding, time: Millis, clock: Millis): Series | undefined {
    const role = held.scans.roleIn(finding);
    if (role !== undefined) {
      const known = openOne(scanIdentity(finding, role), clock);
      return known ?? (isFull() ? undefined : begin(scanFinding(finding, role), time, clock));
    }
    const room = slots.roomFor(finding, clock);
    if (room !== 'free')
      return (
        (room === 'past share' ? openPorts(finding, time, clock) : undefined) ??
        openOne(overflowIdentity(finding), clock) ??
        begin(overflowFinding(finding), time, clock)
      );
    return isFull() ? undefined : beginWithSlot(finding, time, clock);
  }

  /** The series for all ports of a peer that is past its share of the object's places. What no Event counts yet of its other ports becomes part of it. */
  function openPorts(finding: Finding, time: Millis, clock: Millis): Series | undefined {
    const identity = portsIdentity(finding);
    if (identity === undefined) return undefined;
    const known = openOne(identity, clock);
    if (known !== undefined) return isAlike(known, finding) ? known : undefined;
    const moved = slots.flowsOf(finding).filter((series) => isAlike(series, finding) && withdraw(series));
    for (const series of moved) {
      held.remove(series);
      slots.giveUp(series);
    }
    if (moved.length === 0 && (slots.isFull(finding, clock) || isFull())) return undefined;
    const joint = beginWithSlot(portsFinding(finding, identity), time, clock);
    for (const series of moved) moveInto(joint, series);
    return joint;
  }

  function beginWithSlot(finding: Finding, time: Millis, clock: Millis): Series {
    const series = begin(finding, time, clock);
    slots.take(series);
    return series;
  }

  function isFull(): boolean {
    if (held.size < total) return false;
    sweep();
    return held.size >= total;
  }

  function begin(finding: Finding, time: Millis, clock: Millis): Series {
    const series = newSeries(finding, windowOf(clock, objectKey(finding.regarding)), time);
    // The pace of packets is known from the hour before.
    const before = held.get(finding.identity)?.scan;
    if (before !== undefined) series.scan = { ...before, look: undefined };
    held.add(series);
    return series;
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
