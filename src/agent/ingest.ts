import { existsSync } from 'node:fs';
import {
  type Audit,
  createAudit,
  createLiveFlows,
  createSink,
  type LiveFlowTable,
  noNamespace,
  type Privacy,
  redactionOf,
} from '../publish/audit/audit.ts';
import type { Config } from './config/config.ts';
import { createPrefixTable } from '../read/parsing/parsing.ts';
import {
  type ConnectionJudge,
  createLookupQueue,
  createPipeline,
  createStatistics,
  type Drop,
  type LookupQueue,
  type PacketSink,
  type Pipeline,
  type Statistics,
} from '../count/pipeline/pipeline.ts';
import type { Clock } from '../base/platform/clock.ts';
import type { Schedule } from '../base/platform/timer.ts';
import { createSeriesTable, type SeriesTable, spreadOf } from '../count/series/series.ts';
import type { RestoredState } from '../publish/state/state.ts';
import { createDropsByOwner, type DropsByOwner } from './telemetry/drop-metrics.ts';
import { createLegacyMetric, type LegacyMetric } from './telemetry/legacy-metric.ts';
import type { Problems } from './problems.ts';
import type { ChangeEvents, ClusterContext } from './cluster.ts';
import { createAgentIncidents } from './incidents.ts';
import { openSources } from './open-sources.ts';
import type { PolicyAnswers } from './policies/answers.ts';
import type { LineDedupe, Source } from '../read/sources/sources.ts';
import type { NodeIncidents } from '../explain/incidents/incidents.ts';

/** The hot path: it counts lines, and never waits. */
export interface Ingest {
  readonly sources: readonly Source[];
  readonly dedupe: LineDedupe;
  readonly statistics: Statistics;
  readonly legacyMetric: LegacyMetric | undefined;
  /** Packets whose owners are still looked up. */
  readonly queue: LookupQueue;
  readonly pipeline: Pipeline;
  readonly table: SeriesTable;
  readonly incidents: NodeIncidents;
  readonly audit: Audit | undefined;
  readonly liveFlows: LiveFlowTable | undefined;
  readonly dropsByOwner: DropsByOwner;
  /** Follows settings that need no restart. */
  change: (changed: DecisionConfig) => void;
}

interface IngestOptions {
  config: Config;
  context: ClusterContext;
  restored: RestoredState;
  problems: Problems;
  changes: ChangeEvents;
  policies: PolicyAnswers | undefined;
  clock: Clock;
  /** For reading logs. */
  schedule: Schedule;
}

type DecisionConfig = Pick<Config, 'prefixes' | 'includeNoise'>;

/** Enough for 250 Pods with 9 Events each (2,250), and for as many unpublished ones of the previous hour. Metrics count the rest. */
const seriesLimits = { perObject: 8, total: 5000 };

/** Enough for a long outage of the API server. Each flow takes 1.5 KB. */
const waitingFlows = 4096;

