/** Puts the parts of the agent of one node together. */
import { EventEmitter } from 'node:events';
import { type LoadedConfig, version } from '../config/config.ts';
import { createReload } from '../config/reload.ts';
import { createSteadyClock } from '../platform/clock.ts';
import { lastTimes, restoreState } from '../state/state.ts';
import { createLastSeen } from '../telemetry/last-seen.ts';
import type { AdjustableLog } from '../telemetry/logger.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createRateLimitedLog } from '../telemetry/rate-limited-log.ts';
import { connect, createClusterContext } from './cluster.ts';
import { createIngest } from './ingest.ts';
import { createNodeChecks } from './node-checks.ts';
import { createPolicyAnswers } from './policies/answers.ts';
import { noProblems } from './api-problems.ts';
import { createProblems } from './problems.ts';
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
    isListed: () => context.cluster.synced,
  });

  const restored = restoreState(config.stateDir, config.node, new Date());
  if (restored.problem !== undefined) problems.state('load', restored.problem);

  const changes = new EventEmitter<{ cluster: []; due: [] }>();
  const context = createClusterContext({
    config,
    restored,
    connection,
    log,
    problems: problems.api,
    onChange: () => void changes.emit('cluster'),
    clock,
  });
  const answers = { connection: context.connection, log, rateLimitedLog, clock };
  const policies = config.policies === 'off' ? undefined : createPolicyAnswers(answers);
  const ingest = createIngest({
    config,
    context,
    restored,
    metrics,
    problems,
    onEarlier: () => void changes.emit('due'),
    policies,
    clock,
  });
  changes.on('cluster', ingest.lookupGate.review);
  const publishing = createPublishing({ config, restored, context, ingest, metrics, problems, policies, clock });
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
  const nodeChecks = createNodeChecks({ config, context, ingest, problems, clock });
  const scrape = createScrape({ metrics, context, ingest, ...nodeChecks, reload, lastSeen, clock });
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
    nodeChecks,
    scrape,
  };
}
