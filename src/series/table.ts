import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Series, SeriesState, Written } from '../model/series.ts';
import type { StateChange } from '../model/state-change.ts';
import { createSeriesChanges } from './changes.ts';
import { noteValue } from './distinct-values.ts';
import { createLostLines, mayBeLost } from './lost-lines.ts';
import { strangerFinding } from './scans.ts';
import { createOpenSeries, type SeriesLimits } from './open-series.ts';
import { createPending, type Pending } from './pending.ts';
import { dueAfter } from './schedule.ts';

export const defaultSeriesLimits: SeriesLimits = { perObject: 8, total: 20_000 };

/** The one mutable table: what has happened, how often, and what of it is to be published. */
export interface SeriesTable extends Pick<
  Pending,
  'next' | 'take' | 'takeAll' | 'putBack' | 'due' | 'nextDue' | 'postpone' | 'backlog'
> {
  /** Adds `weight` packets to the series of a finding. */
  count: (finding: Finding, time: Millis, weight?: number) => void;
  /** Marks the series that a report of lost lines bears on: from now their counts are lower bounds. */
  suppress: (report: Suppressed, node: string, time: Millis) => void;
  /** The API server has it. What was counted meanwhile is published later. */
  published: (series: Series, published: Written) => void;
  /** It cannot be published before then, for a reason that is not its own. */
  delay: (series: Series, at: Millis) => void;
  /** It could not be published; try again then. */
  retry: (series: Series, at: Millis) => void;
  /** It will never be published: its object or namespace is gone, or its Event is refused for good. */
  abandon: (series: Series) => void;
  /** Packets past the limits: of no series, and of an overflow series. */
  counts: Readonly<{ uncounted: number; overflowed: number }>;
  /** Series held, and how many of them have something to publish. */
  readonly sizes: { series: number; pending: number };
  /** Another number after every change of what an Event says: of counts, not of what was published. */
  readonly revision: number;
  /** What of the series and objects has changed since the last call, at first all there is. */
  takeChanges: () => StateChange[];
  /** All series and objects, as they are when they are taken out. */
  entries: () => Generator<StateChange>;
  /** All else that the table is; not a copy. */
  rest: () => Omit<SeriesState, 'series' | 'past' | 'objects'>;
}

export interface SeriesTableOptions {
  limits?: SeriesLimits;
  /** What an earlier table was when its `state` was taken. The table goes on with it as its own. */
  restored?: SeriesState | undefined;
  /** The clock that writes go by; by default the packets' own. */
  now?: (() => Millis) | undefined;
  /** `nextDue` is earlier than it was. */
  onEarlier?: (() => void) | undefined;
  /** How much later than it could be a series is due; by default not at all. */
  spread?: ((series: Series) => Millis) | undefined;
}

