import { verdicts } from '../model/packet.ts';
import type { Reload } from '../config/reload.ts';
import type { ClusterWatch } from '../kubernetes/cluster-watch.ts';
import type { Connection } from '../kubernetes/connection.ts';
import type { NodeIncidents } from '../incidents/node-incidents.ts';
import type { LiveLists } from '../resolving/live-lists.ts';
import type { FinderChain } from '../resolving/lookups/finder-chain.ts';
import type { LookupCounts } from '../resolving/lookups/lookup.ts';
import type { RemoteLookups } from '../resolving/lookups/remote.ts';
import type { SeriesTable } from '../series/table.ts';
import type { Source } from '../sources/source.ts';
import type { Statistics } from '../pipeline/statistics.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Clock } from '../platform/clock.ts';
import type { SourceDedup } from './source-dedup.ts';
import type { LookupQueue } from '../pipeline/lookup-queue.ts';

export interface Observed {
  sources: readonly Source[];
  once: SourceDedup['once'];
  statistics: Statistics;
  table: SeriesTable;
  queue: LookupQueue;
  incidents: NodeIncidents;
  lists: LiveLists;
  remote: RemoteLookups;
  podLookups: FinderChain | undefined;
  cluster: ClusterWatch;
  connection: Connection;
  reload: Pick<Reload, 'counts' | 'inForce'>;
  clock: Clock;
}

const sourceStates = ['waiting', 'reading', 'failed', 'stopped'] as const;
const wayResults = ['hit', 'miss', 'failed', 'refused'] as const;
const lookupResults = ['hit', 'miss', 'failed', 'refused', 'cached'] as const;

/** Shows in the metrics what is counted elsewhere, when somebody looks. */
export function collectMetrics(metrics: Metrics, observed: Observed): void {
  const { statistics, table, queue, lists, remote, cluster, connection, clock } = observed;
  for (const source of observed.sources) {
    const label = { source: source.name };
    metrics.lines.setTotal(source.counts.lines, label);
    metrics.readBytes.setTotal(source.counts.bytes, label);
    metrics.longLines.setTotal(source.counts.tooLong, label);
    for (const state of sourceStates) metrics.sourceState.set(source.state === state ? 1 : 0, { ...label, state });
  }
  for (const verdict of verdicts) metrics.packets.setTotal(statistics.verdicts[verdict], { verdict });
  for (const result of ['ok', 'failed'] as const)
    metrics.configReloads.setTotal(observed.reload.counts[result], { result });
  metrics.configInForce.set(observed.reload.inForce ? 1 : 0);
  metrics.unparsable.setTotal(statistics.unparsable);
  metrics.repeatedLines.setTotal(observed.once.counts.repeats);
  metrics.forgottenLines.setTotal(observed.once.counts.forgotten);
  metrics.dropsWithoutPod.setTotal(statistics.withoutPods);
  metrics.noise.setTotal(statistics.noise);

  metrics.programRecords.setTotal(statistics.programRecords);
  collectIncidents(metrics, observed.incidents);

  metrics.series.set(table.sizes.series);
  metrics.seriesUncountedPackets.setTotal(table.counts.uncounted);
  metrics.seriesOverflowPackets.setTotal(table.counts.overflowed);
  metrics.waitingFlows.set(queue.size);
  const { due, oldest } = table.backlog(clock.now());
  metrics.eventsDue.set(due);
  metrics.oldestDue.set(oldest / 1000);

  for (const [resource, { lastHeard }] of cluster.informers)
    if (lastHeard !== undefined) metrics.watchLastHeard.set(clock.toWall(lastHeard) / 1000, { resource });
  const { pods, nodes, services, tombstones } = lists.sizes;
  metrics.cachedObjects.set(pods, { resource: 'pods' });
  metrics.cachedObjects.set(nodes, { resource: 'nodes' });
  metrics.cachedObjects.set(services, { resource: 'services' });
  metrics.cachedObjects.set(lists.chains.sizes.slices, { resource: 'endpointslices' });
  metrics.tombstones.set(tombstones);
  collectLookups(metrics.podLookups, remote.counts.pods);
  for (const [way, counts] of observed.podLookups?.counts ?? [])
    for (const result of wayResults) metrics.podLookupWays.setTotal(counts[result], { way, result });
  collectLookups(metrics.dnsLookups, remote.counts.hostNames);
  if (connection.clockSkew !== undefined) metrics.clockSkew.set(connection.clockSkew / 1000);
}

function collectIncidents(metrics: Metrics, { tracker: { counts, incidents } }: NodeIncidents): void {
  for (const [code, count] of Object.entries(counts.failures)) metrics.failures.setTotal(count, { code });
  for (const [code, count] of Object.entries(counts.flaps)) metrics.failuresUnrepeated.setTotal(count, { code });
  for (const [code, count] of Object.entries(counts.opened)) metrics.incidentsOpened.setTotal(count, { code });
  const open = new Set(incidents.filter(({ phase }) => phase === 'open').map((incident) => incident.code));
  for (const code of Object.keys(counts.opened)) metrics.incidentsOpen.set(open.has(code) ? 1 : 0, { code });
}

function collectLookups(metric: Metrics['podLookups'], counts: Readonly<LookupCounts>): void {
  for (const result of lookupResults) metric.setTotal(counts[result], { result });
}
