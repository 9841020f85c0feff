import type { Finding, FlowStory, Millis, Published, Series, Suppressed } from '../model.ts';
import { objectKey } from '../object-key.ts';
import { dueAfter } from './schedule.ts';
import { freezeSeries, type SeriesState, thawSeries } from './state.ts';
import { createTally, tally } from './tally.ts';
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

/** Lost lines of this long ago may belong to a series: the kernel reports what it swallowed with the next line it lets through. */
const suppressionReach: Millis = 10_000;

export function createSeriesTable({
  limits = defaultSeriesLimits,
  restored,
  now: wall,
  onEarlier,
}: SeriesTableOptions = {}): SeriesTable {
  /** The current window's series by identity. */
  const current = new Map<string, Series>();
  /** What has something to tell; series of past windows live on here until they have told it. */
  const pending = new Set<Series>();
  const objects = new Map<string, { window: number; distinct: number }>();
  const reports = new Map<string, { kernelWarnings: Millis; everything: Millis }>();
  const counts = { uncounted: 0, overflowed: 0 };
  /** Series of past windows that still have something to tell. */
  let past = 0;
  let earliest: Millis = Infinity;
  let nextSweep: Millis = -Infinity;
  /** The latest time seen. Windows never go back: a packet that comes late counts in the window that is open now. */
  let clock: Millis = -Infinity;
  let revision = 0;
  if (restored) restore(restored);

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
      reports: [...reports].map(([node, { kernelWarnings, everything }]) => [
        node,
        { kernelWarnings, everything: everything === -Infinity ? null : everything },
      ]),
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
      const last = reports.get(node) ?? { kernelWarnings: -Infinity, everything: -Infinity };
      last.kernelWarnings = time;
      if (report.affects === 'everything') last.everything = time;
      reports.set(node, last);
      for (const series of current.values()) {
        if (series.suppressed || series.finding.node !== node || series.last < time - suppressionReach) continue;
        if (!bearsOn(report.affects, series)) continue;
        series.suppressed = true;
        schedule(series, time);
      }
    },
    due(now) {
      const ready: Series[] = [];
      earliest = Infinity;
      for (const series of pending) {
        if (series.due <= now) ready.push(series);
        else if (series.due < earliest) earliest = series.due;
      }
      return ready.toSorted(byUrgency);
    },
    nextDue: () => earliest,
    published(series, told) {
      revision++;
      series.published = told;
      series.due = Infinity;
      if (series.count > told.count || (series.suppressed && !told.suppressed)) {
        series.due = dueAfter(series, told.at);
        // Of a past window: no more packets will come, so there is nothing to wait for.
        if (isPast(series)) series.due = told.at;
        if (series.due < earliest) setEarliest(series.due);
      } else forget(series);
    },
    retry(series, at) {
      revision++;
      series.due = at;
      if (at < earliest) setEarliest(at);
    },
    abandon(series) {
      revision++;
      series.due = Infinity;
      series.published = { ...series.published, count: series.count, suppressed: series.suppressed };
      forget(series);
    },
    backlog(now) {
      const waits = [...pending].filter(({ due }) => due <= now).map(({ due }) => now - due);
      return { due: waits.length, oldest: Math.max(0, ...waits) };
    },
    postpone(until) {
      earliest = until;
    },
  };

  function open(finding: Finding, time: Millis): Series | undefined {
    const object = objectKey(finding.regarding);
    const { number: window } = windowOf(clock, object);
    let known = objects.get(object);
    if (known === undefined || known.window < window) objects.set(object, (known = { window, distinct: 0 }));
    if (finding.story.kind === 'flow' && known.distinct >= limits.perObject) {
      return overflow(finding, finding.story, object, time);
    }
    if (current.size + past >= limits.total) {
      sweep();
      if (current.size + past >= limits.total) return undefined;
    }
    known.distinct++;
    return insert(finding, time);
  }

  function overflow(finding: Finding, example: FlowStory, object: string, time: Millis): Series {
    const identity = `overflow|${object}|${finding.node}`;
    const known = current.get(identity);
    if (known && clock < known.windowEnd) return known;
    return insert({ ...finding, identity, related: undefined, story: { kind: 'overflow', example } }, time);
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
      peers: createTally(),
      ports: createTally(),
      published: { count: 0, writes: 0, at: -Infinity, suppressed: false, base: 0, resourceVersion: undefined },
      due: Infinity,
    };
    current.set(finding.identity, series);
    const lost = reports.get(finding.node);
    if (lost) {
      series.suppressed =
        (time - lost.everything <= suppressionReach && bearsOn('everything', series)) ||
        (time - lost.kernelWarnings <= suppressionReach && bearsOn('kernel-warnings', series));
    }
    return series;
  }

  function add(series: Series, finding: Finding, time: Millis, weight: number): void {
    series.count += weight;
    if (series.finding.story.kind === 'overflow') counts.overflowed += weight;
    if (time > series.last) series.last = time;
    else if (time < series.first) series.first = time;
    const { story } = finding;
    // An incident is told as it is known now, not as it began.
    if (story.kind === 'incident') series.finding = finding;
    if (story.kind === 'flow') {
      if (series.finding.story.kind === 'overflow') {
        tally(series.peers, story.peer.identity);
        if (story.port !== undefined) tally(series.ports, `${story.port}/${story.protocol}`);
      } else if (story.peer.workload !== undefined) tally(series.peers, story.peer.object?.name ?? story.peer.address);
    }
    schedule(series, time);
  }

  /** There is something new to tell, unless there was already. */
  function schedule(series: Series, time: Millis): void {
    if (series.due !== Infinity) return;
    series.due = dueAfter(series, wall?.() ?? time);
    pending.add(series);
    if (series.due < earliest) setEarliest(series.due);
  }

  function setEarliest(time: Millis): void {
    earliest = time;
    onEarlier?.();
  }

  function isPast(series: Series): boolean {
    return current.get(series.finding.identity) !== series;
  }

  /** Has told all there is. */
  function forget(series: Series): void {
    if (pending.delete(series) && isPast(series)) past--;
  }

  function restore(state: SeriesState): void {
    clock = state.clock ?? -Infinity;
    nextSweep = state.nextSweep ?? -Infinity;
    for (const frozen of state.series) {
      const series = thawSeries(frozen);
      current.set(series.finding.identity, series);
    }
    const former = state.past.map(thawSeries);
    past = former.length;
    for (const series of [...current.values(), ...former]) {
      if (series.due === Infinity) continue;
      pending.add(series);
      if (series.due < earliest) earliest = series.due;
    }
    for (const [object, known] of state.objects) objects.set(object, { ...known });
    for (const [node, { kernelWarnings, everything }] of state.reports)
      reports.set(node, { kernelWarnings, everything: everything ?? -Infinity });
    Object.assign(counts, state.counts);
  }

  /** Forgets series of past windows that have told all. */
  function sweep(): void {
    nextSweep = clock + windowLength / 4;
    for (const [identity, series] of current) {
      if (!pending.has(series) && series.windowEnd <= clock) current.delete(identity);
    }
    for (const [object, { window }] of objects) if (window < windowOf(clock, object).number) objects.delete(object);
  }
}

function bearsOn(affects: Suppressed['affects'], { finding: { story } }: Series): boolean {
  if (affects === 'everything') return true;
  return (
    affects === 'kernel-warnings' &&
    ((story.kind === 'incident' && story.failing === 'kernel') || (story.kind === 'flow' && story.martian))
  );
}

/** Incidents before drops, short pointers to incidents last; what nobody has heard of before updates, then who has waited longest. */
function byUrgency(a: Series, b: Series): number {
  return rank(a) - rank(b) || a.due - b.due || (a.finding.identity < b.finding.identity ? -1 : 1);
}

function rank({ finding: { story }, published }: Series): number {
  const kind = story.kind !== 'incident' ? 2 : story.role === 'full' ? 0 : 4;
  return kind + (published.writes === 0 ? 0 : 1);
}
