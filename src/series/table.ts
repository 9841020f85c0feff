import type { Finding, FlowDetails } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Published, Series } from '../model/series.ts';
import { objectKey } from '../model/object-key.ts';
import { createLostLines, mayBeLost } from './lost-lines.ts';
import { createPending } from './pending.ts';
import { dueAfter } from './schedule.ts';
import { freezeSeries, type SeriesState, thawSeries } from './state.ts';
import { createDistinctValues, tally } from './tally.ts';
import { windowLength, windowOf } from './window.ts';

export interface SeriesLimits {
  /** Events of one object in one window; what is past that is counted in one more. */
  perObject: number;
  /** Series held in memory; what is past that is only counted, in `counts.uncounted`. */
  total: number;
}

export const defaultSeriesLimits: SeriesLimits = { perObject: 8, total: 20_000 };

/** The one mutable table: what has happened, how often, and what of it is still to be told. */
export interface SeriesTable {
  /** Adds `weight` packets to the series of a finding. */
  count: (finding: Finding, time: Millis, weight?: number) => void;
  /** Marks the series that a report of lost lines bears on: from now their counts are lower bounds. */
  suppress: (report: Suppressed, node: string, time: Millis) => void;
  /** Series with something to tell whose time has come, most urgent first. */
  due: (now: Millis) => Series[];
  /** Earliest time at which `due` will have something; Infinity when nothing is left to tell. */
  nextDue: () => Millis;
  /** The API server has been told. What was counted meanwhile will be told later. */
  published: (series: Series, told: Published) => void;
  /** It could not be told; try again then. */
  retry: (series: Series, at: Millis) => void;
  /** It will never be told, because nobody can hear it: its object or namespace is gone, or its Event is refused for good. */
  abandon: (series: Series) => void;
  /** How many are due at `now`, and for how long the first of them has been. */
  backlog: (now: Millis) => { due: number; oldest: Millis };
  /** Nothing more can be written before then: until that time nothing is due. */
  postpone: (until: Millis) => void;
  /** Packets past the limits: of no series, and of an overflow series. */
  counts: Readonly<{ uncounted: number; overflowed: number }>;
  /** Series held, and how many of them have something to tell. */
  readonly sizes: { series: number; pending: number };
  /** Another number after every change of what `state` gives. */
  readonly revision: number;
  /** All that the table is, as plain JSON. */
  state: () => SeriesState;
}

export interface SeriesTableOptions {
  limits?: SeriesLimits;
  /** What an earlier table was when its `state` was taken. */
  restored?: SeriesState | undefined;
  /** The clock that writes go by; by default the packets' own. */
  now?: (() => Millis) | undefined;
  /** `nextDue` is earlier than it was. */
  onEarlier?: (() => void) | undefined;
}

