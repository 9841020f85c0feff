import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { Series } from '../model/series.ts';
import type { SeriesState } from './state.ts';

/** Lost lines of this long ago may belong to a series: the kernel reports what it swallowed with the next line it lets through. */
const reach: Millis = 10_000;

/** When they were reported last; -Infinity: never. */
interface Reports {
  kernelWarnings: Millis;
  everything: Millis;
  felix: Millis;
}

/** When each node last reported lines that nobody will ever see. */
export interface LostLines {
  report: (affects: Suppressed['affects'], node: string, time: Millis) => void;
  /** Whether lines of a series that begins at `time` may be among those that were lost before. */
  bearOn: (series: Series, time: Millis) => boolean;
  state: () => SeriesState['reports'];
}

export function createLostLines(restored: SeriesState['reports'] = []): LostLines {
  const reports = new Map<string, Reports>();
  for (const [node, { kernelWarnings, everything, felix }] of restored)
    reports.set(node, {
      kernelWarnings: kernelWarnings ?? -Infinity,
      everything: everything ?? -Infinity,
      felix: felix ?? -Infinity,
    });

  return {
    report(affects, node, time) {
      const last = reports.get(node) ?? { kernelWarnings: -Infinity, everything: -Infinity, felix: -Infinity };
      if (affects === 'everything') last.everything = time;
      if (affects === 'felix') last.felix = time;
      else last.kernelWarnings = time;
      reports.set(node, last);
    },
    bearOn(series, time) {
      const lost = reports.get(series.finding.node);
      if (lost === undefined) return false;
      const { details } = series.finding;
      // An incident opens some time after what it counts from.
      const since = (details.kind === 'incident' ? Math.min(time, details.since) : time) - reach;
      return (
        (lost.everything >= since && areOf(series, 'everything')) ||
        (lost.kernelWarnings >= since && areOf(series, 'kernel-warnings')) ||
        (lost.felix >= since && areOf(series, 'felix'))
      );
    },
    state: () =>
      [...reports].map(([node, { kernelWarnings, everything, felix }]) => [
        node,
        { kernelWarnings: finite(kernelWarnings), everything: finite(everything), felix: finite(felix) },
      ]),
  };
}

function finite(time: Millis): Millis | null {
  return time === -Infinity ? null : time;
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
