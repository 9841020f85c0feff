import type { Config } from '../config/config.ts';
import { conditionType } from '../incidents/node-condition.ts';
import { createConditionStore } from '../kubernetes/node-condition.ts';
import type { Clock } from '../platform/clock.ts';
import { createProc } from '../platform/proc/proc.ts';
import type { ClusterContext } from './cluster.ts';
import { createConntrackLevel } from './conntrack-level.ts';
import type { Ingest } from './ingest.ts';
import { createNodeConditionWriter, type NodeConditionWriter } from './node-condition.ts';
import type { Problems } from './problems.ts';

export interface NodeChecksOptions {
  config: Config;
  context: ClusterContext;
  ingest: Ingest;
  problems: Problems;
  clock: Clock;
}

export type NodeChecks = ReturnType<typeof createNodeChecks>;

/** What is looked at beside the logs, and what the Node says of it. */
export function createNodeChecks(options: NodeChecksOptions) {
  const { config, context, ingest, clock } = options;
  const { incidents } = ingest;
  const conntrackLevel = createConntrackLevel({
    proc: createProc(config.procRoot),
    wasHigh: incidents.tracker.incidents.some(({ code, phase }) => code === 'KN404' && phase === 'open'),
    take: (observation, time) => incidents.take(observation, { source: config.procRoot, time }),
    now: clock.now,
  });
  const nodeCondition = config.nodeCondition ? createNodeCondition(options) : undefined;
  return {
    conntrackLevel,
    /** Called every few seconds: does what is due, in the background. */
    round(): void {
      void conntrackLevel.look();
      if (context.cluster.synced) void nodeCondition?.round();
    },
  };
}

function createNodeCondition({ config, context, ingest, problems, clock }: NodeChecksOptions): NodeConditionWriter {
  const { connection, cluster } = context;
  return createNodeConditionWriter({
    store: createConditionStore(connection, config.node, conditionType),
    node: config.node,
    incidents: () => ingest.incidents.tracker.incidents,
    nodeCount: () => cluster.nodeCount,
    onRead: (refusal) => problems.api.nodeCondition('list', refusal),
    onWritten: (refusal) => problems.api.nodeCondition('patch', refusal),
    clock,
    random: Math.random,
  });
}