export function createSeriesTable({
  limits = defaultSeriesLimits,
  restored,
  now: wall,
  onEarlier,
}: SeriesTableOptions = {}): SeriesTable {
  /** The current window's series by identity. */
  const current = new Map(restored?.series.map(thawSeries).map((series) => [series.finding.identity, series]));
  const former = restored?.past.map(thawSeries) ?? [];
  /** What has something to tell; series of past windows live on here until they have told it. */
  const pending = createPending([...current.values(), ...former], onEarlier);
  const objects = new Map(restored?.objects.map(([object, known]) => [object, { ...known }]));
  const lostLines = createLostLines(restored?.reports);
  const counts = { uncounted: 0, overflowed: 0, ...restored?.counts };
  /** Series of past windows that still have something to tell. */
  let past = former.length;
  let nextSweep: Millis = restored?.nextSweep ?? -Infinity;
  /** The latest time seen. Windows never go back: a packet that comes late counts in the window that is open now. */
  let clock: Millis = restored?.clock ?? -Infinity;
  let revision = 0;

  return {
    counts,
    get sizes() {
      return { series: current.size + past, pending: pending.size };
    },
    get revision() {
      return revision;
    },
    state: () => ({
      clock: clock === -Infinity ? null : clock,
      nextSweep: nextSweep === -Infinity ? null : nextSweep,
      series: [...current.values()].map(freezeSeries),
      past: [...pending].filter((series) => current.get(series.finding.identity) !== series).map(freezeSeries),
      objects: [...objects],
      reports: lostLines.state(),
      counts: { ...counts },
    }),
    count(finding, time, weight = 1) {
      revision++;
      if (time > clock) clock = time;
      if (clock >= nextSweep) sweep();
      let series = current.get(finding.identity);
      if (series === undefined || clock >= series.windowEnd) {
        series = open(finding, time);
        if (series === undefined) {
          counts.uncounted += weight;
          return;
        }
      }
      add(series, finding, time, weight);
    },
    suppress(report, node, time) {
      if (report.affects === 'nothing') return;
      revision++;
      lostLines.report(report.affects, node, time);
      for (const series of current.values()) {
        if (series.suppressed || !mayBeLost(series, report.affects, node, time)) continue;
        series.suppressed = true;
        schedule(series, time);
      }
    },
    due: pending.due,
    nextDue: pending.nextDue,
    published(series, told) {
      revision++;
      series.published = told;
      if (series.count <= told.count && (!series.suppressed || told.suppressed)) return forget(series);
      // Of a past window: no more packets will come, so there is nothing to wait for.
      pending.put(series, isPast(series) ? told.at : dueAfter(series, told.at));
    },
    retry(series, at) {
      revision++;
      series.published = { ...series.published, retried: true };
      pending.put(series, at);
    },
    abandon(series) {
      revision++;
      series.published = { ...series.published, count: series.count, suppressed: series.suppressed };
      forget(series);
    },
    backlog: pending.backlog,
    postpone: pending.postpone,
  };

  function open(finding: Finding, time: Millis): Series | undefined {
    const object = objectKey(finding.regarding);
    const { number: window } = windowOf(clock, object);
    let known = objects.get(object);
    if (known === undefined || known.window !== window) objects.set(object, (known = { window, distinct: 0 }));
    if (finding.details.kind === 'flow' && known.distinct >= limits.perObject) {
      return overflow(finding, finding.details, object, time);
    }
    if (current.size + past >= limits.total) {
      sweep();
      if (current.size + past >= limits.total) return undefined;
    }
    known.distinct++;
    return insert(finding, time);
  }

  function overflow(finding: Finding, example: FlowDetails, object: string, time: Millis): Series {
    const identity = `overflow|${object}|${finding.node}`;
    const known = current.get(identity);
    if (known && clock < known.windowEnd) return known;
    return insert({ ...finding, identity, related: undefined, details: { kind: 'overflow', example } }, time);
  }

  function insert(finding: Finding, time: Millis): Series {
    const { number: window, end: windowEnd } = windowOf(clock, objectKey(finding.regarding));
    const before = current.get(finding.identity);
    if (before !== undefined && pending.has(before)) past++;
    const series: Series = {
      finding,
      window,
      windowEnd,
      count: 0,
      first: time,
      last: time,
      suppressed: false,
      peers: createDistinctValues(),
      ports: createDistinctValues(),
      published: { count: 0, writes: 0, at: -Infinity, suppressed: false, base: 0, resourceVersion: undefined },
      due: Infinity,
    };
    current.set(finding.identity, series);
    series.suppressed = lostLines.bearOn(series, time);
    return series;
  }

  function add(series: Series, finding: Finding, time: Millis, weight: number): void {
    series.count += weight;
    if (series.finding.details.kind === 'overflow') counts.overflowed += weight;
    if (time > series.last) series.last = time;
    else if (time < series.first) series.first = time;
    const { details } = finding;
    // An incident is told as it is known now, not as it began.
    if (details.kind === 'incident') series.finding = finding;
    if (details.kind === 'flow') {
      if (series.finding.details.kind === 'overflow') {
        tally(series.peers, details.peer.identity);
        if (details.port !== undefined) tally(series.ports, `${details.port}/${details.protocol}`);
      } else if (details.peer.workload !== undefined)
        tally(series.peers, details.peer.object?.name ?? details.peer.address);
    }
    schedule(series, time);
  }

  /** There is something new to tell, unless there was already. */
  function schedule(series: Series, time: Millis): void {
    if (series.due !== Infinity) return;
    pending.put(series, dueAfter(series, wall?.() ?? time));
  }

  function isPast(series: Series): boolean {
    return current.get(series.finding.identity) !== series;
  }

  /** Has told all there is. */
  function forget(series: Series): void {
    if (pending.delete(series) && isPast(series)) past--;
  }

  /** Forgets series of past windows that have told all. */
  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    for (const [identity, series] of current) {
      if (!pending.has(series) && series.windowEnd <= clock) current.delete(identity);
    }
    for (const [object, { window }] of objects) if (window !== windowOf(clock, object).number) objects.delete(object);
  }
}
