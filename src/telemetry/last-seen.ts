import type { Millis } from '../model/log-line.ts';
import type { Verdict } from '../model/packet.ts';
import type { Metrics } from './metrics.ts';

export interface LastSeenOptions {
  metrics: Pick<Metrics, 'lastLine' | 'lastDrop' | 'lastEvent'>;
  sources: readonly { readonly name: string; readonly counts: { readonly lines: number } }[];
  verdicts: Readonly<Record<Verdict, number>>;
  counts: { readonly eventsWritten: number };
  /** Times that an earlier run has kept. */
  restored: { lastDrop: Millis | undefined; lastEvent: Millis | undefined } | undefined;
  /** The wall clock. */
  now: () => Millis;
}

export type LastSeen = ReturnType<typeof createLastSeen>;

/** Notes when something was last counted, by looking whether the count has grown: counting itself must cost nothing more. */
export function createLastSeen({ metrics, sources, verdicts, counts, restored, now }: LastSeenOptions) {
  const looks = [
    ...sources.map((source) =>
      lookAt(
        () => source.counts.lines,
        (seconds) => metrics.lastLine.set(seconds, { source: source.name }),
      ),
    ),
    lookAt(() => verdicts.dropped + verdicts.rejected, metrics.lastDrop.set),
    lookAt(() => counts.eventsWritten, metrics.lastEvent.set),
  ];
  if (restored?.lastDrop !== undefined) metrics.lastDrop.set(restored.lastDrop / 1000);
  if (restored?.lastEvent !== undefined) metrics.lastEvent.set(restored.lastEvent / 1000);
  return {
    /** Called every few seconds, and before the metrics are shown. */
    look(this: void): void {
      for (const look of looks) look();
    },
  };

  function lookAt(count: () => number, show: (seconds: number) => void): () => void {
    let seen = 0;
    return () => {
      const counted = count();
      if (counted > seen) show(now() / 1000);
      seen = counted;
    };
  }
}
