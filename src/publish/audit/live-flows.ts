/** Keeps the dropped flows of the last hour in memory, for `/drops` (docs/live-drops.md). */
import type { Millis } from '../../base/model/log-line.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { oldestKeyOf } from '../../base/platform/oldest-key.ts';
import { cutBytes } from '../../base/platform/printable.ts';
import { inTurns } from '../../base/platform/turns.ts';
import { fieldsThat, type FlowRecord } from './fields.ts';
import { type AuditedFlow, type AuditedPacket, flowOf } from './flow.ts';
import { createFlowRoom, type FlowLimits } from './flow-room.ts';
import { stampOf } from './record.ts';

/** The version of the answer. It changes when a key is removed or its meaning changes. */
export const liveFlowsVersion = 1;

/** The answer of `/drops`, as JSON. The keys of a flow are explained in docs/audit-fields.md. */
export interface LiveFlows {
  version: typeof liveFlowsVersion;
  node: string;
  /** The time of the answer in RFC 3339. */
  time: string;
  /** How many flows were removed since the start to make room. No flow counts their packets any more. */
  forgotten: number;
  flows: FlowRecord[];
}

export interface LiveFlowsOptions {
  node: string;
  limits?: FlowLimits & { bytes: number };
  redact: ((fields: FlowRecord) => FlowRecord) | undefined;
  clock: Pick<Clock, 'now' | 'toWall'>;
}

interface LiveFlow extends AuditedFlow {
  start: 0;
  packets: number;
  first: Millis;
  last: Millis;
  bytes: number;
}

export interface LiveFlowTable {
  readonly sizes: { flows: number; bytes: number };
  count(meaning: object, packet: () => AuditedPacket, packets: number, time: Millis): void;
  /** Made in turns, because 10,000 flows are 7 MB. */
  text(): Promise<Buffer>;
}

/** 10,000 usual flows take 6 MB. A workload that scans has at most 500 of them. */
const defaultLimits = { total: 10_000, perSubject: 500, joined: 1000, bytes: 16 * 1024 * 1024 };
const keptFor: Millis = 3_600_000;
const sweepInterval: Millis = 60_000;
const longestText = 253;
const bytesOfEach = 300;
const flowsOfPart = 100;

const leftOut: ReadonlySet<string> = new Set(fieldsThat(({ live }) => live === false));

export function createLiveFlows({ node, limits = defaultLimits, redact, clock }: LiveFlowsOptions): LiveFlowTable {
  const flows = new Map<string, LiveFlow>();
  const oldestKey = oldestKeyOf(flows);
  const room = createFlowRoom<LiveFlow>(limits, (_, key) => flows.has(key));
  /** The flow of each `meaning`. Computing a key for each packet would cost more. */
  const found = new WeakMap<object, LiveFlow>();
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
    async text(): Promise<Buffer> {
      sweep();
      const newest = [...flows.values()].toSorted((a, b) => b.last - a.last);
      // A flow that has been removed meanwhile has no packets, and `forgotten` may count it.
      const parts = await partsOf(newest, (flow) => (flow.packets === 0 ? undefined : recordOf(flow)));
      const time = stampOf(clock.toWall(clock.now()));
      const all: LiveFlows = { version: liveFlowsVersion, node, time, forgotten, flows: [] };
      return Buffer.concat([Buffer.from(JSON.stringify(all).slice(0, -2)), ...parts, Buffer.from(']}\n')]);
    },
  };

  function held(given: AuditedFlow, time: Millis): LiveFlow {
    const known = flows.get(given.key);
    if (known !== undefined) return join(known, given.fields);
    if (clock.now() - swept >= sweepInterval) sweep();
    const { flow, evicted } = room.find(0, given);
    // Counts of these flows are dropped, because the answer is about the present.
    for (const [old] of evicted) forget(old);
    const same = flows.get(flow.key);
    if (same !== undefined) return join(same, flow.fields);
    const fields = slim(flow.fields);
    const size = bytesOfEach + 2 * flow.key.length + JSON.stringify(fields).length;
    const start = Math.min(time, clock.now());
    const made: LiveFlow = { ...flow, fields, start: 0, packets: 0, first: start, last: start, bytes: size };
    flows.set(flow.key, made);
    room.enter(made);
    bytes += size;
    while (bytes > limits.bytes) forget(flows.get(oldestKey() as string) as LiveFlow);
    return made;
  }

  function sweep(): void {
    swept = clock.now();
    for (const flow of flows.values()) if (flow.last < swept - keptFor) remove(flow);
  }

  function forget(flow: LiveFlow): void {
    forgotten++;
    remove(flow);
  }

  function remove(flow: LiveFlow): void {
    flows.delete(flow.key);
    room.leave(flow);
    bytes -= flow.bytes;
    // `found` may still lead to this flow. 0 packets mean that it is gone.
    flow.packets = 0;
  }

  function recordOf({ fields, packets, first, last }: LiveFlow): FlowRecord {
    const stamps = { 'event.start': stampOf(clock.toWall(first)), 'event.end': stampOf(clock.toWall(last)) };
    return { ...fields, ...stamps, 'network.packets': packets };
  }
}

/** Returns JSON of the records, with commas in between. */
async function partsOf(
  flows: readonly LiveFlow[],
  recordOf: (flow: LiveFlow) => FlowRecord | undefined,
): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  let texts: string[] = [];
  await inTurns(flows, (flow) => {
    const record = recordOf(flow);
    if (record !== undefined) texts.push(JSON.stringify(record));
    if (texts.length === flowsOfPart) close();
  });
  if (texts.length > 0) close();
  return parts;

  function close(): void {
    parts.push(Buffer.from(`${parts.length === 0 ? '' : ','}${texts.join(',')}`));
    texts = [];
  }
}

const mayDiffer = fieldsThat(({ varies, live }) => varies === true && live !== false);

function join(flow: LiveFlow, fields: FlowRecord): LiveFlow {
  for (const name of mayDiffer) if (flow.fields[name] !== cut(fields[name])) delete flow.fields[name];
  return flow;
}

function slim(fields: FlowRecord): FlowRecord {
  const kept = Object.entries(fields).filter(([name, value]) => value !== undefined && !leftOut.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, cut(value)]));
}

function cut<T>(value: T): T | string {
  return typeof value === 'string' ? cutBytes(value, longestText) : value;
}
