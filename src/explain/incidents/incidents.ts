/** Finds lasting problems of a node in the lines of its kernel, kube-proxy and calico-node, and makes findings of them. */
import { type ContainerName, containerOfPath } from '../../base/log-formats/container-log.ts';
import { type ObjectRef, podRef } from '../../base/model/endpoint.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { TableReport } from '../../base/model/observation.ts';
import type { Failing, FailureSign, ProgramRecord, Sign } from '../../base/model/program-record.ts';
import { causeOf, signOf } from './catalogue/catalogue.ts';
import { ebpfOf } from './catalogue/behind.ts';
import { createRecent, type FactSources, type RecentLines, type RecentState } from './facts.ts';
import type { Incident, IncidentChange } from './incident.ts';
import { type ReporterOutput, Reporter, type ReporterState } from './reporting/reporter.ts';
import type { NodeContext } from './reporting/details.ts';
import { attemptSpan, createRestarts, type Restart, type RestartsState } from './tracker/programs.ts';
import { Tracker, type TrackerState } from './tracker/tracker.ts';

export { objectToPatch } from './catalogue/behind.ts';
export { causeOf, diagnose, hints, programNeedles, signOf } from './catalogue/catalogue.ts';
export type { ConnectionTracking } from './facts.ts';
export type { Incident, IncidentChange } from './incident.ts';
export { serviceLimit } from './reporting/details.ts';
export { conditionType, incidentMessage, type RulesCondition, rulesConditionOf } from './reporting/message.ts';

export interface NodeIncidentsOptions extends NodeContext, ReporterOutput {
  /** Finds the Pod of a program if the log itself does not name one. */
  findPod: (failing: Failing, source: string) => ObjectRef | undefined;
  facts: FactSources;
  onChange?: ((change: IncidentChange) => void) | undefined;
  restored?: NodeIncidentsState | undefined;
}

export interface NodeIncidentsState {
  table: TrackerState;
  reported: ReporterState;
  restarts: RestartsState;
  recent: RecentState;
  /** When each program last gave the reason of a failure. */
  reasons: Partial<Record<Failing, Millis>>;
}

export interface NodeIncidents {
  tracker: Pick<Tracker, 'incidents' | 'counts' | 'unrepeated'>;
  readonly revision: number;
  state: () => NodeIncidentsState;
  take(observation: ProgramRecord | TableReport, line: Pick<LogLine, 'source' | 'time'>): void;
  firewallDropped(time: Millis, drops?: number): void;
  tick(now: Millis): void;
  /** The time of the next `tick`; Infinity: none is needed. */
  nextTick: () => Millis;
  /** Opens incidents that wait for another line, because none comes. Ends no incident. */
  endOfLog: () => void;
  /** Notifies Pods as `tick` does, but ends nothing. */
  notifyPods: (now: Millis) => void;
  nextPodNotice: () => Millis;
}

export function createNodeIncidents(options: NodeIncidentsOptions): NodeIncidents {
  const { findPod, onChange, restored } = options;
  const recent = createRecent(restored?.recent);
  const restarts = createRestarts(restored?.restarts);
  const reasons: NodeIncidentsState['reasons'] = { ...restored?.reasons };
  const tracker = new Tracker(restored?.table);
  const reporter = new Reporter({ ...options, tracker, recent, restored: restored?.reported });

  return {
    tracker: tracker,
    get revision(): number {
      return tracker.revision + reporter.revision;
    },
    state: (): NodeIncidentsState => ({
      table: tracker.state(),
      reported: reporter.state(),
      restarts: restarts.state(),
      recent: recent.state(),
      reasons: { ...reasons },
    }),
    take(observation: ProgramRecord | TableReport, { source, time }: Pick<LogLine, 'source' | 'time'>): void {
      let pod: ObjectRef | undefined;
      if (observation.kind === 'program-record') {
        const container = containerOfPath(source);
        pod = podOfLog(container) ?? findPod(observation.program, source);
        takeRestart(restarts.take(container, source, observation, time), pod, time);
        const ebpf = ebpfOf(observation);
        if (ebpf !== undefined) recent.noteEbpf(ebpf);
      }
      takeSign(signOf(observation), pod, time);
    },
    firewallDropped(time: Millis, drops = 1): void {
      recent.noteFirewallDrop(time, drops);
      confirmReload();
    },
    tick(now: Millis): void {
      settle(now);
      reporter.tick(now);
    },
    nextTick: (): Millis => Math.min(tracker.nextTick, reporter.nextTick()),
    endOfLog: (): void => void report(tracker.endOfLog()),
    notifyPods: (now: Millis): void => reporter.tick(now),
    nextPodNotice: (): Millis => reporter.nextTick(),
  };

  function takeRestart(restart: Restart | undefined, pod: ObjectRef | undefined, time: Millis): void {
    if (restart === undefined) return;
    if (restart.failing !== 'kube-proxy') recent.noteEbpf(undefined);
    settle(time, restart.failing);
    report(tracker.restarted(restart, pod, time));
  }

  function takeSign(sign: Sign | undefined, pod: ObjectRef | undefined, time: Millis): void {
    if (sign === undefined || (sign.kind === 'failure' && followsReason(sign, time, reasons))) return;
    if (sign.kind === 'failure' && sign.backend !== undefined) recent.noteBackend(sign.failing, sign.backend, time);
    settle(time, sign.failing);
    report(tracker.take(sign, time, pod));
    if (sign.kind === 'failure') confirmReload();
  }

  function confirmReload(): void {
    for (const incident of tracker.incidents) if (isReload(incident, recent)) report(tracker.confirm(incident));
  }

  /** Also runs before each line of the same container, so that results do not depend on how often `tick` is called. */
  function settle(now: Millis, failing?: Failing): void {
    while (report(tracker.settle(now, reporter.withPodNotices, failing)));
  }

  function report(changes: readonly IncidentChange[]): boolean {
    for (const change of changes) {
      onChange?.(change);
      reporter.report(change.incident);
    }
    return changes.length > 0;
  }
}

function podOfLog(container: ContainerName | undefined): ObjectRef | undefined {
  return container && podRef({ ...container, name: container.pod, resourceVersion: undefined });
}

/** Notes reasons. Returns whether the failure only repeats one: felix logs the reason of a refusal first, and then the refusal. */
function followsReason({ code, failing }: FailureSign, time: Millis, reasons: NodeIncidentsState['reasons']): boolean {
  if (causeOf(code).isConsequence !== true) {
    reasons[failing] = time;
    return false;
  }
  const reason = reasons[failing];
  return reason !== undefined && time >= reason && time - reason <= attemptSpan;
}

/** A reload puts the firewall's rules before Calico's, so they drop packets; felix logs overwritten rules once, before or after that. */
function isReload({ code, first }: Incident, recent: RecentLines): boolean {
  return causeOf(code).confirmedByFirewallDrops === true && recent.firewallDropsSince(first) !== undefined;
}
