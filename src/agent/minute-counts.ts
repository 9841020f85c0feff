import type { MinuteCounts } from '../telemetry/minute.ts';
import type { Agent } from './agent.ts';

/** Totals since the start, for the line of each minute. */
export function minuteCounts({
  problems,
  context,
  ingest,
}: Pick<Agent, 'problems' | 'context' | 'ingest'>): MinuteCounts {
  const { statistics, table, sources, incidents } = ingest;
  const { pods, hostNames } = context.remote.counts;
  return {
    ...problems.counts,
    packetsDropped: statistics.verdicts.dropped,
    packetsRejected: statistics.verdicts.rejected,
    dropsWithoutPod: statistics.withoutPods,
    uncountedPackets: table.counts.uncounted,
    unparsable: statistics.unparsable,
    failures: sum(incidents.tracker.counts.failures),
    incidentsOpened: sum(incidents.tracker.counts.opened),
    incidentsClosed: sum(incidents.tracker.counts.closed),
    longLines: sources.reduce((total, { counts }) => total + counts.tooLong, 0),
    podLookupsFailed: pods.failed,
    podLookupsRefused: pods.refused,
    dnsLookupsFailed: hostNames.failed,
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
