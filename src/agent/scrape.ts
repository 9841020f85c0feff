import type { Audit } from '../publish/audit/audit.ts';
import type { Reload } from './config/config.ts';
import type { NodeIncidents } from '../explain/incidents/incidents.ts';
import { verdicts } from '../base/model/packet.ts';
import type { Clock } from '../base/platform/clock.ts';
import type { LookupCounts } from '../explain/resolving/resolving.ts';
import { failureResults } from '../count/pipeline/pipeline.ts';
import type { Source } from '../read/sources/sources.ts';
import type { DropsByOwner } from './telemetry/drop-metrics.ts';
import type { LastSeenMetrics, MinuteCounts } from './telemetry/minute.ts';
import { collectMemory, type Metrics, scrapeOf } from './telemetry/metrics.ts';
import type { MetricsText } from './telemetry/server.ts';
import type { ClusterContext } from './cluster.ts';
import type { ConntrackLevel } from './node-checks.ts';
import type { Ingest } from './ingest.ts';
import type { Problems } from './problems.ts';

export interface ScrapeOptions {
  metrics: Metrics;
  context: ClusterContext;
  ingest: Ingest;
  conntrackLevel: ConntrackLevel;
  reload: Reload;
  lastSeen: LastSeenMetrics;
  clock: Clock;
}

const sourceStates = ['waiting', 'reading', 'failed', 'stopped'] as const;
const wayResults = ['hit', 'miss', 'failed', 'refused'] as const;
const lookupResults = ['hit', 'miss', 'failed', 'refused', 'cached'] as const;

export function createScrape(options: ScrapeOptions): MetricsText {
  const { metrics, context, ingest, conntrackLevel, reload, lastSeen, clock } = options;
  return scrapeOf(metrics, ingest.legacyMetric, () => {
    lastSeen.look();
    collectIngest(metrics, ingest, clock);
    collectIncidents(metrics, ingest.incidents);
    collectConntrack(metrics, conntrackLevel);
    if (ingest.audit !== undefined) collectAudit(metrics, ingest.audit);
    collectCluster(metrics, context, clock);
    for (const result of ['ok', 'failed'] as const) metrics.configReloads.setTotal(reload.counts[result], { result });
    metrics.configInForce.set(reload.inForce ? 1 : 0);
  });
}

function collectIngest(
  metrics: Metrics,
  { sources, dedupe, statistics, table, queue, dropsByOwner }: Ingest,
  clock: Clock,
): void {
  collectSources(metrics, sources);
  metrics.repeatedLines.setTotal(dedupe.repeats);

  for (const verdict of verdicts) metrics.packets.setTotal(statistics.verdicts[verdict], { verdict });
  collectDrops(metrics, dropsByOwner);
  for (const result of failureResults) metrics.connectFailures.setTotal(statistics.failures[result], { result });
  metrics.unparsable.setTotal(statistics.unparsable);
  metrics.dropsWithoutPod.setTotal(statistics.withoutPods);
  metrics.noise.setTotal(statistics.noise);
  metrics.programRecords.setTotal(statistics.programRecords);

  metrics.series.set(table.sizes.series);
  metrics.seriesUncountedPackets.setTotal(table.counts.uncounted);
  metrics.seriesOverflowPackets.setTotal(table.counts.overflowed);
  metrics.waitingFlows.set(queue.size);
  metrics.waitingOverflowPackets.setTotal(queue.overflowed);
  const { due, oldest } = table.backlog(clock.now());
  metrics.eventsDue.set(due);
  metrics.oldestDue.set(oldest / 1000);
}

/** Exported for its test. */
export function collectDrops({ drops }: Pick<Metrics, 'drops'>, dropsByOwner: Pick<DropsByOwner, 'cells'>): void {
  // Clear first, because cells of workloads that made room for others are gone.
  drops.clear();
  for (const { labels, packets } of dropsByOwner.cells()) drops.setTotal(packets, { ...labels });
}

/** Exported for its test. */
export function collectSources(
  metrics: Metrics,
  sources: readonly Pick<Source, 'name' | 'counts' | 'state' | 'dropReasons'>[],
): void {
  for (const source of sources) {
    const label = { source: source.name };
    metrics.lines.setTotal(source.counts.lines, label);
    metrics.readBytes.setTotal(source.counts.bytes, label);
    metrics.longLines.setTotal(source.counts.tooLong, label);
    for (const [reason, packets] of source.dropReasons?.() ?? []) metrics.kernelDrops.setTotal(packets, { reason });
    for (const state of sourceStates) metrics.sourceState.set(source.state === state ? 1 : 0, { ...label, state });
  }
}

function collectAudit(metrics: Metrics, audit: Audit): void {
  const { flows, bytes } = audit.sizes;
  metrics.auditFlows.set(flows);
  metrics.auditQueueBytes.set(bytes);
  for (const [sink, { behind, lost }] of Object.entries(audit.sinks)) {
    metrics.auditBehind.set(behind, { sink });
    metrics.auditRows.setTotal(lost, { sink, result: 'lost' });
  }
}

function collectIncidents(metrics: Metrics, { tracker: { counts, incidents } }: NodeIncidents): void {
  for (const [code, count] of Object.entries(counts.failures)) metrics.failures.setTotal(count, { code });
  for (const [code, count] of Object.entries(counts.flaps)) metrics.failuresUnrepeated.setTotal(count, { code });
  for (const [code, count] of Object.entries(counts.opened)) metrics.incidentsOpened.setTotal(count, { code });
  const open = new Set(incidents.filter(({ phase }) => phase === 'open').map((incident) => incident.code));
  for (const code of Object.keys(counts.opened)) metrics.incidentsOpen.set(open.has(code) ? 1 : 0, { code });
}

/** Exported for its test. */
export function collectConntrack(metrics: Metrics, { level }: Pick<ConntrackLevel, 'level'>): void {
  metrics.conntrackEntries.set(level?.count);
  metrics.conntrackLimit.set(level?.max);
}

function collectCluster(metrics: Metrics, context: ClusterContext, clock: Clock): void {
  const { cluster, lists, remote, podLookups, connection } = context;
  for (const [resource, { lastHeard }] of cluster.informers)
    if (lastHeard !== undefined) metrics.watchLastHeard.set(clock.toWall(lastHeard) / 1000, { resource });
  const { pods, nodes, services, tombstones } = lists.sizes;
  metrics.cachedObjects.set(pods, { resource: 'pods' });
  metrics.cachedObjects.set(nodes, { resource: 'nodes' });
  metrics.cachedObjects.set(services, { resource: 'services' });
  metrics.cachedObjects.set(lists.chains.sliceCount, { resource: 'endpointslices' });
  metrics.tombstones.set(tombstones);
  collectMemory(metrics, context.memory);
  collectLookups(metrics.podLookups, remote.counts.pods);
  for (const [way, counts] of podLookups?.counts ?? [])
    for (const result of wayResults) metrics.podLookupWays.setTotal(counts[result], { way, result });
  collectLookups(metrics.dnsLookups, remote.counts.hostNames);
  if (connection.clockSkew !== undefined) metrics.clockSkew.set(connection.clockSkew / 1000);
}

function collectLookups(metric: Metrics['podLookups'], counts: Readonly<LookupCounts>): void {
  for (const result of lookupResults) metric.setTotal(counts[result], { result });
}

/** Returns totals since the start, for the log line of each minute. */
export function minuteCounts({
  problems,
  context,
  ingest,
}: {
  problems: Problems;
  context: ClusterContext;
  ingest: Ingest;
}): MinuteCounts {
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
