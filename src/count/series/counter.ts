import type { Finding, FlowSide } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Suppressed } from '../../base/model/observation.ts';
import { connectFailure } from '../../base/model/packet.ts';
import type { Series, SeriesState, LossReports } from '../../base/model/series.ts';
import type { OpenSeries } from './open-series.ts';
import { noteOthers, noteSide, singleFinding } from './slots.ts';
import { noteScanSigns, scanIdentity, unknownPeerFinding } from './scans.ts';

interface CounterOptions {
  open: OpenSeries;
  /** Removes a series from the queue; false if an Event may already count it. */
  withdraw: (series: Series) => boolean;
  restored: Pick<SeriesState, 'reports' | 'counts'> | undefined;
  /** Called if an Event about the series would change. */
  onCounted: (series: Series, time: Millis) => void;
}

interface PacketCount {
  finding: Finding;
  time: Millis;
  weight: number;
  last?: Millis | undefined;
  from?: Series | undefined;
}

export interface Counter {
  readonly counts: { uncounted: number; overflowed: number };
  revision: () => number;
  readonly lossReports: () => SeriesState['reports'];
  /** Counts `weight` packets from `time` to `last`. The caller ensures that no window ends in between. */
  count: (finding: Finding, time: Millis, weight?: number, last?: Millis) => void;
  /** Counts packets where they belong to the object's overflow series. Returns false, and counts nothing, if their finding has to be counted. */
  countAmongOthers: (side: FlowSide, time: Millis, weight: number) => boolean;
  /** Marks the series that may have lost lines, so that their counts are shown as lower bounds. */
  suppress: (suppressed: Suppressed, node: string, time: Millis) => void;
}

export function createCounter({ open, withdraw, restored, onCounted }: CounterOptions): Counter {
  const { held } = open;
  const lostLines = createLostLines(restored?.reports);
  const counts = { uncounted: 0, overflowed: 0, ...restored?.counts };
  let revision = 0;

  return {
    counts,
    revision: (): number => revision,
    lossReports: lostLines.state,
    count,
    countAmongOthers,
    suppress,
  };

  function count(finding: Finding, time: Millis, weight = 1, last?: Millis): void {
    revision++;
    countOne({ finding, time, weight, last });
    for (const series of held.scans.takeBegun()) joinScan(series);
  }

  function countAmongOthers(side: FlowSide, time: Millis, weight: number): boolean {
    const series = open.overflowFor(side, time);
    if (series === undefined) return false;
    revision++;
    if (!series.suppressed) lostLines.noteUnmarked(series);
    counts.overflowed += weight;
    addPackets(series, weight, time, time);
    noteSide(series, side);
    onCounted(series, time);
    return true;
  }

  function suppress({ affects, since: given }: Suppressed, node: string, time: Millis): void {
    const since = given ?? time;
    if (affects === 'nothing') return;
    revision++;
    if (lostLines.report(affects, node, time, since) === 'all marked') return;
    for (const series of held.current()) {
      const isRecent = series.finding.node === node && series.last >= since - reach;
      if (series.suppressed || !isRecent || !isAffected(series, affects)) continue;
      series.suppressed = true;
      onCounted(series, time);
    }
  }

  /** Returns the series that counts the packets; undefined if none does. `from`: the series that counted the finding before. */
  function countOne({ finding, time, weight, last, from }: PacketCount): Series | undefined {
    const series = open.seriesFor(finding, time, last);
    // A scan's packets without a series are not lost, because Events of Pods also count them.
    const isCountedElsewhere = finding.details.kind === 'scan';
    if (series === undefined) {
      if (!isCountedElsewhere) counts.uncounted += weight;
      return undefined;
    }
    const { details } = series.finding;
    // A series for many ports starts with packets moved from other series, so its count is not 0 at its first own packet.
    if (series.count === 0 || details.kind === 'ports') series.suppressed ||= lostLines.mayBeOf(series, time);
    if (!series.suppressed) lostLines.noteUnmarked(series);
    if (details.kind === 'overflow' && !isCountedElsewhere) counts.overflowed += weight;
    add(series, finding, weight, time, last ?? time);
    const refused = noteOthers(series, finding, from);
    if (refused !== undefined) held.scans.joined(series, refused);
    if (details.kind === 'scan') noteScanSigns(series, weight, last ?? time, () => triedBy(finding));
    onCounted(series, time);
    const unknownPeer = details.kind === 'scan' && details.of === 'target' ? unknownPeerFinding(finding) : undefined;
    if (unknownPeer !== undefined) countOne({ finding: unknownPeer, time, weight, last, from });
    return series;
  }

  function triedBy({ details, related, node }: Finding): Series | undefined {
    const object = details.kind === 'scan' ? related : details.kind === 'flow' ? details.peer.object : undefined;
    return object && held.get(scanIdentity({ regarding: object, node }, 'target'));
  }

  /** Moves packets of a peer that turned out to scan into the scan's series, if no Event counts them yet. */
  function joinScan(series: Series): void {
    const isHeld = held.get(series.finding.identity) === series;
    if (!isHeld || held.scans.roleIn(series.finding) === undefined || !withdraw(series)) return;
    open.forget(series);
    const { count: packets, first, last, suppressed } = series;
    const finding = singleFinding(series.finding);
    const joint = countOne({ finding, time: first, weight: 1, from: series });
    if (packets > 1) countOne({ finding, time: last, weight: packets - 1 });
    if (suppressed && joint !== undefined) joint.suppressed = true;
  }
}

