import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Series } from '../model/series.ts';

/** A series as plain JSON, which knows neither sets nor infinity. */
export interface FrozenSeries {
  finding: Finding;
  window: number;
  windowEnd: Millis;
  count: number;
  first: Millis;
  last: Millis;
  suppressed: boolean;
  peers: FrozenDistinctValues;
  ports: FrozenDistinctValues;
  /** `at` is null when it was never written. */
  published: Omit<Series['published'], 'at'> & { at: Millis | null };
  /** Null when there is nothing new to tell. */
  due: Millis | null;
}

interface FrozenDistinctValues {
  seen: string[];
  past: number;
}

/** All that a table of series is. */
export interface SeriesState {
  clock: Millis | null;
  /** When series of past windows are next looked for. */
  nextSweep: Millis | null;
  /** Of the windows that are open. */
  series: FrozenSeries[];
  /** Of past windows, with something still to tell. */
  past: FrozenSeries[];
  objects: [string, { window: number; distinct: number }][];
  reports: [string, { kernelWarnings: Millis | null; everything: Millis | null; felix?: Millis | null }][];
  counts: { uncounted: number; overflowed: number };
}

export function freezeSeries({ peers, ports, published, due, ...rest }: Series): FrozenSeries {
  return {
    ...rest,
    peers: { seen: [...peers.seen], past: peers.past },
    ports: { seen: [...ports.seen], past: ports.past },
    published: { ...published, at: published.at === -Infinity ? null : published.at },
    due: due === Infinity ? null : due,
  };
}

export function thawSeries({ peers, ports, published, due, ...rest }: FrozenSeries): Series {
  return {
    ...rest,
    peers: { seen: new Set(peers.seen), past: peers.past },
    ports: { seen: new Set(ports.seen), past: ports.past },
    published: { ...published, at: published.at ?? -Infinity },
    due: due ?? Infinity,
  };
}
