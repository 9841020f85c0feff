/** Makes flow records of the packets that a node logs: counts them by flow and interval, saves them on disk, and sends them to sinks. */
import type { AuditedPacket } from './flow.ts';
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import type { Suppressed } from '../../base/model/observation.ts';
import { entriesOfKind, type StateChange } from '../../base/platform/keyed-changes.ts';
import { writeAll } from '../../base/platform/file-io.ts';
import { type Delivery, type DeliveryReport, type Sink, startDelivery } from './deliver.ts';
import { createIntervals, type Intervals, type PolicyEvaluation } from './intervals.ts';
import type { OpenFlow } from './open-flows.ts';
import { type Privacy, redactionOf, redactionOfKept, redactRestored } from './privacy.ts';
import { type AuditQueue, createAuditQueue, type LostRows, type QueueState } from './queue.ts';
import { headOf, namespaceOfRecord, namespaceOfRow, rowText, stampOf } from './record.ts';
import { createFileSink } from './sinks/file.ts';
import { createOtlpSink, readHeaders } from './sinks/otlp.ts';

export { fields, type FlowRecord, schemaVersion } from './fields.ts';
export { flagNames, packetRow } from './flow.ts';
export { createLiveFlows, liveFlowsVersion, type LiveFlowTable } from './live-flows.ts';
export { noNamespace, type Privacy, redactionOf } from './privacy.ts';
export type { DeliveryReport } from './deliver.ts';

/** The kept audit except for its flows and rows. */
export interface AuditProgress extends QueueState {
  closings: number;
}

export interface AuditState {
  progress: AuditProgress;
  flows: readonly OpenFlow[];
  rows: readonly (readonly [number: string, row: string])[];
}

export interface AuditOptions {
  node: string;
  cluster: string | undefined;
  interval: Millis;
  sinks: readonly Sink[];
  /** The most bytes of all rows that wait for receivers. */
  queueSize: number;
  restored: AuditState | undefined;
  privacy: Privacy;
  policiesOn?: PolicyEvaluation | undefined;
  clock: Pick<Clock, 'now' | 'toWall'>;
  report: DeliveryReport;
}

/** The part of the audit that the agent saves on disk. */
export interface KeptAudit {
  readonly revision: number;
  /** Small parts, which are saved as a whole. */
  progress: () => AuditProgress;
  takeChanges: () => StateChange[];
  entries(): Generator<StateChange>;
}

export interface Audit {
  /** `meaning`: packets with the same object belong to one flow. `time`: by the steady clock. */
  count: (meaning: object, packet: () => AuditedPacket, packets: number, time: Millis) => void;
  lost: (suppressed: Suppressed, time: Millis) => void;
  /** Closes intervals that are over, saves their records on disk by `keep`, and wakes the deliveries. Rejects if `keep` does. */
  round(keep: () => Promise<void>): Promise<void>;
  start(): void;
  stop(grace: Millis): Promise<void>;
  readonly sizes: { rows: number; bytes: number; flows: number };
  readonly sinks: AuditQueue['sinks'];
  readonly kept: KeptAudit;
}

/** How many flows are closed in one turn of the event loop, which takes a few milliseconds. */
const slice = 200;
/** Closes fewer flows in a turn if their policies take long to evaluate. */
const longestTurn: Millis = 5;

