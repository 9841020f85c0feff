import type { Millis } from '../model/log-line.ts';
import type { Suppressed } from '../model/observation.ts';
import type { FlowRecord } from './fields.ts';
import { type AuditedPacket, type Flow, flowOf } from './flow.ts';
import { defaultFlowLimits, type FlowLimits } from './flow-room.ts';
import { createOpenFlows, isGap, type OpenFlow, recordOf } from './open-flows.ts';
import type { PolicyFacts } from '../drops/drops.ts';
import type { Finding } from '../model/finding.ts';
import { policyFields } from './policy-fields.ts';
import { withoutForeignPolicies } from './privacy.ts';

/** Lines come a little late: journald syncs, and peers are looked up for up to two seconds. */
const grace: Millis = 5000;

export interface IntervalsOptions {
  /** Length of an interval. */
  interval: Millis;
  cluster: string | undefined;
  limits?: FlowLimits;
  /** Takes out what no record may say; undefined: nothing. */
  redact?: ((fields: FlowRecord) => FlowRecord) | undefined;
  /** Undefined: policies are not asked. */
  policiesOn?: PoliciesOn | undefined;
  restored?: { flows: readonly OpenFlow[]; closings: number } | undefined;
  /** The clock of the lines' times, and what the wall clock showed at one of them. */
  now: () => Millis;
  toWall: (time: Millis) => Millis;
}

export type Intervals = ReturnType<typeof createIntervals>;

/** Counts packets by flow and interval of their own time. */
export function createIntervals(options: IntervalsOptions) {
  const { interval, cluster, redact, restored, now, toWall } = options;
  const flows = createOpenFlows(options.limits ?? defaultFlowLimits, restored?.flows);
  /** The flow of each `meaning`, so that repeated packets find theirs without computing its key. */
  const found = new WeakMap<object, OpenFlow>();
  /** Intervals that got packets since the last look; they stay open, because a backlog is still being read. */
  const touched = new Set<Millis>();
  const policies = createFlowPolicies(options.policiesOn);
  const gaps = createGaps(restored?.flows ?? []);
  let closings = restored?.closings ?? 0;
  let revision = 0;
  /** A clock that was ahead must not keep an interval open for years. */
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
    /** Packets with the same `meaning` object are of one flow, with the same Pods and interfaces. */
    count(meaning: object, packet: () => AuditedPacket, packets: number, time: Millis): void {
      revision++;
      const start = startOf(time);
      let flow = found.get(meaning);
      if (flow?.start !== start || flow.packets === 0) {
        const audited = packet();
        const given = flowOf(audited, redact);
        flow = flows.of(start, given, time);
        found.set(meaning, flow);
        // A flow that counts others has no verdict of its own.
        if (flow.key === given.key) policies.note(flow, audited.findings);
      }
      touched.add(start);
      flows.count(flow, packets, time);
    },
    /** Records of a node's log are missing. */
    lost({ by, count = 0, affects }: Suppressed, node: string, time: Millis): void {
      if (affects === 'nothing' || affects === 'felix') return;
      revision++;
      const start = startOf(time);
      touched.add(start);
      gaps.add(start, affects);
      flows.count(flows.of(start, gapOf(by, node), time), count, time);
    },
    /**
     * Closes at most `most` flows of intervals that are over, and returns their records, which must get into one batch of the state with the
     * flows. `isDone`: no more are to be closed now.
     */
    close(most: number): { records: FlowRecord[]; isDone: boolean } {
      const over = now() - interval - grace;
      const due = dueOf(flows, (flow) => flow.start <= over && !touched.has(flow.start), most);
      if (due.length > 0) closings++;
      const records = due.slice(0, most).map(closeFlow);
      if (due.length > most) return { records, isDone: false };
      gaps.forget((start) => start <= over && !touched.has(start));
      touched.clear();
      return { records, isDone: true };
    },
  };

  function closeFlow(flow: OpenFlow): FlowRecord {
    revision++;
    flows.remove(flow);
    const record = recordOf(flow, { interval, cluster, closing: closings, atLeast: gaps.bearOn(flow), toWall });
    const complete = policies.addTo(record, flow);
    // `found` may still lead to this flow; 0 packets say that it is gone.
    flow.packets = 0;
    return complete;
  }
}

/** Of the flows that may be closed, one more than `most` at most. */
function dueOf(
  flows: ReturnType<typeof createOpenFlows>,
  mayClose: (flow: OpenFlow) => boolean,
  most: number,
): OpenFlow[] {
  const due: OpenFlow[] = [];
  // Close the gap last: after a kill in between, flows that are closed later must still know of it.
  for (const isOfGaps of [false, true]) {
    for (const flow of flows.all()) {
      if (isGap(flow) !== isOfGaps || !mayClose(flow)) continue;
      if (due.push(flow) > most) break;
    }
  }
  return due;
}

/** The records that an interval lost: any, or only warnings of the kernel. */
type Loss = Exclude<Suppressed['affects'], 'nothing' | 'felix'>;

/** Intervals of which log was lost. */
function createGaps(restored: readonly OpenFlow[]) {
  const gaps = new Map<Millis, Loss>();
  for (const flow of restored) if (isGap(flow)) gaps.set(flow.start, 'everything');

  return {
    add(start: Millis, loss: Loss): void {
      if (gaps.get(start) !== 'everything') gaps.set(start, loss);
    },
    /** Whether packets of a flow may be among what was lost. */
    bearOn(flow: OpenFlow): boolean {
      const loss = gaps.get(flow.start);
      return loss === 'everything' || (loss !== undefined && isWarning(flow));
    },
    forget(isOver: (start: Millis) => boolean): void {
      for (const start of gaps.keys()) if (isOver(start)) gaps.delete(start);
    },
  };
}

/** Lost records, as a flow of their own. `by`: who lost them. */
function gapOf(by: string, node: string): Flow {
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

/** Martians are printed as warnings of the kernel, whose rate is limited apart. */
function isWarning({ fields }: OpenFlow): boolean {
  return fields['log.prefix']?.startsWith('martian ') === true;
}

/** Evaluates the policies that are known already; undefined: they say nothing. `first`: when the first packet was dropped. */
export type PoliciesOn = (findings: readonly Finding[], first: Millis) => PolicyFacts | undefined;

function createFlowPolicies(policiesOn: PoliciesOn | undefined) {
  /** Findings of the first packet of each flow. They are not kept on disk: after a restart a row only lacks the verdict of policies. */
  const found = new WeakMap<OpenFlow, readonly Finding[]>();
  return {
    note(flow: OpenFlow, findings: readonly Finding[] | undefined): void {
      if (policiesOn !== undefined && findings !== undefined && !found.has(flow)) found.set(flow, findings);
    },
    /** The record with the verdict. It is made once, because it is kept and sent again unchanged. */
    addTo(record: FlowRecord, flow: OpenFlow): FlowRecord {
      const findings = found.get(flow);
      const facts = findings && policiesOn?.(findings, flow.first);
      return facts === undefined ? record : withoutForeignPolicies({ ...record, ...policyFields(facts, 'evaluated') });
    },
  };
}
