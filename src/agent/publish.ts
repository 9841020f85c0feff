import type { Config } from '../config/config.ts';
import { textOf } from '../pipeline/pipeline.ts';
import { createEventStore } from '../kubernetes/written-objects.ts';
import type { Clock } from '../platform/clock.ts';
import { createEventWriter, createPublisher, createWriteBudget } from '../events/events.ts';
import { createKeptState, createStateLog, type Restored } from '../state/state.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Ingest } from './ingest.ts';
import type { ClusterContext } from './cluster.ts';
import type { PolicyAnswers } from './policies/answers.ts';
import type { Problems } from './problems.ts';

export interface PublishingOptions {
  config: Config;
  restored: Restored;
  context: ClusterContext;
  ingest: Ingest;
  metrics: Metrics;
  problems: Problems;
  /** Undefined: policies are not asked. */
  policies: PolicyAnswers | undefined;
  clock: Clock;
}

/** Puts the cold path together: counts are kept on disk, then published. */
export function createPublishing(options: PublishingOptions) {
  const { config, restored, context, ingest, metrics, problems, policies, clock } = options;
  const { sources, once, table, queue, incidents } = ingest;
  const audit = ingest.audit?.kept;
  const budget = createWriteBudget({
    nodeCount: () => context.cluster.nodeCount,
    restored: restored.state?.budget,
  });
  const stateLog = createStateLog({
    folder: config.stateDir,
    state: createKeptState({
      agent: { id: restored.id, node: config.node },
      sources,
      once,
      table,
      queue,
      incidents,
      budget,
      audit,
      pods: context.keptPods,
    }),
    segments: restored.segments,
    onSaved(bytes) {
      metrics.stateSaved.set(clock.wall() / 1000);
      metrics.stateSize.set(bytes);
      problems.stateSaved();
    },
    onFailed: (error) => problems.state('save', error),
    onLost: (reason) => problems.state('lost', reason),
  });
  const publisher = createPublisher({
    table,
    keep: stateLog.keep,
    write: createEventWriter({
      store: createEventStore(context.connection),
      messageOf: async (series) => textOf(series, { toWall: clock.toWall, answer: await policies?.answerOn(series) }),
      stateId: restored.id,
      now: clock.now,
      toWall: clock.toWall,
    }),
    onAttempt(attempt) {
      metrics.eventPacketsPublished.add(attempt.packets);
      problems.api.write(attempt);
      if (attempt.result === 'unauthorized') context.connection.reload();
    },
    onAbandoned: problems.api.abandoned,
    budget,
    now: clock.now,
  });
  return { stateLog, publisher };
}
