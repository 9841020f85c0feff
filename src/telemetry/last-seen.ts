import type { Millis } from '../model/log-line.ts';
import type { Verdict } from '../model/packet.ts';
import type { Metrics } from './metrics.ts';

export interface LastSeenOptions {
  metrics: Pick<Metrics, 'lastLine' | 'lastDrop' | 'lastEvent'>;
  sources: readonly { readonly name: string; readonly counts: { readonly lines: number } }[];
  statistics: { readonly verdicts: Readonly<Record<Verdict, number>> };
  tally: { readonly eventsWritten: number };
  /** As far as an earlier run has kept them. */
  restored: { lastDrop: Millis | undefined; lastEvent: Millis | undefined } | undefined;
  now: () => Millis;
}

/** Notes when something was last counted, by looking whether the count has grown: counting itself must cost nothing more. */
export interface LastSeen {
  /** To be called every few seconds, and before the metrics are shown. */
  look: () => void;
}

export function createLastSeen({ metrics, sources, statistics, tally, restored, now }: LastSeenOptions): LastSeen {
  const { verdicts } = statistics;
  const watched = [
    ...sources.map((source) => ({
      count: () => source.counts.lines,
      show: (seconds: number) => metrics.lastLine.set(seconds, { source: source.name }),
    })),
    { count: () => verdicts.dropped + verdicts.rejected, show: (seconds: number) => metrics.lastDrop.set(seconds) },
    { count: () => tally.eventsWritten, show: (seconds: number) => metrics.lastEvent.set(seconds) },
  ];
  /** The counts of the last look. */
  const seen = watched.map(() => 0);
  if (restored?.lastDrop !== undefined) metrics.lastDrop.set(restored.lastDrop / 1000);
  if (restored?.lastEvent !== undefined) metrics.lastEvent.set(restored.lastEvent / 1000);

  return {
    look() {
      for (const [index, { count, show }] of watched.entries()) {
        const counted = count();
        if (counted > (seen[index] ?? 0)) show(now() / 1000);
        seen[index] = counted;
      }
    },
  };
}
