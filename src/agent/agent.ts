import { EventEmitter } from 'node:events';
import { type Config, type LoadedConfig, version } from '../config/config.ts';
import { createReload } from '../config/reload.ts';
import { conditionType } from '../incidents/node-condition.ts';
import { createConditionStore } from '../kubernetes/node-condition.ts';
import { type Clock, createSteadyClock } from '../platform/clock.ts';
import { lastTimes, restoreState } from '../state/agent-state.ts';
import { createLastSeen } from '../telemetry/last-seen.ts';
import type { AdjustableLog } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createRateLimitedLog } from '../telemetry/rate-limited-log.ts';
import { type ClusterContext, connect, createClusterContext } from './cluster.ts';
import { createIngest, type Ingest } from './ingest.ts';
import { createNodeConditionWriter, type NodeConditionWriter } from './node-condition.ts';
import { noProblems } from './problem-counts.ts';
import { createProblems, type Problems } from './problems.ts';
import { createPublishing } from './publish.ts';
import { createScrape } from './scrape.ts';

export type Agent = Awaited<ReturnType<typeof createAgent>>;

/** Reads the state of an earlier run, and puts the parts together; starts none of them. Rejects when the config cannot work. */
export async function createAgent(loaded: LoadedConfig, log: AdjustableLog) {
  const { config } = loaded;
  const clock = createSteadyClock();
  const metrics = createMetrics({ version });
  const rateLimitedLog = createRateLimitedLog(log, clock);
  const counts = noProblems();
  const connection = await connect({ config, metrics, counts, clock });
  const problems = createProblems({
    log,
    rateLimitedLog,
    metrics,
    counts,
    now: clock.now,
    server: () => connection.server,
  });

  const restored = restoreState(config.stateDir, config.node, new Date());
  if (restored.problem !== undefined) problems.state('load', restored.problem);

  const changes = new EventEmitter<{ cluster: []; due: [] }>();
  const context = createClusterContext({
    config,
    connection,
    log,
    problems: problems.api,
    onChange: () => void changes.emit('cluster'),
    clock,
  });
  const ingest = createIngest({
    config,
    context,
    restored,
    metrics,
    problems,
    onEarlier: () => void changes.emit('due'),
    clock,
  });
  changes.on('cluster', ingest.lookupGate.review);
  const publishing = createPublishing({ config, restored, context, ingest, metrics, problems, clock });
  changes.on('due', publishing.publisher.wake);

  const reload = createReload({
    loaded,
    log,
    apply(changed) {
      log.level = changed.logLevel;
      ingest.change(changed);
    },
  });
  const lastSeen = createLastSeen({
    metrics,
    sources: ingest.sources,
    verdicts: ingest.statistics.verdicts,
    counts,
    restored: restored.state && lastTimes(restored.state.series),
    now: clock.wall,
  });
  const nodeCondition = createNodeCondition(config, context, ingest, problems, clock);
  const scrape = createScrape({ metrics, context, ingest, reload, lastSeen, clock });
  return {
    config,
    log,
    clock,
    rateLimitedLog,
    problems,
    restored,
    context,
    ingest,
    publishing,
    reload,
    lastSeen,
    nodeCondition,
    scrape,
  };
}

function createNodeCondition(
  { node, nodeCondition }: Config,
  { connection, cluster }: ClusterContext,
  { incidents: { tracker } }: Ingest,
  { api }: Problems,
  clock: Clock,
): NodeConditionWriter | undefined {
  if (!nodeCondition) return undefined;
  return createNodeConditionWriter({
    store: createConditionStore(connection, node, conditionType),
    node,
    incidents: () => tracker.incidents,
    nodeCount: () => cluster.nodeCount,
    onRead: (refusal) => api.nodeCondition('list', refusal),
    onWritten: (refusal) => api.nodeCondition('patch', refusal),
    clock,
    random: Math.random,
  });
}
