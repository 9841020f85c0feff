import type { MinuteCounts } from '../telemetry/minute.ts';
import type { Counting } from './counting.ts';
import type { Knowing } from './knowing.ts';
import type { TroubleTally } from './troubles.ts';

/** Totals since the start, for the line that tells of a minute. */
export function minuteCounts(
  tally: Readonly<TroubleTally>,
  { remote }: Knowing,
  { statistics, table, sources }: Counting,
): MinuteCounts {
  const { pods, hostNames } = remote.counts;
  return {
    ...tally,
    packetsDropped: statistics.verdicts.dropped,
    packetsRejected: statistics.verdicts.rejected,
    dropsWithoutPod: statistics.withoutPods,
    uncountedPackets: table.counts.uncounted,
    unparsable: statistics.unparsable,
    longLines: sources.reduce((sum, { counts }) => sum + counts.tooLong, 0),
    podLookupsFailed: pods.failed,
    podLookupsRefused: pods.refused,
    dnsLookupsFailed: hostNames.failed,
  };
}
