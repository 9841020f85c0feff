/** Keeps the dropped flows of the last hour in memory, for `/drops` (docs/kubectl-plugin.md). */
import type { Millis } from '../model/log-line.ts';
import { cutBytes } from '../platform/printable.ts';
import { fieldsThat, type FlowRecord } from './fields.ts';
import { type AuditedPacket, type Flow, flowOf } from './flow.ts';
import { createFlowRoom, type FlowLimits } from './flow-room.ts';
import { stampOf } from './record.ts';

/** Changes when a key goes or gets another meaning. */
export const liveFlowsVersion = 1;

/** The answer of `/drops`, as JSON. The keys of a flow are fields of docs/audit-fields.md. */
export interface LiveFlows {
  version: typeof liveFlowsVersion;
  node: string;
  /** RFC 3339, when it was answered. */
  time: string;
  /** Flows that were replaced since the start; no flow counts their packets. */
  forgotten: number;
  flows: FlowRecord[];
}

export interface LiveFlowsOptions {
  node: string;
  limits?: FlowLimits & { bytes: number };
  redact: ((fields: FlowRecord) => FlowRecord) | undefined;
  /** `toWall`: what the wall clock showed at a time of the lines. */
  clock: { now: () => Millis; toWall: (time: Millis) => Millis };
}

interface Held extends Flow {
  start: 0;
  packets: number;
  first: Millis;
  last: Millis;
  bytes: number;
}

export type LiveFlowTable = ReturnType<typeof createLiveFlows>;

/** 10,000 usual flows are 6 MB; a Pod that scans has 500 of them. */
const defaultLimits = { total: 10_000, perSubject: 500, joined: 1000, bytes: 16 * 1024 * 1024 };
const keptFor: Millis = 3_600_000;
const sweepInterval: Millis = 60_000;
const longestText = 253;
const ofEach = 300;

const left: ReadonlySet<string> = new Set(fieldsThat(({ live }) => live === false));

/** Counts packets by flow. The table is bounded in bytes and in flows, also of each workload and namespace. */
export function createLiveFlows({ node, limits = defaultLimits, redact, clock }: LiveFlowsOptions) {
  const flows = new Map<string, Held>();
  const room = createFlowRoom<Held>(limits, (_, key) => flows.has(key));
  /** The flow of each `meaning`: computing the key of each packet would cost more. */
  const found = new WeakMap<object, Held>();
  let bytes = 0;
  let forgotten = 0;
  let swept = clock.now();

  return {
    get sizes() {
      return { flows: flows.size, bytes };
    },
    count(meaning: object, packet: () => AuditedPacket, packets: number, time: Millis): void {
      let flow = found.get(meaning);
      if (flow === undefined || flow.packets === 0) {
        flow = held(flowOf(packet(), redact), time);
        found.set(meaning, flow);
      }
      flow.packets += packets;
      flow.last = Math.max(flow.last, Math.min(time, clock.now()));
    },
    /** The answer to whoever asks, with the newest flows first. */
    text(): string {
      sweep();
      const all: LiveFlows = {
        version: liveFlowsVersion,
        node,
        time: stampOf(clock.toWall(clock.now())),
        forgotten,
        flows: [...flows.values()].toSorted((a, b) => b.last - a.last).map(recordOf),
      };
      return `${JSON.stringify(all)}\n`;
    },
  };

  function held(given: Flow, time: Millis): Held {
    const known = flows.get(given.key);
    if (known !== undefined) return join(known, given.fields);
    if (clock.now() - swept >= sweepInterval) sweep();
    const { flow, evicted } = room.find(0, given);
    // Their counts are not moved: the answer is about the present.
    for (const [old] of evicted) forget(old);
    const same = flows.get(flow.key);
    if (same !== undefined) return join(same, flow.fields);
    const fields = slim(flow.fields);
    const size = ofEach + 2 * flow.key.length + JSON.stringify(fields).length;
    const start = Math.min(time, clock.now());
    const made: Held = { ...flow, fields, start: 0, packets: 0, first: start, last: start, bytes: size };
    flows.set(flow.key, made);
    room.enter(made);
    bytes += size;
    while (bytes > limits.bytes) forget(flows.values().next().value as Held);
    return made;
  }

  function sweep(): void {
    swept = clock.now();
    for (const flow of flows.values()) if (flow.last < swept - keptFor) remove(flow);
  }

  function forget(flow: Held): void {
    forgotten++;
    remove(flow);
  }

  function remove(flow: Held): void {
    flows.delete(flow.key);
    room.leave(flow);
    bytes -= flow.bytes;
    // `found` may lead to this flow; 0 packets say that it is gone.
    flow.packets = 0;
  }

  function recordOf({ fields, packets, first, last }: Held): FlowRecord {
    const stamps = { 'event.start': stampOf(clock.toWall(first)), 'event.end': stampOf(clock.toWall(last)) };
    return { ...fields, ...stamps, 'network.packets': packets };
  }
}

/** A field that differs between Pods of a workload is left out. */
const mayDiffer = fieldsThat(({ varies, live }) => varies === true && live !== false);

function join(flow: Held, fields: FlowRecord): Held {
  for (const name of mayDiffer) if (flow.fields[name] !== fields[name]) delete flow.fields[name];
  return flow;
}

function slim(fields: FlowRecord): FlowRecord {
  const kept = Object.entries(fields).filter(([name, value]) => value !== undefined && !left.has(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, typeof value === 'string' ? cutBytes(value, longestText) : value]),
  );
}