export function createAudit(options: AuditOptions): Audit {
  const { node, cluster, interval, sinks, queueSize, privacy, policiesOn, clock, report } = options;
  const kept = options.restored;
  const redactKept = kept && redactionOfKept(privacy, kept);
  const restored = kept && redactKept ? redactRestored(kept, redactKept) : kept;
  const queue = createAuditQueue({
    sinks: sinks.map(({ name }) => name),
    most: queueSize,
    restored: restored && { state: restored.progress, rows: restored.rows },
    namespaceOf: namespaceOfRow,
    now: clock.now,
  });
  const intervals = createIntervals({
    interval,
    cluster,
    redact: redactionOf(privacy),
    policiesOn,
    restored: restored && { flows: restored.flows, closings: restored.progress.closings },
    ...clock,
  });
  let deliveries: Delivery[] = [];

  return {
    count: (...packet) => intervals.count(...packet),
    lost: (suppressed: Suppressed, time: Millis): void => intervals.lost(suppressed, node, time),
    async round(keep: () => Promise<void>): Promise<void> {
      while (!closeSome()) await nextTurn();
      const { newest } = queue;
      await keep();
      queue.release(newest);
      for (const delivery of deliveries) delivery.wake();
    },
    start(): void {
      deliveries = sinks.map((sink) => startDelivery({ queue, sink, gapRow, report }));
    },
    async stop(grace: Millis): Promise<void> {
      await Promise.all(deliveries.map((delivery) => delivery.stop(grace)));
    },
    get sizes(): { rows: number; bytes: number; flows: number } {
      return { flows: intervals.size, ...queue.sizes };
    },
    get sinks(): AuditQueue['sinks'] {
      return queue.sinks;
    },
    kept: keptOf(intervals, queue),
  };

  /** A turn may end early, because the policies of one flow may take ten milliseconds to evaluate. */
  function closeSome(): boolean {
    const began = performance.now();
    const { records, isDone } = intervals.close(slice, () => performance.now() - began < longestTurn);
    for (const record of records) queue.add(rowText(record), namespaceOfRecord(record));
    return isDone;
  }

  function gapRow(sink: string, { rows, first, last }: LostRows): string {
    return rowText({
      ...headOf(clock.toWall(last), 'network.flow.gap', [cluster, node, sink, rows, first]),
      'event.action': 'lost',
      'event.reason': 'audit queue',
      'event.start': stampOf(clock.toWall(first)),
      'event.end': stampOf(clock.toWall(last)),
      'k8s.cluster.name': cluster,
      'k8s.node.name': node,
      'log.records_lost': rows,
    });
  }
}

export function readAudit(values: ReadonlyMap<string, unknown>): AuditState | undefined {
  const progress = values.get('audit') as AuditProgress | undefined;
  if (progress === undefined) return undefined;
  return {
    progress,
    flows: [...entriesOfKind<OpenFlow>('flow', values)].map(([, flow]) => flow),
    rows: [...entriesOfKind<string>('record', values)].toSorted(([a], [b]) => Number(a) - Number(b)),
  };
}

export type SinkSetting = { kind: 'stdout' } | { kind: 'file'; path: string } | { kind: 'otlp'; url: string };

interface SinkSettings {
  node: string;
  cluster?: string | undefined;
  /** The size in MiB at which a file is packed. */
  auditFileSize: number;
  /** The size in MiB of all packed files together. */
  auditFileTotal: number;
  auditOtlpHeaders?: string | undefined;
  auditOtlpCa?: string | undefined;
}

/** Throws if the CA file cannot be read. The headers' file is read at each request. */
export function createSink(sink: SinkSetting, settings: SinkSettings): Sink {
  switch (sink.kind) {
    case 'stdout':
      return createStdoutSink();
    case 'file':
      return createFileSink({
        path: sink.path,
        size: settings.auditFileSize,
        total: settings.auditFileTotal,
      });
    default:
      return createOtlpSink({
        url: sink.url,
        headers: () => (settings.auditOtlpHeaders === undefined ? {} : readHeaders(settings.auditOtlpHeaders)),
        ca: settings.auditOtlpCa === undefined ? undefined : readFileSync(settings.auditOtlpCa, 'utf8'),
        resource: {
          'service.name': 'kube-netfilter-tailer',
          'k8s.node.name': settings.node,
          ...(settings.cluster !== undefined && { 'k8s.cluster.name': settings.cluster }),
        },
      });
  }
}

/** Writes rows between the lines of the log. Only rows have `event.name`, and only log lines have `msg`. */
function createStdoutSink(): Sink {
  return {
    name: 'stdout',
    mostRows: 500,
    send: (rows) => {
      writeAll(1, rows.join(''));
      return Promise.resolve(0);
    },
    close: () => Promise.resolve(),
  };
}

function keptOf(intervals: Intervals, queue: AuditQueue): KeptAudit {
  return {
    get revision() {
      return intervals.revision;
    },
    progress: () => ({ ...queue.state, closings: intervals.closings }),
    takeChanges: () => [...intervals.takeChanges(), ...queue.changes.take()],
    *entries() {
      yield* intervals.entries();
      yield* queue.changes.entries();
    },
  };
}