export function createSeriesTable(options: SeriesTableOptions = {}): SeriesTable {
  const { limits = defaultSeriesLimits, restored, now, onEarlier, spread = () => 0 } = options;
  const changes = createSeriesChanges();
  let scanBegan = false;
  const held = createOpenSeries({ limits, restored, changes, onScan: () => (scanBegan = true) });
  const pending = createPending(restored ? [...restored.series, ...restored.past] : [], onEarlier);
  const lostLines = createLostLines(restored?.reports);
  const counts = { uncounted: 0, overflowed: 0, ...restored?.counts };
  let revision = 0;

  return {
    counts,
    get sizes() {
      return { series: held.size, pending: pending.size };
    },
    get revision() {
      return revision;
    },
    rest: () => ({ ...held.times(), reports: lostLines.state(), counts }),
    takeChanges: held.takeChanges,
    entries: () => held.entries(),
    next: pending.next,
    take: pending.take,
    takeAll: (at, mayTake) => pending.takeAll(at, mayTake),
    putBack: (series, at) => pending.putBack(series, at),
    due: pending.due,
    nextDue: pending.nextDue,
    postpone: pending.postpone,
    backlog: pending.backlog,
    count(finding, time, weight = 1) {
      revision++;
      countOne(finding, time, weight);
      if (!scanBegan) return;
      scanBegan = false;
      joinUnpublished();
    },
    suppress({ affects }, node, time) {
      if (affects === 'nothing') return;
      revision++;
      lostLines.report(affects, node, time);
      for (const series of held.current()) {
        if (series.suppressed || !mayBeLost(series, affects, node, time)) continue;
        series.suppressed = true;
        schedule(series, time);
      }
    },
    published(series, published) {
      series.published = published;
      changes.changed(series);
      const { count, suppressed, at } = published;
      if (series.count <= count && (!series.suppressed || suppressed)) return settle(series);
      // Of a past window: no more packets will come, so there is nothing to wait for.
      pending.put(series, spread(series) + (held.isPast(series) ? at : dueAfter(series, at)));
    },
    delay(series, at) {
      changes.changed(series);
      pending.delay(series, at);
    },
    retry(series, at) {
      series.published = { ...series.published, retried: true };
      changes.changed(series);
      pending.put(series, at);
    },
    abandon(series) {
      series.published = { ...series.published, count: series.count, suppressed: series.suppressed };
      changes.changed(series);
      settle(series);
    },
  };

  /** Gives the series that it was counted in. */
  function countOne(finding: Finding, time: Millis, weight: number): Series | undefined {
    const series = held.of(finding, time);
    // The packets of a scan that are counted on the node are counted on Pods, too.
    const isCounted = finding.details.kind === 'scan';
    if (series === undefined) {
      if (!isCounted) counts.uncounted += weight;
      return undefined;
    }
    if (series.count === 0) series.suppressed = lostLines.bearOn(series, time);
    const { details } = series.finding;
    if (details.kind === 'overflow' && !isCounted) counts.overflowed += weight;
    add(series, finding, time, weight);
    noteOthers(series, finding);
    schedule(series, time);
    const stranger = details.kind === 'scan' && details.of === 'target' ? strangerFinding(finding) : undefined;
    if (stranger !== undefined) countOne(stranger, time, weight);
    return series;
  }

  /** Who others of its object have in common with a finding. */
  function noteOthers(series: Series, { details, related }: Finding): void {
    if (details.kind === 'incident' || details.kind === 'overflow') return;
    const { peer, port, protocol } = details.kind === 'flow' ? details : details.example;
    const into = series.finding.details;
    if (into.kind === 'flow') {
      if (peer.workload !== undefined) noteValue(series.peers, peer.object?.name ?? peer.address);
      return;
    }
    if (port !== undefined) noteValue(series.ports, `${port}/${protocol}`);
    if (into.kind === 'scan' && into.of !== 'target') {
      const tried = into.of === 'stranger' ? related : peer.object;
      noteValue(series.peers, tried === undefined ? peer.address : `${tried.namespace ?? ''}/${tried.name}`);
      return;
    }
    const before = series.peers.seen.length;
    noteValue(series.peers, peer.identity);
    if (into.kind === 'scan' && series.peers.seen.length > before) held.scans.joined(series, peer);
  }

  /** A peer turned out to scan: what no Event counts yet is counted with its scan. */
  function joinUnpublished(): void {
    for (const series of held.current()) {
      const { finding, published, count, first, last, suppressed } = series;
      if (published.writes > 0 || pending.mayBePublished(series)) continue;
      if (held.scans.roleIn(finding) === undefined) continue;
      held.forget(series);
      pending.delete(series);
      const joint = countOne(finding, first, 1);
      if (count > 1) countOne(finding, last, count - 1);
      if (suppressed && joint !== undefined) joint.suppressed = true;
    }
  }

  /** There is something new to publish, unless there was already. */
  function schedule(series: Series, time: Millis): void {
    changes.changed(series);
    if (series.due === null) pending.put(series, dueAfter(series, now?.() ?? time) + spread(series));
  }

  function settle(series: Series): void {
    pending.delete(series);
    held.settle(series);
  }
}

function add(series: Series, finding: Finding, time: Millis, weight: number): void {
  series.count += weight;
  if (time > series.last) series.last = time;
  else if (time < series.first) series.first = time;
  // An incident is published as it is known now, not as it began.
  if (finding.details.kind === 'incident') series.finding = finding;
}
