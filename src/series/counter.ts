import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Series, SeriesState } from '../model/series.ts';
import { createLostLines, mayBeLost } from './lost-lines.ts';
import type { OpenSeries } from './open-series.ts';
import { noteOthers } from './others.ts';
import { singleFinding } from './many-ports.ts';
import { noteScanSigns } from './scan-signs.ts';
import { scanIdentity, strangerFinding } from './scans.ts';

export interface CounterOptions {
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
    /** Packets past the limits: of no series, and of an overflow series. */
    counts,
    get revision(): number {
      return revision;
    },
    lossReports: lostLines.state,
    count,
    suppress,
  };

  /** Adds `weight` packets to the series of a finding. `last`: of one that comes again, from `time` to then, in which no window ends. */
  function count(finding: Finding, time: Millis, weight = 1, last?: Millis): void {
    revision++;
    countOne({ finding, time, weight, last });
    if (held.scans.takeBegun()) joinUnpublished();
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

  /** Gives the series that it was counted in. `from`: the one that has counted it until now. */
  function countOne({ finding, time, weight, last, from }: Counted): Series | undefined {
    const series = open.of(finding, time, last);
    // The packets of a scan that are counted on the node are counted on Pods, too.
    const isCounted = finding.details.kind === 'scan';
    if (series === undefined) {
      if (!isCounted) counts.uncounted += weight;
      return undefined;
    }
    const { details } = series.finding;
    // One for many ports has the packets of others from its beginning.
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

  /** What a Pod that is tried has of the packets, if it counts them as those of a scan. */
  function triedBy({ details, related, node }: Finding): Series | undefined {
    const object = details.kind === 'scan' ? related : details.kind === 'flow' ? details.peer.object : undefined;
    return object && held.get(scanIdentity({ regarding: object, node }, 'target'));
  }

  /** A peer turned out to scan: what no Event counts yet is counted with its scan. */
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
