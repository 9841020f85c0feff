import type { Config } from '../config/config.ts';
import { createLookupQueue, createPipeline, createStatistics } from '../pipeline/pipeline.ts';
import type { Clock } from '../platform/clock.ts';
import { createPrefixTable } from '../parsing/parsing.ts';
import { createSeriesTable, type SeriesTable, spreadOf } from '../series/series.ts';
import type { Restored } from '../state/state.ts';
import { createDropsByOwner } from '../telemetry/drops-by-owner.ts';
import { createLegacyMetric } from '../telemetry/legacy-metric.ts';
import { createAgentAudit, createAgentLiveFlows, packetSink } from './audit.ts';
import { createAgentIncidents } from './incidents.ts';
import type { Changes, ClusterContext } from './cluster.ts';
import { openSources } from './open-sources.ts';
import type { PolicyAnswers } from './policies/answers.ts';
import type { Problems } from './problems.ts';

/** The hot path: from lines to counts, without waiting. */
export type Ingest = ReturnType<typeof createIngest>;

export interface IngestOptions {
  config: Config;
  context: ClusterContext;
  restored: Restored;
  problems: Problems;
  changes: Changes;
  policies: PolicyAnswers | undefined;
  clock: Clock;
}

type DecisionConfig = Pick<Config, 'prefixes' | 'includeNoise'>;

/** About 9 Events for each of 250 Pods are 2,250; metrics count the rest. */
const seriesLimits = { perObject: 8, total: 5000 };

/** Enough for a long outage of the API server; each takes 1.5 KB. */
const waitingFlows = 4096;

export function createIngest(options: IngestOptions) {
  const { config, context, restored, problems, clock } = options;
  const { now } = clock;
  const { lists, remote, cluster } = context;
  const legacyMetric =
    config.legacyMetric === 'off'
      ? undefined
      : createLegacyMetric({ naming: config.legacyMetric, hostNameOf: remote.hostNameOf });
  const statistics = createStatistics(legacyMetric?.count);
  const table = createTable(options);
  const incidents = createAgentIncidents({
    config,
    context,
    restored: restored.state?.incidents,
    count: table.count,
    problems,
    now,
  });
  const dropsByOwner = createDropsByOwner();
  const audit = createAgentAudit({ ...options, hasOptedOut: context.hasOptedOut });
  const liveFlows = createAgentLiveFlows({ ...options, hasOptedOut: context.hasOptedOut });
  const counts = { table, incidents };
  const queue = createLookupQueue(waitingFlows, restored.state?.waiting);
  const pipeline = createPipeline({
    ...decisionSettings(config),
    directory: lists.directory,
    statistics,
    counts: () => counts,
    node: config.node,
    hasFlows: config.sources.some(({ kind }) => kind === 'calico-flows'),
    lookups: { queue, remote, isSynced: () => cluster.synced, now },
    packets: packetSink(audit, config.auditVerdicts, dropsByOwner, liveFlows),
  });
  const { sources, once } = openSources({
    config,
    positions: restored.state?.positions ?? {},
    once: restored.state?.once,
    first: restored.first,
    pipeline,
    problems,
    clock,
  });
  return {
    sources,
    once,
    statistics,
    legacyMetric,
    queue,
    pipeline,
    table,
    incidents,
    audit,
    liveFlows,
    dropsByOwner,
    change: (changed: DecisionConfig): void => pipeline.change(decisionSettings(changed)),
  };
}

function decisionSettings({ prefixes, includeNoise }: DecisionConfig) {
  return { prefixes: createPrefixTable(prefixes), includeNoise };
}

function createTable({ context: { cluster }, restored, changes, clock }: IngestOptions): SeriesTable {
  return createSeriesTable({
    limits: seriesLimits,
    restored: restored.state?.series,
    now: clock.now,
    onEarlier: () => void changes.emit('due'),
    spread: (series) => Math.random() * spreadOf(series, cluster.nodeCount),
  });
}
