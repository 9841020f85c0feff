import { type Audit, createAudit } from '../audit/audit.ts';
import { createSink } from '../audit/sinks/create-sink.ts';
import type { Config } from '../config/config.ts';
import type { PipelineOptions } from '../pipeline/pipeline.ts';
import type { Clock } from '../platform/clock.ts';
import type { Restored } from '../state/agent-state.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Problems } from './problems.ts';

export interface AgentAuditOptions {
  config: Config;
  restored: Restored;
  metrics: Metrics;
  problems: Problems;
  clock: Clock;
}

/** Undefined where no sink is configured: then nothing of it costs anything. */
export function createAgentAudit({ config, restored, metrics, problems, clock }: AgentAuditOptions): Audit | undefined {
  if (config.audit.length === 0) return undefined;
  return createAudit({
    node: config.node,
    cluster: config.cluster,
    interval: config.auditInterval * 1000,
    sinks: config.audit.map((sink) => createSink(sink, config)),
    queueSize: config.auditQueue * 1024 * 1024,
    restored: restored.state?.audit,
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

/** What of the pipeline the audit wants to hear. */
export function auditHooks(
  audit: Audit | undefined,
  verdicts: Config['auditVerdicts'],
): Pick<PipelineOptions, 'onDrop' | 'onLogged' | 'onGap'> {
  if (audit === undefined) return {};
  const asked = new Set<string>(verdicts);
  const count: PipelineOptions['onDrop'] = ({ line, observation, meaning, weight }) => {
    if (!asked.has(observation.kind === 'martian' ? 'dropped' : observation.verdict)) return;
    audit.count(meaning, () => ({ observation, ...meaning }), weight, line.time);
  };
  return { onDrop: count, onLogged: count, onGap: (suppressed, _, time) => audit.lost(suppressed, time) };
}
