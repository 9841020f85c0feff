import { type ContainerName, containerOf } from '../log-formats/container-path.ts';
import { type ObjectRef, podRef } from '../model/endpoint.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { TableReport } from '../model/observation.ts';
import type { Failing, FailureSign, ProgramRecord, Sign } from '../model/program-record.ts';
import { causeOf, signOf } from './catalogue/catalogue.ts';
import { ebpfOf } from './catalogue/behind.ts';
import { createRecent, type FactSources, type Recent, type RecentState } from './facts.ts';
import type { Incident, IncidentChange } from './incident.ts';
import { type Output, Reporter, type ReporterState } from './reporting/reporter.ts';
import type { Surroundings } from './reporting/details.ts';
import { attemptSpan, createRestarts, type Restart, type RestartsState } from './tracker/programs.ts';
import { Tracker, type TrackerState } from './tracker/tracker.ts';

export interface NodeIncidentsOptions extends Surroundings, Output {
  /** Finds the Pod of a program if the log itself does not name one. */
  podOf: (failing: Failing, source: string) => ObjectRef | undefined;
  facts: FactSources;
  /** Called for each change, so that the agent can log it. */
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

/** Finds lasting problems of one node in its lines, and reports findings. */
export interface NodeIncidents {
  take: (observation: ProgramRecord | TableReport, line: Pick<LogLine, 'source' | 'time'>) => void;
  firewallDropped: (time: Millis, drops?: number) => void;
  tick: (now: Millis) => void;
  /** The time of the next `tick`; Infinity: none is needed. */
  nextTick: () => Millis;
  /** Decides what still waits for another line, because none comes. It ends no incident. */
  endOfLog: () => void;
  /** Notifies Pods as `tick` does, but ends nothing. */
  notifyPods: (now: Millis) => void;
  nextPodNotice: () => Millis;
  readonly tracker: Pick<Tracker, 'incidents' | 'counts' | 'unrepeated'>;
  readonly revision: number;
  state: () => NodeIncidentsState;
}

/**
 * Handles a line in four steps: is it of a restart, which sign does it give, does that begin, continue or end an incident, and who is
 * notified.
 */
export function createNodeIncidents(options: NodeIncidentsOptions): NodeIncidents {
  const { podOf, onChange, restored } = options;
  const recent = createRecent(restored?.recent);
  const restarts = createRestarts(restored?.restarts);
  const reasons: NodeIncidentsState['reasons'] = { ...restored?.reasons };
  const tracker = new Tracker(restored?.table);
  const reporter = new Reporter({ ...options, tracker, recent, restored: restored?.reported });

  return {
    tracker,
    get revision() {
      return tracker.revision + reporter.revision;
    },
    state: () => ({
      table: tracker.state(),
      reported: reporter.state(),
      restarts: restarts.state(),
      recent: recent.state(),
      reasons: { ...reasons },
    }),
    take(observation, { source, time }) {
      let pod: ObjectRef | undefined;
      if (observation.kind === 'program-record') {
        const container = containerOf(source);
        pod = podOfLog(container) ?? podOf(observation.program, source);
        takeRestart(restarts.take(container, source, observation, time), pod, time);
        const ebpf = ebpfOf(observation);
        if (ebpf !== undefined) recent.noteEbpf(ebpf);
      }
      takeSign(signOf(observation), pod, time);
    },
    firewallDropped(time, drops = 1) {
      recent.noteFirewallDrop(time, drops);
      confirmReload();
    },
    tick(now) {
      settle(now);
      reporter.tick(now);
    },
    nextTick: () => Math.min(tracker.nextTick, reporter.nextTick()),
    endOfLog: () => report(tracker.endOfLog()),
    notifyPods: (now) => reporter.tick(now),
    nextPodNotice: () => reporter.nextTick(),
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

/** Returns whether the failure only repeats an earlier one: felix first logs why its rules are refused, and then that they are. */
function followsReason({ code, failing }: FailureSign, time: Millis, reasons: NodeIncidentsState['reasons']): boolean {
  if (causeOf(code).isConsequence !== true) {
    reasons[failing] = time;
    return false;
  }
  const reason = reasons[failing];
  return reason !== undefined && time >= reason && time - reason <= attemptSpan;
}

/**
 * Returns whether a reload of the host's firewall caused the incident. It puts its rules before Calico's once, and drops packets from then
 * on. felix logs the overwritten rules once, before or after the drops.
 */
function isReload({ code, first }: Incident, recent: Recent): boolean {
  return causeOf(code).confirmedByFirewallDrops === true && recent.firewallDropsSince(first) !== undefined;
}
