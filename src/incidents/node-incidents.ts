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
import { createRestarts, type Restart, type RestartsState } from './tracker/programs.ts';
import { attemptSpan } from './tracker/programs.ts';
import { Tracker, type TrackerState } from './tracker/tracker.ts';

export interface NodeIncidentsOptions extends Surroundings, Output {
  /** The Pod of a program, if the log itself names none. */
  podOf: (failing: Failing, source: string) => ObjectRef | undefined;
  facts: FactSources;
  /** For the log of the agent. */
  onChange?: ((change: IncidentChange) => void) | undefined;
  restored?: NodeIncidentsState | undefined;
}

export interface NodeIncidentsState {
  table: TrackerState;
  reported: ReporterState;
  restarts: RestartsState;
  recent: RecentState;
  /** When a failure of a program last gave its reason. */
  reasons: Partial<Record<Failing, Millis>>;
}

/** Finds what is wrong with one node for longer than a moment: from lines to findings. */
export interface NodeIncidents {
  take: (observation: ProgramRecord | TableReport, line: Pick<LogLine, 'source' | 'time'>) => void;
  firewallDropped: (time: Millis, drops?: number) => void;
  tick: (now: Millis) => void;
  /** The time of the next `tick`; Infinity: none is needed. */
  nextTick: () => Millis;
  /** No line comes any more: decides what waits for another line. No incident ends by this. */
  endOfLog: () => void;
  /** Notifies Pods as `tick` does, but ends nothing. */
  notifyPods: (now: Millis) => void;
  nextPodNotice: () => Millis;
  readonly tracker: Pick<Tracker, 'incidents' | 'counts' | 'unrepeated'>;
  readonly revision: number;
  state: () => NodeIncidentsState;
}

/** The way of a line: is it of a restart, what is it a sign of, does that begin, continue or end an incident, who is notified. */
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

  /** Runs before each line of the same container, too, so that it makes no difference how often `tick` is called. */
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

/** felix first logs why its rules are refused, then that they are. */
function followsReason({ code, failing }: FailureSign, time: Millis, reasons: NodeIncidentsState['reasons']): boolean {
  if (causeOf(code).isConsequence !== true) {
    reasons[failing] = time;
    return false;
  }
  const reason = reasons[failing];
  return reason !== undefined && time >= reason && time - reason <= attemptSpan;
}

/**
 * A reload of the host's firewall puts its rules before Calico's once, and drops packets from then on. felix logs that once, before or
 * after the drops.
 */
function isReload({ code, first }: Incident, recent: Recent): boolean {
  return causeOf(code).confirmedByFirewallDrops === true && recent.firewallDropsSince(first) !== undefined;
}
