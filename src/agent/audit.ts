import { type Audit, createAudit } from '../audit/audit.ts';
import { createLiveFlows, type LiveFlowTable } from '../audit/live-flows.ts';
import { noNamespace, type Privacy, redactionOf } from '../audit/privacy.ts';
import { createSink } from '../audit/sinks/create-sink.ts';
import type { Config } from '../config/config.ts';
import type { Drop, PacketSink } from '../pipeline/pipeline.ts';
import type { Clock } from '../platform/clock.ts';
import type { Restored } from '../state/state.ts';
import type { DropsByOwner } from '../telemetry/drops-by-owner.ts';
import type { PolicyAnswers } from './policies/answers.ts';
import type { Problems } from './problems.ts';

export interface AgentAuditOptions {
  config: Config;
  restored: Restored;
  problems: Problems;
  clock: Clock;
  hasOptedOut: (namespace: string) => boolean;
  policies: Pick<PolicyAnswers, 'factsOn'> | undefined;
}

/** Undefined if no sink is configured; the audit then costs nothing. */
export function createAgentAudit(options: AgentAuditOptions): Audit | undefined {
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

/** Undefined if no address serves them. They hide what the audit hides. */
export function createAgentLiveFlows(
  options: Pick<AgentAuditOptions, 'config' | 'clock' | 'hasOptedOut'>,
): LiveFlowTable | undefined {
  const { config, clock } = options;
  if (config.dropsAddress === undefined) return undefined;
  return createLiveFlows({ node: config.node, redact: redactionOf(privacyOf(options)), clock });
}

function privacyOf({ config, hasOptedOut }: Pick<AgentAuditOptions, 'config' | 'hasOptedOut'>): Privacy {
  return {
    peers: config.auditPeers,
    bits: { ipv4: config.auditIpv4Prefix, ipv6: config.auditIpv6Prefix },
    isHidden: config.auditOptOut ? hasOptedOut : noNamespace,
    labels: config.auditLabels,
  };
}

/** Counts a packet beside its Events: for the audit, for its workloads, and for its flow. */
export function packetSink(
  audit: Audit | undefined,
  verdicts: Config['auditVerdicts'],
  dropsByOwner: Pick<DropsByOwner, 'count'>,
  liveFlows: LiveFlowTable | undefined,
): PacketSink {
  const asked = new Set<string>(audit === undefined ? [] : verdicts);
  const record = ({ line, observation, meaning, weight }: Drop): void => {
    if (!asked.has(observation.kind === 'martian' ? 'dropped' : observation.verdict)) return;
    audit?.count(meaning, () => ({ observation, ...meaning }), weight, line.time);
  };
  return {
    drop(drop) {
      dropsByOwner.count(drop.meaning, drop.observation, drop.weight);
      record(drop);
      if (liveFlows !== undefined) countLive(liveFlows, drop);
    },
    logged: asked.has('logged') || asked.has('accepted') ? record : undefined,
    gap: (suppressed, time) => audit?.lost(suppressed, time),
  };
}

function countLive(liveFlows: LiveFlowTable, { line, observation, meaning, weight }: Drop): void {
  if (meaning.noise === undefined) liveFlows.count(meaning, () => ({ observation, ...meaning }), weight, line.time);
}
