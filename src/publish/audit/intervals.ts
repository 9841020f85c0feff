import type { StateChange } from '../../base/platform/keyed-changes.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import type { Suppressed } from '../../base/model/observation.ts';
import { connectFailure } from '../../base/model/packet.ts';
import type { FlowRecord } from './fields.ts';
import { type AuditedFlow, type AuditedPacket, flowOf } from './flow.ts';
import { defaultFlowLimits, type FlowLimits } from './flow-room.ts';
import { createOpenFlows, isGap, type OpenFlow, recordOf } from './open-flows.ts';
import type { PolicyFacts } from '../../base/model/policy-answer.ts';
import type { Finding } from '../../base/model/finding.ts';
import { withPolicies } from './record.ts';
import { withoutForeignPolicies } from './privacy.ts';

/** How long an interval stays open after its end, because lines come late: journald syncs, and look-ups take up to two seconds. */
const grace: Millis = 5000;

export interface IntervalsOptions extends Pick<Clock, 'now' | 'toWall'> {
  interval: Millis;
  cluster: string | undefined;
  limits?: FlowLimits;
  redact?: ((fields: FlowRecord) => FlowRecord) | undefined;
  policiesOn?: PolicyEvaluation | undefined;
  restored?: { flows: readonly OpenFlow[]; closings: number } | undefined;
}

export interface Intervals {
  readonly size: number;
  readonly closings: number;
  readonly revision: number;
  takeChanges: () => StateChange[];
  entries: () => Generator<StateChange>;
  /** Counts packets. Packets with the same `meaning` object belong to one flow, with the same Pods and interfaces. */
  count(meaning: object, packet: () => AuditedPacket, packets: number, time: Millis): void;
  lost(suppressed: Suppressed, node: string, time: Millis): void;
  /** Save the records and the changes in one batch of the state, so that no flow is lost or counted twice. */
  close(mostFlows: number, mayGoOn?: () => boolean): { records: FlowRecord[]; isDone: boolean };
}

export function createIntervals(options: IntervalsOptions): Intervals {
  const { interval, cluster, redact, restored, now, toWall } = options;
  const flows = createOpenFlows(options.limits ?? defaultFlowLimits, restored?.flows);
  /** The flow of each `meaning`. Computing a key for each packet would cost more. */
  const found = new WeakMap<object, OpenFlow>();
  /** Intervals with new packets since the last check. They stay open, because older lines are being read. */
  const touched = new Set<Millis>();
  const policies = createFlowPolicies(options.policiesOn);
  const gaps = createGaps(restored?.flows ?? []);
  let closings = restored?.closings ?? 0;
  let revision = 0;
  /** A time from a clock that was ahead is limited, because it would keep an interval open for years. */
  const startOf = (time: Millis): Millis => Math.floor(Math.min(time, now() + interval) / interval) * interval;

  return {
    get size() {
      return flows.size;
    },
    get closings() {
      return closings;
    },
    get revision() {
      return revision;
    },
    takeChanges: () => flows.takeChanges(),
    entries: () => flows.entries(),
    count(meaning: object, packet: () => AuditedPacket, packets: number, time: Millis): void {
      revision++;
      const start = startOf(time);
      let flow = found.get(meaning);
      if (flow?.start !== start || flow.packets === 0) {
        const audited = packet();
        const given = flowOf(audited, redact);
        flow = flows.of(start, given, time);
        found.set(meaning, flow);
        // A flow that counts others has no verdict.
        if (flow.key === given.key) policies.note(flow, audited.findings);
      }
      touched.add(start);
      flows.count(flow, packets, time);
    },
    lost({ by, count = 0, affects }: Suppressed, node: string, time: Millis): void {
      if (affects === 'nothing' || affects === 'felix') return;
      revision++;
      const start = startOf(time);
      touched.add(start);
      gaps.add(start, affects);
      flows.count(flows.of(start, gapOf(by, node), time), count, time);
    },
    close(mostFlows: number, mayGoOn = () => true): { records: FlowRecord[]; isDone: boolean } {
      const over = now() - interval - grace;
      const due = dueOf(flows, (flow) => flow.start <= over && !touched.has(flow.start), mostFlows);
      if (due.length > 0) closings++;
      const records: FlowRecord[] = [];
      for (const flow of due.slice(0, mostFlows)) {
        records.push(closeFlow(flow));
        if (!mayGoOn()) break;
      }
      if (due.length > records.length) return { records, isDone: false };
      gaps.forget((start) => start <= over && !touched.has(start));
      touched.clear();
      return { records, isDone: true };
    },
  };

  function closeFlow(flow: OpenFlow): FlowRecord {
    revision++;
    flows.remove(flow);
    const record = recordOf(flow, { interval, cluster, closing: closings, atLeast: gaps.mayHaveLost(flow), toWall });
    const complete = policies.addTo(record, flow);
    // `found` may still lead to this flow. 0 packets mean that it is closed.
    flow.packets = 0;
    return complete;
  }
}

