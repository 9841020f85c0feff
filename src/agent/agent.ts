/** Assembles the agent of one node from its parts. */
import { EventEmitter } from 'node:events';
import { type Config, createReload, type LoadedConfig, type Reload, version } from './config/config.ts';
import { createEventWriter, createPublisher, createWriteBudget, type Publisher } from '../publish/events/events.ts';
import { createEventStore, createPolicyViews } from './kubernetes/kubernetes.ts';
import { textOfSeries } from '../count/pipeline/pipeline.ts';
import { type Arrivals, createArrivals } from '../base/platform/arrivals.ts';
import { type Clock, createSteadyClock, monotonicNow } from '../base/platform/clock.ts';
import {
  createKeptState,
  createStateLog,
  lastTimes,
  type RestoredState,
  restoreState,
  type StateLog,
} from '../publish/state/state.ts';
import { createLastSeen, type LastSeenMetrics } from './telemetry/minute.ts';
import { type AdjustableLog, createRateLimitedLog, type RateLimitedLog } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { createProblems, noProblems, type Problems } from './problems.ts';
import { type ChangeEvents, type ClusterContext, connect, createClusterContext } from './cluster.ts';
import { createMemory } from './memory.ts';
import { type Ingest, createIngest } from './ingest.ts';
import { createNodeChecks, type NodeChecks } from './node-checks.ts';
import { type PolicyAnswers, createPolicyAnswers } from './policies/answers.ts';
import { createScrape } from './scrape.ts';
import type { MetricsText } from './telemetry/server.ts';

export { minuteCounts } from './scrape.ts';

/** The rest is for the program itself, the counts of a storm, and answers that are being read (docs/performance.md). */
const partOfMemory = 1 / 6;

/** The parts of a running agent. */
export interface Agent {
  readonly config: Config;
  readonly log: AdjustableLog;
  readonly clock: Clock;
  readonly arrivals: Arrivals;
  readonly rateLimitedLog: RateLimitedLog;
  readonly problems: Problems;
  /** The state that the previous run saved. */
  readonly restored: RestoredState;
  readonly context: ClusterContext;
  readonly ingest: Ingest;
  readonly publishing: Publishing;
  readonly reload: Reload;
  readonly lastSeen: LastSeenMetrics;
  readonly nodeChecks: NodeChecks;
  readonly scrape: MetricsText;
}

/** Reads the state of an earlier run and assembles the parts, but starts none. Rejects if the configuration cannot work. */
export async function createAgent(loaded: LoadedConfig, log: AdjustableLog): Promise<Agent> {
  const { config } = loaded;
  const clock = createSteadyClock();
  const metrics = createMetrics({ version });
  const rateLimitedLog = createRateLimitedLog(log, clock);
  const counts = noProblems();
  const connection = await connect({ kubeconfig: config.kubeconfig, who: config.node, metrics, counts, clock });
  const problems = createProblems({
    log,
    rateLimitedLog,
    metrics,
    counts,
    clock,
    server: () => connection.server,
    isListed: () => context.cluster.synced,
  });

  const restored = restoreState(config.stateDir, config.node, new Date());
  if (restored.problem !== undefined) problems.state.unreadable(restored.problem);

  const changes: ChangeEvents = new EventEmitter();
  const context = createClusterContext({
    config,
    restored,
    connection,
    problems: problems.api,
    changes,
    clock,
    memory: createMemory(partOfMemory, { onLeftOut: problems.api.leftOut, now: clock.now }),
  });
  const ownPod = createPolicyViews(context.lists.podNamed);
  const answers = { connection: context.connection, ownPod, log, rateLimitedLog, clock, memory: context.memory };
  const policies = config.policies === 'off' ? undefined : createPolicyAnswers(answers);
  const arrivals = createArrivals();
  const { schedule } = arrivals;
  const ingest = createIngest({ config, context, restored, problems, changes, policies, clock, schedule });
  changes.on('cluster', ingest.pipeline.review);
  const publishing = createPublishing({ config, restored, context, ingest, problems, policies, clock });
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
    arrivals,
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

export interface PublishingOptions {
  config: Config;
  restored: RestoredState;
  context: ClusterContext;
  ingest: Ingest;
  problems: Problems;
  policies: PolicyAnswers | undefined;
  clock: Clock;
}

/** The cold path, which saves counts on disk and then publishes them. */
export interface Publishing {
  readonly stateLog: StateLog;
  readonly publisher: Publisher;
}

function createPublishing(options: PublishingOptions): Publishing {
  const { config, restored, context, ingest, problems, policies, clock } = options;
  const { sources, dedupe, table, queue, incidents } = ingest;
  const audit = ingest.audit?.kept;
  const budget = createWriteBudget({
    nodeCount: () => context.cluster.nodeCount,
    restored: restored.state?.budget,
    monotonic: monotonicNow,
  });
  const stateLog = createStateLog({
    folder: config.stateDir,
    state: createKeptState({
      agent: { id: restored.id, node: config.node },
      sources,
      dedupe,
      table,
      queue,
      incidents,
      budget,
      audit,
      pods: context.keptPods,
    }),
    segments: restored.segments,
    report: problems.state,
  });
  const publisher = createPublisher({
    table,
    keep: stateLog.keep,
    write: createEventWriter({
      store: createEventStore(context.connection),
      messageOf: async (series) =>
        textOfSeries(series, { toWall: clock.toWall, answer: await policies?.answerOn(series) }),
      stateId: restored.id,
      now: clock.now,
      toWall: clock.toWall,
    }),
    report: problems.api,
    budget,
    now: clock.now,
  });
  return { stateLog, publisher };
}