function add(series: Series, finding: Finding, weight: number, time: Millis, last: Millis): void {
  addPackets(series, weight, time, last);
  // An Event shows the latest findings of an incident, and the latest verdict of policies, not those from its beginning.
  if (finding.details.kind === 'incident' || (hasAnswer(series.finding) && hasAnswer(finding)))
    series.finding = finding;
}

function hasAnswer({ details }: Finding): boolean {
  return details.kind === 'flow' && details.answer !== undefined;
}

function addPackets(series: Series, weight: number, time: Millis, last: Millis): void {
  series.count += weight;
  if (last > series.last) series.last = last;
  if (time < series.first) series.first = time;
}

/** How far back a report of lost lines reaches. The kernel reports lost lines only with the next line that it allows. */
const reach: Millis = 10_000;

function createLostLines(restored: SeriesState['reports'] = []) {
  const reports = new Map<string, LossReports>(restored);
  /** The last report after which all series with packets since then were marked; undefined when there may be others. */
  let marked: { affects: Loss; node: string; since: Millis } | undefined;

  return {
    /** In a flood, each record that is read may come with a report, and searching 5,000 series takes longer than reading it. */
    report(affects: Loss, node: string, time: Millis, from: Millis): 'search' | 'all marked' {
      reports.set(node, { ...reports.get(node), [affects]: time });
      const since = from - reach;
      if (marked?.affects === affects && marked.node === node && since >= marked.since) return 'all marked';
      marked = { affects, node, since };
      return 'search';
    },
    /** Call it before packets are counted in a series that is not marked. */
    noteUnmarked({ count, last }: Series): void {
      if (count === 0 || last < (marked?.since ?? Infinity)) marked = undefined;
    },
    /** Returns whether the first lines of a series that begins at `time` may be among the lost lines. */
    mayBeOf(series: Series, time: Millis): boolean {
      const { details, node } = series.finding;
      const lost = reports.get(node);
      if (lost === undefined) return false;
      // An incident opens some time after the first failure that it counts.
      const since = (details.kind === 'incident' ? Math.min(time, details.since) : time) - reach;
      return (Object.keys(lost) as Loss[]).some(
        (affects) => (lost[affects] ?? -Infinity) >= since && isAffected(series, affects),
      );
    },
    state: (): SeriesState['reports'] => [...reports],
  };
}

type Loss = keyof LossReports;

function isAffected({ finding: { details } }: Series, affects: Loss): boolean {
  if (affects === 'everything') return true;
  const failing = details.kind === 'incident' ? details.failing : undefined;
  // Other kinds may count several flows together.
  if (affects === 'connections')
    return details.kind === 'flow' ? details.logger === connectFailure : details.kind !== 'incident';
  if (affects === 'felix') return failing === 'felix';
  return failing === 'kernel' || (details.kind === 'flow' && details.martian);
}
