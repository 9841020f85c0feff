/** Reads counts regularly, to log a line each minute, and to note when something was last counted. */
import type { Millis } from '../../base/model/log-line.ts';
import type { Verdict } from '../../base/model/packet.ts';
import type { Log } from './logger.ts';
import type { Metrics } from './metrics.ts';

const words = {
  packetsDropped: ['packet dropped', 'packets dropped'],
  packetsRejected: ['packet rejected', 'packets rejected'],
  dropsWithoutPod: ['drop without a Pod', 'drops without a Pod'],
  uncountedPackets: ['drop past the limit of problems', 'drops past the limit of problems'],
  failures: ['failure of a program or table', 'failures of programs and tables'],
  incidentsOpened: ['incident opened', 'incidents opened'],
  incidentsClosed: ['incident over', 'incidents over'],
  unparsable: ['line not understood', 'lines not understood'],
  longLines: ['line too long', 'lines too long'],
  recordsLost: ['log record lost', 'log records lost'],
  bytesLost: ['byte of log lost', 'bytes of log lost'],
  eventsWritten: ['Event written', 'Events written'],
  eventWritesFailed: ['write of an Event failed', 'writes of Events failed'],
  eventsAbandoned: ['Event given up', 'Events given up'],
  podLookupsFailed: ['look-up of a Pod failed', 'look-ups of Pods failed'],
  podLookupsRefused: ['look-up of a Pod past the budget', 'look-ups of Pods past the budget'],
  dnsLookupsFailed: ['look-up of a host name failed', 'look-ups of host names failed'],
  requestsFailed: ['request to the API server failed', 'requests to the API server failed'],
  watchRestarts: ['watch restarted', 'watches restarted'],
  stateErrors: ['failure to keep the state', 'failures to keep the state'],
} as const;

/** Totals since the start. */
export type MinuteCounts = Readonly<Partial<Record<keyof typeof words, number>>>;

export interface MinuteOptions {
  /** Returns a new object each time. */
  snapshot: () => MinuteCounts;
  takeRepeated: () => Record<string, number>;
}

const shown = 10;

/** Logs a line for a minute in which anything was counted: `12 packets dropped, 3 Events written`, with the numbers as fields. */
export function createMinuteSummary(log: Log, { snapshot, takeRepeated }: MinuteOptions): { stop: () => void } {
  let last = snapshot();
  const timer = setInterval(summarize, 60_000).unref();
  return {
    stop() {
      clearInterval(timer);
      summarize();
    },
  };

  function summarize(): void {
    const current = snapshot();
    const fields: Record<string, unknown> = {};
    const parts: string[] = [];
    for (const [name, [one, several]] of Object.entries(words) as [keyof typeof words, readonly [string, string]][]) {
      const count = (current[name] ?? 0) - (last[name] ?? 0);
      if (count <= 0) continue;
      fields[name] = count;
      parts.push(`${count} ${count === 1 ? one : several}`);
    }
    last = current;
    const repeated = Object.entries(takeRepeated()).toSorted(([, a], [, b]) => b - a);
    if (repeated.length > 0) {
      const count = repeated.reduce((sum, [, each]) => sum + each, 0);
      fields['repeatedProblems'] = repeated.slice(0, shown).map(([key, times]) => ({ key, times }));
      parts.push(`${count} repeated ${count === 1 ? 'problem' : 'problems'}`);
    }
    if (parts.length > 0) log.info(fields, parts.join(', '));
  }
}

export interface LastSeenOptions {
  metrics: Pick<Metrics, 'lastLine' | 'lastDrop' | 'lastEvent'>;
  sources: readonly { readonly name: string; readonly counts: { readonly lines: number } }[];
  verdicts: Readonly<Record<Verdict, number>>;
  counts: { readonly eventsWritten: number };
  restored: { lastDrop: Millis | undefined; lastEvent: Millis | undefined } | undefined;
  now: () => Millis;
}

export interface LastSeenMetrics {
  /** Call it every few seconds, and before the metrics are shown. */
  look: () => void;
}

/** Notes when something was last counted. It compares counts from time to time, so that counting itself costs nothing more. */
export function createLastSeen({
  metrics,
  sources,
  verdicts,
  counts,
  restored,
  now,
}: LastSeenOptions): LastSeenMetrics {
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
