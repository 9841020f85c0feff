import type { Config } from '../config/config.ts';
import {
  createLookupGate,
  createLookupQueue,
  createPipeline,
  createStatistics,
  type Pipeline,
  type QueuedFlow,
} from '../pipeline/pipeline.ts';
import type { Clock } from '../platform/clock.ts';
import { createPrefixTable } from '../parsing/parsing.ts';
import { endsOf } from '../resolving/resolver.ts';
import { createSeriesTable, type SeriesTable, spreadOf } from '../series/series.ts';
import type { Restored } from '../state/state.ts';
import { createDropsByOwner } from '../telemetry/drops-by-owner.ts';
import { createLegacyMetric } from '../telemetry/legacy-metric.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createAgentAudit, createAgentLiveFlows, packetSink } from './audit.ts';
import { createAgentIncidents } from './incidents.ts';
import type { Changes, ClusterContext } from './cluster.ts';
import { openSources } from './open-sources.ts';
import type { PolicyAnswers } from './policies/answers.ts';
import type { Problems } from './problems.ts';

/** The hot path: from lines to counts, without ever waiting. */
export type Ingest = ReturnType<typeof createIngest>;

export interface IngestOptions {
  config: Config;
  context: ClusterContext;
  restored: Restored;
  metrics: Metrics;
  problems: Problems;
  changes: Changes;
  /** Undefined: policies are not asked. */
  policies: PolicyAnswers | undefined;
  clock: Clock;
}

type PipelineConfig = Pick<Config, 'prefixes' | 'includeNoise'>;

/** About 9 Events for each of 250 Pods are 2,250; what is past the limit is counted in the metrics. */
const seriesLimits = { perObject: 8, total: 5000 };

/** Enough for a node whose API server is away for long; each takes 1.5 KB. */
const waitingFlows = 4096;

export function createIngest(options: IngestOptions) {
  const { config, context, restored, problems, clock } = options;
  const { now } = clock;
  const { lists, remote } = context;
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
  const { queue, lookupGate } = createWaiting(options, (flow) => pipeline.resume(flow));
  let pipeline = pipelineFor(config);
  const { sources, once } = openSources({
    config,
    positions: restored.state?.positions ?? {},
    once: restored.state?.once,
    first: restored.first,
    // Another one takes its place when settings change.
    pipeline: {
      take: (line, origin) => pipeline.take(line, origin),
      repeats: {
        last: () => pipeline.repeats?.last(),
        again: (repeat, time) => pipeline.repeats?.again(repeat, time) === true,
        flush: () => pipeline.repeats?.flush(),
      },
      lost: (...lost) => pipeline.lost(...lost),
    },
    problems,
    clock,
  });
  return {
    sources,
    once,
    statistics,
    legacyMetric,
    queue,
    lookupGate,
    table,
    incidents,
    audit,
    liveFlows,
    dropsByOwner,
    /** Holds from the next line on. */
    change(changed: PipelineConfig): void {
      pipeline = pipelineFor(changed);
    },
  };

  function pipelineFor({ prefixes, includeNoise }: PipelineConfig): Pipeline {
    return createPipeline({
      prefixes: createPrefixTable(prefixes),
      directory: lists.directory,
      statistics,
      // Publishing has a clock of its own.
      advance: () => {},
      series: () => table,
      incidents: () => incidents,
      node: config.node,
      includeNoise,
      hasFlows: config.sources.some(({ kind }) => kind === 'calico-flows'),
      hold: lookupGate.hold,
      packets: packetSink(audit, config.auditVerdicts, dropsByOwner, liveFlows),
    });
  }
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

/** Packets whose peer is being looked up. */
function createWaiting({ context, restored, metrics, clock }: IngestOptions, resume: (flow: QueuedFlow) => void) {
  const { lists, remote, cluster } = context;
  const queue = createLookupQueue(waitingFlows, restored.state?.waiting);
  const lookupGate = createLookupGate({
    queue,
    remote,
    isSynced: () => cluster.synced,
    endsOf: ({ line, observation }) =>
      endsOf(observation, lists.directory, { time: line.time, exact: line.timeIsExact }),
    resume,
    onFull: (packets) => metrics.waitingOverflowPackets.add(packets),
    now: clock.now,
  });
  return { queue, lookupGate };
}
