/** Counts of a finding in one window of time, and their published part. It is plain JSON, which is also saved on disk. */
import type { Finding } from './finding.ts';
import type { Millis } from './log-line.ts';
import type { Suppressed } from './observation.ts';

export interface DistinctValues {
  /** Values in order of appearance, at most `distinctLimit`. */
  seen: string[];
  /** How often further values were seen. They are not remembered, so the same one may count several times. */
  past: number;
}

/** The Event of a series as the API server has it. */
export interface PublishedEvent {
  /** How many packets of the series are published. */
  count: number;
  writes: number;
  /** The time of the last write; null before the first one. */
  at: Millis | null;
  /** Whether the published count is a lower bound. */
  suppressed: boolean;
  /** A write failed when it was due, so the next one no longer has precedence over updates of other Events. */
  retried?: true | undefined;
  /** Packets that the Event counts from a run that lost its state. Negative after the Event was deleted. */
  base: number;
  resourceVersion: string | undefined;
  /** The last part of the Event's name, because something else has the name that the Event should have. */
  alias?: string | undefined;
  /** The time of the Event's first packet, if it differs from the series' own. */
  first?: Millis | undefined;
  /** The count and last time of an Event that was found. Its count may already include our packets up to that time. */
  overlap?: { count: number; until: Millis } | undefined;
}

export interface WrittenEvent extends PublishedEvent {
  at: Millis;
}

/** Pauses between the writes of a series while packets keep coming. The last one repeats. */
export const writeIntervals: readonly Millis[] = [30, 60, 120, 240, 480, 900].map((seconds) => seconds * 1000);

/** The results of a write, as metrics and logs name them. */
export const writeResults = [
  'ok',
  'conflict',
  'gone',
  'forbidden',
  'denied',
  'invalid',
  'terminating',
  'throttled',
  'unavailable',
  'unauthorized',
  'failed',
  'foreign',
] as const;
export type WriteResult = (typeof writeResults)[number];

/** Signs that distinguish a scan from monitoring. Minutes count from the first packet, and again from the first packet after a pause. */
export interface ScanSigns {
  /** Undefined while it may be either. */
  look?: 'scan' | 'monitoring' | undefined;
  since: Millis;
  /** Complete minutes since `since` without a pause. */
  minutes: number;
  /** Packets in the complete minutes; the next field: packets in the busiest minute. */
  packets: number;
  most: number;
  /** Packets in the current minute. */
  current: number;
}

export interface Series {
  finding: Finding;
  /** The number of the window. Together with the finding's identity it makes the name of the Event. */
  window: number;
  windowEnd: Millis;
  count: number;
  first: Millis;
  last: Millis;
  /** Log lines were lost or suppressed during this time, so `count` is a lower bound. */
  suppressed: boolean;
  /** The peer's Pods by name; for an overflow or a scan's target, peers by identity; for a scanner, the objects that it tried to reach. */
  peers: DistinctValues;
  /** Ports such as `5432/TCP`. Empty for a single flow, whose port is in its details. */
  ports: DistinctValues;
  /** Set only for a scanner and for the objects that it tries to reach. */
  scan?: ScanSigns | undefined;
  published: PublishedEvent;
  /** The earliest time of the next write; null if there is nothing to publish. */
  due: Millis | null;
}

/** The budget of a write. `first`: an object's first Event in an hour. `final`: the last count of a flow that is over. `more`: others. */
export type WriteKind = 'first' | 'final' | 'more';

/** The series to be written next. */
export interface Turn {
  series: Series;
  kind: WriteKind;
  /** The number of its lane (`laneOf` in series/times.ts). Lower lanes are written first. */
  lane: number;
}

/** The outcome of a series' turn. Packets counted meanwhile are published by its next write. */
export type TurnEnd =
  /** The API server has accepted the Event. */
  | { kind: 'published'; published: WrittenEvent }
  /** The Event was refused for a reason of its own. It is tried again at `until`, behind the updates of others. */
  | { kind: 'refused'; until: Millis }
  /** The Event was not tried, or others would be refused, too. The series keeps its turn, and is ready at `until`, or at once. */
  | { kind: 'postponed'; until?: Millis | undefined }
  /** The counts so far are not published. `reason` is undefined if the same was reported before. */
  | { kind: 'abandoned'; reason?: WriteResult | 'muted' | undefined };

/** The Events of one object in one window. */
export interface ObjectSlots {
  window: number;
  /** The number of problems with their own Event. */
  distinct: number;
  /** The number of drop Events by the peer's identity. It stays after they became one Event for several ports. */
  peers: Record<string, number>;
}

/** When lines of a node were last reported as lost, by their possible content. */
export type LossReports = Partial<Record<Exclude<Suppressed['affects'], 'nothing'>, Millis>>;

/** The whole state of a table of series. A time is null if it has not come yet. */
export interface SeriesState {
  clock: Millis | null;
  /** When series of past windows are searched next. */
  nextSweep: Millis | null;
  /** The series whose windows are open. */
  series: Series[];
  /** Series of past windows that still have something to publish. */
  past: Series[];
  objects: [string, ObjectSlots][];
  reports: [string, LossReports][];
  counts: { uncounted: number; overflowed: number };
}

/** The rest of a node's hourly writes. It is saved, so that an agent that is killed again and again writes no more than others. */
export interface WriteBudgetState {
  /** The number of writes left; it may have a fraction. */
  left: number;
  /** The time of `left`, counted from the start of the machine, because the wall clock may be changed meanwhile. */
  at: Millis;
}
