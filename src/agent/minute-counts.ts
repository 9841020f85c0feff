import type { MinuteCounts } from '../telemetry/minute.ts';
import type { Ingest } from './ingest.ts';
import type { ClusterContext } from './cluster.ts';
import type { TroubleCounts } from './troubles.ts';

/** Totals since the start, for the line that tells of a minute. */
export function minuteCounts(
  tally: Readonly<TroubleCounts>,
  { remote }: ClusterContext,
  { statistics, table, sources, incidents }: Ingest,
): MinuteCounts {
  const { pods, hostNames } = remote.counts;
  return {
    ...tally,
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
