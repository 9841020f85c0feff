/** A finding, counted in one window of time, and what was published of it. series/state.ts writes it as JSON. */
import type { Finding } from './finding.ts';
import type { Millis } from './log-line.ts';

/** The first few of something, and how many there were. */
export interface DistinctValues {
  /** Distinct values in order of appearance, at most `distinctLimit`. */
  seen: Set<string>;
  /** Sightings of values past the limit, not known to be distinct. */
  past: number;
}

/** What the API server has been told of a series. */
export interface Published {
  /** Of the series' own count. */
  count: number;
  writes: number;
  /** Time of the last write. */
  at: Millis;
  /** That the count is a lower bound. */
  suppressed: boolean;
  /** It could not be told when it was due: it no longer goes before what is told already. */
  retried?: true | undefined;
  /**
   * What the Event counts beside the series: packets that an earlier run had told of and nobody remembers; negative when
   * the Event was deleted and had to begin anew.
   */
  base: number;
  /** Of the Event, after the last write. */
  resourceVersion: string | undefined;
  /** When the Event's first packet was, where that is not the series' own. */
  first?: Millis | undefined;
  /** What the Event counted when it was found, and until when: as long as ours are not later, they may be the same packets. */
  overlap?: { count: number; until: Millis } | undefined;
}

/** One problem of one object on one node in one window of time, counted. */
export interface Series {
  finding: Finding;
  /** Number of the window; with the finding's identity it makes the name of the Event. */
  window: number;
  /** End of the window. */
  windowEnd: Millis;
  count: number;
  first: Millis;
  last: Millis;
  /** Log lines were lost or suppressed meanwhile: `count` is a lower bound. */
  suppressed: boolean;
  /** Names of the peer's Pods; in an overflow, identities of peers. */
  peers: DistinctValues;
  /** Only for an overflow: `5432/TCP` and the like. */
  ports: DistinctValues;
  published: Published;
  /** When the next write is due; Infinity when there is nothing new to say. */
  due: Millis;
}
