import { causeOf } from './catalogue/catalogue.ts';
import { ebpfOf } from './catalogue/felix-deletes-chains.ts';
import { signOf } from './catalogue/sign-of.ts';
import { tellsOfStart } from './catalogue/starting.ts';
import { diagnose } from './catalogue/diagnosis.ts';
import type { Incident, IncidentChange } from './incident.ts';
import type { AffectedPod } from './reporting/pod-notices.ts';
import { createRecent, type Recent, type RecentState } from './tracker/recent.ts';
import { createReporter, type ReporterState } from './reporting/reporter.ts';
import { createRestarts, type RestartsState } from './tracker/restarts.ts';
import { attemptSpan } from './tracker/rules.ts';
import type { IncidentsState } from './tracker/state.ts';
import type { EventTerms } from './reporting/details.ts';
import { createIncidentTable, type IncidentTable } from './tracker/table.ts';
import { type ObjectRef, podRef } from '../model/endpoint.ts';
import type { Finding } from '../model/finding.ts';
import type { NodeFacts } from '../model/incident.ts';
import type { ServiceChains } from '../model/service-chain.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { ConntrackFull, NeighbourOverflow } from '../model/observation.ts';
import type { Failing, FailureSign, ProgramRecord, Sign } from '../model/program-record.ts';
import { containerOf } from '../log-formats/container-path.ts';

export interface NodeIncidentsOptions {
  node: string;
  nodeRef: () => ObjectRef;
  /** The Pod that runs a program here, where `LogLine.source` is no log of the kubelet's that names it. */
  podOf: (failing: Failing, source: string) => ObjectRef | undefined;
  podsHere: () => readonly AffectedPod[];
  chains: ServiceChains;
  /** Never rejects. */
  findFacts: (incident: Incident, recent: Recent) => NodeFacts | Promise<NodeFacts>;
  count: (finding: Finding, time: Millis, weight: number) => void;
  /** As in `createReporter`. */
  isReady: () => boolean;
  /** The clock that stamps the lines, where they are read as they are written. */
  now?: (() => Millis) | undefined;
  /** For who runs this program; Events are made of it anyway. */
  onChange?: ((change: IncidentChange) => void) | undefined;
  restored?: NodeIncidentsState | undefined;
}

/** Plain JSON. */
export interface NodeIncidentsState {
  table: IncidentsState;
  told: ReporterState;
  restarts: RestartsState;
  recent: RecentState;
  /** By program, when a failure last said why. */
  reasons: Partial<Record<Failing, Millis>>;
}

/** What is wrong with one node for longer than a moment: from lines to findings. */
export interface NodeIncidents {
  take: (observation: ProgramRecord | ConntrackFull | NeighbourOverflow, line: LogLine) => void;
  /** The host's firewall has dropped a packet. */
  firewallDropped: (time: Millis) => void;
  tick: (now: Millis) => void;
  /** When `tick` has something to do; Infinity. */
  nextTick: () => Millis;
  /** The part of `tick` that tells Pods who suffer; nothing ends by it. */
  point: (now: Millis) => void;
  nextPodNotice: () => Millis;
  readonly table: Pick<IncidentTable, 'incidents' | 'counts' | 'unrepeated'>;
  readonly revision: number;
  state: () => NodeIncidentsState;
}

/** Rules of felix that somebody else has changed. */
const felixOverwritten = 'KN204';

export function createNodeIncidents(options: NodeIncidentsOptions): NodeIncidents {
  const { restored } = options;
  const recent = createRecent(restored?.recent);
  const restarts = createRestarts(restored?.restarts);
  const reasons: Partial<Record<Failing, Millis>> = { ...restored?.reasons };
  const table = createIncidentTable({
    restored: restored?.table,
    courseOf: causeOf,
    isNeeded: (incident) => reporter.hasPodNotices(incident),
    onChange(change) {
      options.onChange?.(change);
      reporter.changed(change);
    },
  });
  const reporter = createReporter({
    ...options,
    incidents: () => table.incidents,
    termsOf,
    diagnose: (incident, facts) => diagnose(incident.code, facts, incident),
    findFacts: (incident) => options.findFacts(incident, recent),
    restored: restored?.told,
  });

  return {
    table,
    get revision() {
      return table.revision + reporter.revision;
    },
    state: () => ({
      table: table.state(),
      told: reporter.state(),
      restarts: restarts.state(),
      recent: recent.state(),
      reasons: { ...reasons },
    }),
    take(observation, line) {
      const { time } = line;
      const sign = signOf(observation);
      if (observation.kind !== 'program-record') return sign && takeSign(sign, time, undefined);
      const container = containerOf(line.source);
      const pod =
        container === undefined
          ? options.podOf(observation.program, line.source)
          : podRef({ ...container, name: container.pod, resourceVersion: undefined });
      const died =
        container === undefined
          ? restarts.takeBare(line.source, tellsOfStart(observation), observation, time)
          : restarts.take(container, observation, time);
      if (died !== undefined) restarted(died, pod, time);
      const ebpf = ebpfOf(observation);
      if (ebpf !== undefined) recent.noteEbpf(ebpf);
      if (sign !== undefined) takeSign(sign, time, pod);
    },
    firewallDropped(time) {
      recent.noteFirewallDrop(time);
      joinReload();
    },
    tick(now) {
      table.tick(now);
      reporter.tick(now);
    },
    nextTick() {
      const now = options.now?.();
      return now !== undefined && table.wasAhead(now) ? now : Math.min(table.nextTick, reporter.nextTick());
    },
    point: (now) => reporter.tick(now),
    nextPodNotice: () => reporter.nextTick(),
  };

  function restarted(
    { failing, lastWords }: { failing: Failing; lastWords: string | undefined },
    pod: ObjectRef | undefined,
    time: Millis,
  ): void {
    if (failing !== 'kube-proxy') recent.noteEbpf(undefined);
    table.restarted(failing, pod, time, lastWords);
  }

  function takeSign(sign: Sign, time: Millis, pod: ObjectRef | undefined): void {
    if (sign.kind === 'failure' && isToldAlready(sign, time)) return;
    if (sign.kind === 'failure' && sign.backend !== undefined) recent.noteBackend(sign.failing, sign.backend, time);
    table.take(sign, time, pod);
    if (sign.kind === 'failure' && sign.code === felixOverwritten) joinReload();
  }

  /** felix says first why its rules are refused, then that they are; the second is nothing new. */
  function isToldAlready({ code, failing }: FailureSign, time: Millis): boolean {
    if (causeOf(code).isConsequence !== true) {
      reasons[failing] = time;
      return false;
    }
    const reason = reasons[failing];
    return reason !== undefined && time >= reason && time - reason <= attemptSpan;
  }

  /** A reload of the host's firewall puts its rules before Calico's once, and drops from then on: felix complains once, before or after. */
  function joinReload(): void {
    const overwritten = table.find(felixOverwritten, 'felix');
    if (overwritten?.phase === 'suspected' && recent.firewallDropsSince(overwritten.first) !== undefined)
      table.bearOut(felixOverwritten, 'felix');
  }
}

function termsOf(code: string): EventTerms {
  const { severity, reason, overReason, impact } = causeOf(code);
  return { severity, reason, overReason, impact: severity === 'serious' && impact !== undefined };
}