export function createIngest(options: IngestOptions): Ingest {
  const { config, context, restored, problems, policies, clock } = options;
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
  const dropsByOwner = createDropsByOwner(now);
  const audit = createAgentAudit(options);
  const liveFlows = createAgentLiveFlows(options);
  const counts = { table, incidents };
  const queue = createLookupQueue(waitingFlows, restored.state?.waiting);
  const pipeline = createPipeline({
    ...decisionSettings(config),
    endpoints: lists.endpoints,
    statistics,
    counts: () => counts,
    node: config.node,
    hasKernelDrops: config.sources.some(({ kind }) => kind === 'kernel-drops'),
    hasFlows: config.sources.some(({ kind }) => kind === 'calico-flows'),
    lookups: { queue, remote, isSynced: () => cluster.synced, now },
    judge: policies && judgeOf(policies, context),
    packets: packetSink(audit, config.auditVerdicts, dropsByOwner, liveFlows),
  });
  const { sources, dedupe } = openSources({
    config,
    positions: restored.state?.positions ?? {},
    once: restored.state?.once,
    first: restored.first,
    pipeline,
    problems,
    clock,
    schedule: options.schedule,
  });
  const lost = lossOfState(restored, config.audit);
  if (lost?.of === 'everything') {
    pipeline.lost('state', undefined, now());
    problems.lost('state', { count: undefined, unit: 'records', time: clock.wall(), reason: lost.reason });
  } else if (lost?.of === 'audit')
    audit?.lost({ kind: 'suppressed', by: 'state', count: undefined, affects: 'everything' }, now());
  return {
    sources,
    dedupe,
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

/**
 * Returns the possible loss of a start that does not know where an earlier run stopped; undefined if it knows. `audit`: no earlier run is
 * known, but an audit must not look complete if its state was deleted.
 */
export function lossOfState(
  { first, problem }: Pick<RestoredState, 'first' | 'problem'>,
  audit: Config['audit'],
): { of: 'everything'; reason: string } | { of: 'audit' } | undefined {
  const missing = 'what was logged since, and counts that were not published yet, may be missing';
  if (problem !== undefined)
    return { of: 'everything', reason: `The state of an earlier run cannot be used, or not all of it: ${missing}` };
  if (!first || audit.length === 0) return undefined;
  return audit.some((sink) => sink.kind === 'file' && existsSync(sink.path))
    ? { of: 'everything', reason: `There are flow records of an earlier run, but no state of it: ${missing}` }
    : { of: 'audit' };
}

/** While not all EndpointSlices are watched, no endpoints are known. */
export function judgeOf(
  { prepare, evaluate }: Pick<PolicyAnswers, 'prepare' | 'evaluate'>,
  {
    lists: { chains },
    cluster,
  }: { lists: Pick<ClusterContext['lists'], 'chains'>; cluster: Pick<ClusterContext['cluster'], 'watches'> },
): ConnectionJudge {
  const areKnown = (): boolean => cluster.watches('endpointslices');
  return {
    prepare,
    judge: evaluate,
    targetsOf: ({ namespace = '', name }, to, most) =>
      areKnown() ? chains.targetsOf(namespace, name, to, most) : undefined,
    publishedTargetsOf(to, most) {
      const published = chains.publishedTargetsOf(to, most);
      return published === undefined || areKnown() ? published : 'many';
    },
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

function createAgentAudit(options: IngestOptions): Audit | undefined {
  const { config, restored, problems, policies, clock } = options;
  if (config.audit.length === 0) return undefined;
  return createAudit({
    node: config.node,
    cluster: config.cluster,
    interval: config.auditInterval * 1000,
    sinks: config.audit.map((sink) => createSink(sink, config)),
    queueSize: config.auditQueue * 1024 * 1024,
    restored: restored.state?.audit,
    privacy: privacyOf(options),
    policiesOn: policies?.factsOn,
    clock,
    report: problems.audit,
  });
}

function createAgentLiveFlows(options: IngestOptions): LiveFlowTable | undefined {
  const { config, clock } = options;
  if (config.dropsAddress === undefined) return undefined;
  return createLiveFlows({ node: config.node, redact: redactionOf(privacyOf(options)), clock });
}

function privacyOf({ config, context }: IngestOptions): Privacy {
  return {
    peers: config.auditPeers,
    bits: { ipv4: config.auditIpv4Prefix, ipv6: config.auditIpv6Prefix },
    isHidden: config.auditOptOut ? context.hasOptedOut : noNamespace,
    labels: config.auditLabels,
  };
}

function auditedPacket(observation: Drop['observation'], { node, ends, noise, findings }: Drop['meaning']) {
  return { observation, node, ends, noise, findings };
}

export function packetSink(
  audit: Audit | undefined,
  verdicts: Config['auditVerdicts'],
  dropsByOwner: Pick<DropsByOwner, 'count'>,
  liveFlows: LiveFlowTable | undefined,
): PacketSink {
  const asked = new Set<string>(audit === undefined ? [] : verdicts);
  const record = ({ line, observation, meaning, weight }: Drop): void => {
    if (!asked.has(observation.kind === 'martian' ? 'dropped' : observation.verdict)) return;
    audit?.count(meaning, () => auditedPacket(observation, meaning), weight, line.time);
  };
  return {
    drop(drop) {
      const { line, observation, meaning, weight } = drop;
      dropsByOwner.count(meaning, observation, weight);
      record(drop);
      if (meaning.noise === undefined)
        liveFlows?.count(meaning, () => auditedPacket(observation, meaning), weight, line.time);
    },
    logged: asked.has('logged') || asked.has('accepted') ? record : undefined,
    gap: (suppressed, time) => audit?.lost(suppressed, time),
  };
}
