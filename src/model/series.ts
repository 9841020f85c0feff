/** A finding, its count in one window of time, and its published count. Plain JSON, which the state on disk keeps as it is. */
import type { Finding } from './finding.ts';
import type { Millis } from './log-line.ts';

/** The first few of something, and how many there were. */
export interface DistinctValues {
  /** Values in order of appearance, at most `distinctLimit`. */
  seen: string[];
  /** Sightings of values past the limit, not known to be distinct. */
  past: number;
}

/** The Event of a series as the API server has it. */
export interface Published {
  /** Packets of the series that are published. */
  count: number;
  writes: number;
  /** Time of the last write; null: there was none. */
  at: Millis | null;
  /** The published count is a lower bound. */
  suppressed: boolean;
  /** A due write failed, so it no longer goes before updates of other Events. */
  retried?: true | undefined;
  /** Packets in the Event's count from a run that lost its state; negative after the Event was deleted. */
  base: number;
  /** The Event's resourceVersion after the last write. */
  resourceVersion: string | undefined;
  /** The time of the Event's first packet, if that is not the series' own. */
  first?: Millis | undefined;
  /** The count and last time of an Event that was found. Packets up to that time may be in its count already. */
  overlap?: { count: number; until: Millis } | undefined;
}

/** The Event of a series after a write. */
export interface Written extends Published {
  at: Millis;
}

/** The outcome of a write, as metrics and logs name it. */
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

/** Signs that distinguish a scan from monitoring. Minutes are counted from the first packet, and again after a pause. */
export interface ScanSigns {
  /** Undefined as long as it may be either. */
  look?: 'scan' | 'monitoring' | undefined;
  since: Millis;
  /** Minutes that are over, without a pause. */
  minutes: number;
  /** Packets in these minutes, and in the busiest of them. */
  packets: number;
  most: number;
  /** Packets in the minute that is not over. */
  current: number;
}

export interface Series {
  finding: Finding;
  /** Number of the window; with the finding's identity it makes the name of the Event. */
  window: number;
  windowEnd: Millis;
  count: number;
  first: Millis;
  last: Millis;
  /** Log lines were lost or suppressed meanwhile: `count` is a lower bound. */
  suppressed: boolean;
  /** Names of the peer's Pods. For an overflow and the target of a scan: identities of peers. For a scanner: the objects that it tried. */
  peers: DistinctValues;
  /** Ports such as `5432/TCP`; empty for a single flow, whose port is in its details. */
  ports: DistinctValues;
  /** Set only for a scanner and for the objects that it tries. */
  scan?: ScanSigns | undefined;
  published: Published;
  /** The earliest time of the next write; null if there is nothing to publish. */
  due: Millis | null;
}

/**
 * Which budget a write uses: `first` for the first Event of an object in an hour, `rest` for the last count of a flow that is
 * over, `more` for all others.
 */
export type WriteKind = 'first' | 'rest' | 'more';

/** A series that is due, whose turn it is to be written. */
export interface Turn {
  series: Series;
  kind: WriteKind;
  /** Series of a lower line are written before it. */
  line: number;
}

/** The Events that an object has in one window. */
export interface ObjectSlots {
  window: number;
  /** Problems with an Event of their own. */
  distinct: number;
  /** Number of drop Events by the identity of the peer, also after they became one Event for several ports. */
  peers: Record<string, number>;
}

/** The time at which lines of a node were last reported as lost; null: never. */
export interface LossReports {
  kernelWarnings: Millis | null;
  everything: Millis | null;
  felix: Millis | null;
}

/** The whole state of a table of series. A time of null has not happened yet. */
export interface SeriesState {
  clock: Millis | null;
  /** The time at which series of past windows are next looked for. */
  nextSweep: Millis | null;
  /** Series of the windows that are open. */
  series: Series[];
  /** Series of past windows, with something to publish. */
  past: Series[];
  /** The slots of each object. */
  objects: [string, ObjectSlots][];
  /** Reports of losses by node. */
  reports: [string, LossReports][];
  counts: { uncounted: number; overflowed: number };
}

/** The rest of a node's hourly budget of writes, kept so that an agent that is killed again and again writes no more than others. */
export interface WriteBudgetState {
  /** Writes, also in part. */
  left: number;
  /** The time of it, counted from the start of the machine, because the wall clock may be set meanwhile. */
  at: Millis;
}
