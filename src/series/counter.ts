import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Series, SeriesState, LossReports } from '../model/series.ts';
import type { OpenSeries } from './open-series.ts';
import { noteOthers, singleFinding } from './slots.ts';
import { noteScanSigns, scanIdentity, strangerFinding } from './scans.ts';

interface CounterOptions {
  open: OpenSeries;
  /** Takes a series out of what is to be published; false where an Event may count it. */
  withdraw: (series: Series) => boolean;
  restored: Pick<SeriesState, 'reports' | 'counts'> | undefined;
  /** An Event about the series would say something new. */
  onCounted: (series: Series, time: Millis) => void;
}

interface Counted {
  finding: Finding;
  time: Millis;
  weight: number;
  last?: Millis | undefined;
  from?: Series | undefined;
}

export type Counter = ReturnType<typeof createCounter>;

/** Counts findings in their series. */
export function createCounter({ open, withdraw, restored, onCounted }: CounterOptions) {
  const { held } = open;
  const lostLines = createLostLines(restored?.reports);
  const counts = { uncounted: 0, overflowed: 0, ...restored?.counts };
  let revision = 0;

  return {
    /** Packets past the limits: `uncounted` ones are in no series, `overflowed` ones in an overflow series. */
    counts,
    get revision(): number {
      return revision;
    },
    lossReports: lostLines.state,
    count,
    suppress,
  };

  /** Adds `weight` packets to the series of a finding, which came from `time` to `last`; no window ends between them. */
  function count(finding: Finding, time: Millis, weight = 1, last?: Millis): void {
    revision++;
    countOne({ finding, time, weight, last });
    if (held.scans.endBegun()) joinUnpublished();
  }

  /** Marks the series that a report of lost lines bears on: from now their counts are lower bounds. */
  function suppress({ affects }: Suppressed, node: string, time: Millis): void {
    if (affects === 'nothing') return;
    revision++;
    lostLines.report(affects, node, time);
    for (const series of held.current()) {
      if (series.suppressed || !mayBeLost(series, affects, node, time)) continue;
      series.suppressed = true;
      onCounted(series, time);
    }
  }

  /** Counts the finding and returns its series; `from` is the series that counted it before. */
  function countOne({ finding, time, weight, last, from }: Counted): Series | undefined {
    const series = open.seriesFor(finding, time, last);
    // Packets of a scan are counted on Pods as well, so limits lose none of them.
    const isCounted = finding.details.kind === 'scan';
    if (series === undefined) {
      if (!isCounted) counts.uncounted += weight;
      return undefined;
    }
    const { details } = series.finding;
    // A series for many ports begins with packets that other series counted first.
    if (series.count === 0 || details.kind === 'ports') series.suppressed ||= lostLines.bearOn(series, time);
    if (details.kind === 'overflow' && !isCounted) counts.overflowed += weight;
    add(series, finding, weight, time, last ?? time);
    const refused = noteOthers(series, finding, from);
    if (refused !== undefined) held.scans.joined(series, refused);
    if (details.kind === 'scan') noteScanSigns(series, weight, last ?? time, () => triedBy(finding));
    onCounted(series, time);
    const stranger = details.kind === 'scan' && details.of === 'target' ? strangerFinding(finding) : undefined;
    if (stranger !== undefined) countOne({ finding: stranger, time, weight, last, from });
    return series;
  }

  /** Finds the series of the Pod that a scanner tries, if that Pod has one for scans. */
  function triedBy({ details, related, node }: Finding): Series | undefined {
    const object = details.kind === 'scan' ? related : details.kind === 'flow' ? details.peer.object : undefined;
    return object && held.get(scanIdentity({ regarding: object, node }, 'target'));
  }

  /** Moves packets that no Event counts yet to the scan, when a peer turns out to scan. */
  function joinUnpublished(): void {
    for (const series of held.current()) {
      if (held.scans.roleIn(series.finding) === undefined || !withdraw(series)) continue;
      open.forget(series);
      const { count: packets, first, last, suppressed } = series;
      const finding = singleFinding(series.finding);
      const joint = countOne({ finding, time: first, weight: 1, from: series });
      if (packets > 1) countOne({ finding, time: last, weight: packets - 1 });
      if (suppressed && joint !== undefined) joint.suppressed = true;
    }
  }
}

function add(series: Series, finding: Finding, weight: number, time: Millis, last: Millis): void {
  series.count += weight;
  if (last > series.last) series.last = last;
  if (time < series.first) series.first = time;
  // An incident is published as it is known now, not as it began.
  if (finding.details.kind === 'incident') series.finding = finding;
}

/** The kernel reports what it swallowed with the next line that it lets through: lines were lost so long before the report. */
const reach: Millis = 10_000;

/** The time at which each node last reported lost lines. */
function createLostLines(restored: SeriesState['reports'] = []) {
  const reports = new Map<string, LossReports>(restored);

  return {
    report(affects: Suppressed['affects'], node: string, time: Millis): void {
      const last = reports.get(node) ?? { kernelWarnings: null, everything: null, felix: null };
      if (affects === 'everything') last.everything = time;
      if (affects === 'felix') last.felix = time;
      else last.kernelWarnings = time;
      reports.set(node, last);
    },
    /** Whether a series that begins at `time` may have lost its first lines. */
    bearOn(series: Series, time: Millis): boolean {
      const lost = reports.get(series.finding.node);
      if (lost === undefined) return false;
      const { details } = series.finding;
      // An incident opens some time after what it counts from.
      const since = (details.kind === 'incident' ? Math.min(time, details.since) : time) - reach;
      const isNear = (report: Millis | null | undefined): boolean => (report ?? -Infinity) >= since;
      return (
        (isNear(lost.everything) && areOf(series, 'everything')) ||
        (isNear(lost.kernelWarnings) && areOf(series, 'kernel-warnings')) ||
        (isNear(lost.felix) && areOf(series, 'felix'))
      );
    },
    state: (): SeriesState['reports'] => [...reports],
  };
}

/** Whether a series may have lost lines by a report at `time`. */
function mayBeLost(series: Series, affects: Suppressed['affects'], node: string, time: Millis): boolean {
  return series.finding.node === node && series.last >= time - reach && areOf(series, affects);
}

function areOf({ finding: { details } }: Series, affects: Suppressed['affects']): boolean {
  if (affects === 'everything') return true;
  if (affects === 'felix') return details.kind === 'incident' && details.failing === 'felix';
  return (
    affects === 'kernel-warnings' &&
    ((details.kind === 'incident' && details.failing === 'kernel') || (details.kind === 'flow' && details.martian))
  );
}
