import { type Audit, createAudit } from '../audit/audit.ts';
import { noNamespace } from '../audit/privacy.ts';
import { createSink } from '../audit/sinks/create-sink.ts';
import type { Config } from '../config/config.ts';
import type { Drop, PipelineOptions } from '../pipeline/pipeline.ts';
import type { Clock } from '../platform/clock.ts';
import type { Restored } from '../state/agent-state.ts';
import type { DropsByOwner } from '../telemetry/drops-by-owner.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Problems } from './problems.ts';

export interface AgentAuditOptions {
  config: Config;
  restored: Restored;
  metrics: Metrics;
  problems: Problems;
  clock: Clock;
  /** Whether a namespace asked not to be named. */
  hasOptedOut: (namespace: string) => boolean;
}

/** Undefined where no sink is configured: then nothing of it costs anything. */
export function createAgentAudit(options: AgentAuditOptions): Audit | undefined {
  const { config, restored, metrics, problems, clock, hasOptedOut } = options;
  if (config.audit.length === 0) return undefined;
  return createAudit({
    node: config.node,
    cluster: config.cluster,
    interval: config.auditInterval * 1000,
    sinks: config.audit.map((sink) => createSink(sink, config)),
    queueSize: config.auditQueue * 1024 * 1024,
    restored: restored.state?.audit,
    privacy: {
      peers: config.auditPeers,
      bits: { ipv4: config.auditIpv4Prefix, ipv6: config.auditIpv6Prefix },
      isHidden: config.auditOptOut ? hasOptedOut : noNamespace,
      labels: config.auditLabels,
    },
    clock,
    onAttempt({ sink, rows, refused, error }) {
      metrics.auditAttempts.add(1, { sink, result: error === undefined ? 'ok' : 'failed' });
      if (error !== undefined) return problems.audit.failed(sink, error);
      metrics.auditRows.add(rows - refused, { sink, result: 'sent' });
      metrics.auditRows.add(refused, { sink, result: 'refused' });
      problems.audit.sent(sink, refused);
    },
  });
}

/** What becomes of a packet beside its Events: a record of the audit, and a count of its workloads. */
export function auditHooks(
  audit: Audit | undefined,
  verdicts: Config['auditVerdicts'],
  dropsByOwner: Pick<DropsByOwner, 'count'>,
): Pick<PipelineOptions, 'onDrop' | 'onLogged' | 'onGap'> {
  const asked = new Set<string>(audit === undefined ? [] : verdicts);
  const record = ({ line, observation, meaning, weight }: Drop): void => {
    if (!asked.has(observation.kind === 'martian' ? 'dropped' : observation.verdict)) return;
    audit?.count(meaning, () => ({ observation, ...meaning }), weight, line.time);
  };
  return {
    onDrop(drop) {
      dropsByOwner.count(drop.meaning, drop.observation, drop.weight);
      record(drop);
    },
    onLogged: asked.has('logged') || asked.has('accepted') ? record : undefined,
    onGap: (suppressed, _, time) => audit?.lost(suppressed, time),
  };
}
