import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { LossReports, Series, SeriesState } from '../model/series.ts';

/** Lost lines of this long ago may belong to a series: the kernel reports what it swallowed with the next line it lets through. */
const reach: Millis = 10_000;

/** When each node last reported that lines were lost. */
export function createLostLines(restored: SeriesState['reports'] = []) {
  const reports = new Map<string, LossReports>(restored);

  return {
    report(affects: Suppressed['affects'], node: string, time: Millis): void {
      const last = reports.get(node) ?? { kernelWarnings: null, everything: null, felix: null };
      if (affects === 'everything') last.everything = time;
      if (affects === 'felix') last.felix = time;
      else last.kernelWarnings = time;
      reports.set(node, last);
    },
    /** Whether lines of a series that begins at `time` may be among those that were lost before. */
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

/** Whether lines that are reported as lost at `time` may be of `series`. */
export function mayBeLost(series: Series, affects: Suppressed['affects'], node: string, time: Millis): boolean {
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
