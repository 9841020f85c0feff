import { isDhcp } from '../drops/noise.ts';
import { orient } from '../drops/orientation.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import { createKeyedChanges, type KeyedChanges } from '../platform/keyed-changes.ts';
import { weightOf } from './decision.ts';
import type { Alike } from './repeated-decisions.ts';

/** Packets of a flow in one minute, which are held until its owner lookup completes. Plain JSON. */
export interface QueuedFlow {
  /** Of the first packet, without its text. */
  line: LogLine;
  observation: PacketObservation | Martian;
  weight: number;
  first: Millis;
  last: Millis;
  /** When the first came in, by this node's clock. */
  since: Millis;
}

/**
 * Flows that wait for Pods or addresses. Packets of one flow are joined, so it grows with flows; while an API server is away, also by the
 * minute, because an address may be given to another Pod meanwhile. The snapshot contains it.
 */
export interface LookupQueue {
  /** `alike`: more lines than that one. */
  admit: (
    line: LogLine,
    observation: PacketObservation | Martian,
    now: Millis,
    alike?: Pick<Alike, 'lines' | 'last'>,
  ) => boolean;
  /** Whether packets of that flow wait here, so that a later one does not overtake them. */
  has: (line: LogLine, observation: PacketObservation | Martian) => boolean;
  /** Lets out all that `may` agrees to, oldest first. */
  release: (may: (flow: QueuedFlow) => boolean) => QueuedFlow[];
  readonly flows: readonly QueuedFlow[];
  readonly size: number;
  /** For the state on disk. */
  readonly changes: Omit<KeyedChanges, 'changed'>;
}

export function createLookupQueue(limit: number, restored: readonly QueuedFlow[] = []): LookupQueue {
  const waiting = new Map<string, QueuedFlow>();
  /** The key of each flow's packets that came last. */
  const latest = new Map<string, string>();
  const changes = createKeyedChanges('waiting', waiting);
  for (const flow of restored) add(keyOf(flow.line, flow.observation), flow);

  return {
    changes,
    get size() {
      return waiting.size;
    },
    get flows() {
      return [...waiting.values()];
    },
    has: (line, observation) => waiting.size > 0 && latest.has(keyOf(line, observation)),
    admit(line, observation, now, { lines, last = line.time } = { lines: 1, last: undefined }) {
      const key = keyOf(line, observation);
      const weight = weightOf(observation) * lines;
      const joined = keyToJoin(key, line.time);
      const known = waiting.get(joined);
      if (known) {
        known.weight += weight;
        known.first = Math.min(known.first, line.time);
        known.last = Math.max(known.last, last);
        changes.changed(joined);
        return true;
      }
      if (waiting.size >= limit) return false;
      // A text may have 64 KiB, and all that it says is in the observation.
      const kept = { ...line, text: '' };
      changes.changed(add(key, { line: kept, observation, weight, first: line.time, last, since: now }));
      return true;
    },
    release(may) {
      const released: QueuedFlow[] = [];
      for (const [key, flow] of waiting) {
        if (!may(flow)) continue;
        waiting.delete(key);
        changes.changed(key);
        released.push(flow);
      }
      if (released.length > 0) for (const [flow, key] of latest) if (!waiting.has(key)) latest.delete(flow);
      return released;
    },
  };

  function add(flow: string, packets: QueuedFlow): string {
    const key = inMinute(flow, packets.line.time);
    waiting.set(key, packets);
    latest.set(flow, key);
    return key;
  }

  /** Those of its minute. Where there is no room for another minute, those of the flow that came last. */
  function keyToJoin(flow: string, time: Millis): string {
    const key = inMinute(flow, time);
    return waiting.size < limit || waiting.has(key) ? key : (latest.get(flow) ?? key);
  }
}

const minute: Millis = 60_000;

function inMinute(flow: string, time: Millis): string {
  return `${Math.floor(time / minute)} ${flow}`;
}

/** Equal for packets that end in the same series, whatever their addresses turn out to be. */
function keyOf(line: LogLine, observation: PacketObservation | Martian): string {
  if (observation.kind === 'martian') {
    const { source, destination, device, impossible } = observation;
    return JSON.stringify([source, destination, device, impossible]);
  }
  const { packet, inner, repeat: _, mark: __, uid: ___, ...rule } = observation;
  return JSON.stringify([line.timeIsExact, rule, flowOf(packet), inner && flowOf(inner)]);
}

function flowOf(packet: PacketObservation['packet']): unknown {
  const { source, destination, protocol, sourcePort, icmpType, icmpCode, laterFragment } = packet;
  const { port, reply } = orient(packet);
  return [source, destination, protocol, port, reply, icmpType, icmpCode, laterFragment, isDhcp(sourcePort)];
}