/** Returns the flows to close: more than `mostFlows` if further ones are due. */
function dueOf(
  flows: ReturnType<typeof createOpenFlows>,
  mayClose: (flow: OpenFlow) => boolean,
  mostFlows: number,
): OpenFlow[] {
  const due: OpenFlow[] = [];
  // Close gaps last: if the agent is killed in between, the other flows must still know of them.
  for (const isOfGaps of [false, true]) {
    for (const flow of flows.all()) {
      if (isGap(flow) !== isOfGaps || !mayClose(flow)) continue;
      if (due.push(flow) > mostFlows) break;
    }
  }
  return due;
}

type Loss = Exclude<Suppressed['affects'], 'nothing' | 'felix'>;

function createGaps(restored: readonly OpenFlow[]) {
  const gaps = new Map<Millis, Loss>();
  for (const flow of restored) if (isGap(flow)) gaps.set(flow.start, 'everything');

  return {
    add(start: Millis, loss: Loss): void {
      const known = gaps.get(start) ?? loss;
      gaps.set(start, known === loss ? loss : 'everything');
    },
    mayHaveLost(flow: OpenFlow): boolean {
      const loss = gaps.get(flow.start);
      if (loss === 'connections') return flow.fields['log.logger'] === connectFailure;
      return loss === 'everything' || (loss !== undefined && isWarning(flow));
    },
    forget(isOver: (start: Millis) => boolean): void {
      for (const start of gaps.keys()) if (isOver(start)) gaps.delete(start);
    },
  };
}

function gapOf(by: string, node: string): AuditedFlow {
  return {
    key: JSON.stringify(['gap', by, node]),
    subject: '',
    namespace: '',
    fields: {
      'event.name': 'network.flow.gap',
      'event.action': 'lost',
      'event.reason': by,
      'k8s.node.name': node || undefined,
    },
  };
}

/** Returns whether the kernel logs the flow as a warning, as it does martians. It limits the rate of warnings, but not of LOG rules. */
function isWarning({ fields }: OpenFlow): boolean {
  return fields['log.prefix']?.startsWith('martian ') === true;
}

/** Evaluates known policies; undefined without a verdict. `first`: the time of the first packet. */
export type PolicyEvaluation = (findings: readonly Finding[], first: Millis) => PolicyFacts | undefined;

function createFlowPolicies(policiesOn: PolicyEvaluation | undefined) {
  /** The findings of each flow's first packet. They are not on disk, so after a restart a row has no verdict. */
  const found = new WeakMap<OpenFlow, readonly Finding[]>();
  return {
    note(flow: OpenFlow, findings: readonly Finding[] | undefined): void {
      if (policiesOn !== undefined && findings !== undefined && !found.has(flow)) found.set(flow, findings);
    },
    /** Adds the verdict when a flow is closed. A record that is sent again is the one in the state, so its verdict does not change. */
    addTo(record: FlowRecord, flow: OpenFlow): FlowRecord {
      const findings = found.get(flow);
      const facts = findings && policiesOn?.(findings, flow.first);
      return facts === undefined ? record : withoutForeignPolicies(withPolicies(record, facts));
    },
  };
}
