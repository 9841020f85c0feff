import type { Millis, Series, Suppressed } from '../model.ts';
import type { SeriesState } from './state.ts';

/** Lost lines of this long ago may belong to a series: the kernel reports what it swallowed with the next line it lets through. */
const reach: Millis = 10_000;

/** When each node last reported lines that nobody will ever see. */
export interface LostLines {
  report: (affects: Suppressed['affects'], node: string, time: Millis) => void;
  /** Whether lines of a series that begins at `time` may be among those that were lost before. */
  bearOn: (series: Series, time: Millis) => boolean;
  /** The clock was set back: nobody knows any more how long ago they were. */
  clear: () => void;
  state: () => SeriesState['reports'];
}

export function createLostLines(restored: SeriesState['reports'] = []): LostLines {
  const reports = new Map<string, { kernelWarnings: Millis; everything: Millis }>();
  for (const [node, { kernelWarnings, everything }] of restored)
    reports.set(node, { kernelWarnings, everything: everything ?? -Infinity });

  return {
    report(affects, node, time) {
      const last = reports.get(node) ?? { kernelWarnings: -Infinity, everything: -Infinity };
      last.kernelWarnings = time;
      if (affects === 'everything') last.everything = time;
      reports.set(node, last);
    },
    bearOn(series, time) {
      const lost = reports.get(series.finding.node);
      if (lost === undefined) return false;
      return (
        (time - lost.everything <= reach && areOf(series, 'everything')) ||
        (time - lost.kernelWarnings <= reach && areOf(series, 'kernel-warnings'))
      );
    },
    clear: () => reports.clear(),
    state: () =>
      [...reports].map(([node, { kernelWarnings, everything }]) => [
        node,
        { kernelWarnings, everything: everything === -Infinity ? null : everything },
      ]),
  };
}

/** Whether lines that are reported as lost at `time` may be of `series`. */
export function mayBeLost(series: Series, affects: Suppressed['affects'], node: string, time: Millis): boolean {
  return series.finding.node === node && series.last >= time - reach && areOf(series, affects);
}

function areOf({ finding: { story } }: Series, affects: Suppressed['affects']): boolean {
  if (affects === 'everything') return true;
  return (
    affects === 'kernel-warnings' &&
    ((story.kind === 'incident' && story.failing === 'kernel') || (story.kind === 'flow' && story.martian))
  );
}
