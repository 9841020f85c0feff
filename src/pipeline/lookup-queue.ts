/** Packets that wait until the owners of their addresses are looked up. */
import type { Ends } from '../model/endpoint.ts';
import { flowKey } from '../model/flow-identity.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import { createKeyedChanges } from '../platform/keyed-changes.ts';
import type { Schedule } from '../platform/timer.ts';
import { type Directory, endsOf, type RemoteLookups } from '../resolving/resolving.ts';
import { weightOf } from './decision.ts';
import type { Alike } from './repeated-decisions.ts';

/** Packets of a flow in one minute. Plain JSON. */
export interface QueuedFlow {
  /** The line of the first packet, without its text. */
  line: LogLine;
  observation: PacketObservation | Martian;
  weight: number;
  first: Millis;
  last: Millis;
  /** The arrival of the first packet, by this node's clock. */
  since: Millis;
}

export type LookupQueue = ReturnType<typeof createLookupQueue>;

/**
 * Joins packets of one flow, so it grows with flows; and with minutes while an API server is away, because an address may be given to
 * another Pod meanwhile. The state on disk contains it.
 */
export function createLookupQueue(limit: number, restored: readonly QueuedFlow[] = []) {
  const waiting = new Map<string, QueuedFlow>();
  /** The key of each flow's packets that came last. */
  const latest = new Map<string, string>();
  const changes = createKeyedChanges('waiting', waiting);
  let overflowed = 0;
  for (const flow of restored) add(keyOf(flow.line, flow.observation), flow);

  return {
    /** The waiting packets, for the state on disk. */
    changes,
    get size(): number {
      return waiting.size;
    },
    get flows(): readonly QueuedFlow[] {
      return [...waiting.values()];
    },
    /** Lines that found no room, since the start. */
    get overflowed(): number {
      return overflowed;
    },
    /** Whether packets of that flow wait here, so that a later one does not overtake them. */
    has: (line: LogLine, observation: PacketObservation | Martian): boolean =>
      waiting.size > 0 && latest.has(keyOf(line, observation)),
    /** Returns false if it is full. `lines`: how many equal lines; `last`: the time of the latest. */
    admit(
      line: LogLine,
      observation: PacketObservation | Martian,
      now: Millis,
      { lines, last = line.time }: Pick<Alike, 'lines' | 'last'> = { lines: 1, last: undefined },
    ): boolean {
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
      if (waiting.size >= limit) {
        overflowed += lines;
        return false;
      }
      // A text may have 64 KiB, and all that it says is in the observation.
      const kept = { ...line, text: '' };
      changes.changed(add(key, { line: kept, observation, weight, first: line.time, last, since: now }));
      return true;
    },
    /** Takes out all that `may` agrees to, oldest first. */
    release(may: (flow: QueuedFlow) => boolean): QueuedFlow[] {
      const released: QueuedFlow[] = [];
      for (const [key, flow] of waiting) {
        if (!may(flow)) continue;
        waiting.delete(key);
        changes.changed(key);
        released.push(flow);
      }
      for (const [flow, key] of latest) if (!waiting.has(key)) latest.delete(flow);
      return released;
    },
  };

  function add(flow: string, packets: QueuedFlow): string {
    const key = inMinute(flow, packets.line.time);
    waiting.set(key, packets);
    latest.set(flow, key);
    return key;
  }

  /** The key of the packets of that minute; where there is no room for another minute, of the latest packets of the flow. */
  function keyToJoin(flow: string, time: Millis): string {
    const key = inMinute(flow, time);
    return waiting.size < limit || waiting.has(key) ? key : (latest.get(flow) ?? key);
  }
}

const minute: Millis = 60_000;

function inMinute(flow: string, time: Millis): string {
  return `${Math.floor(time / minute)} ${flow}`;
}

/** Equal for packets that count in the same series, whoever owns their addresses. */
function keyOf(line: LogLine, observation: PacketObservation | Martian): string {
  if (observation.kind === 'martian') {
    const { source, destination, device, impossible } = observation;
    return JSON.stringify([source, destination, device, impossible]);
  }
  return `${line.timeIsExact} ${flowKey(observation)}`;
}

/** The look-ups of owners that no list of this node has. */
export interface Lookups {
  queue: LookupQueue;
  remote: Pick<RemoteLookups, 'startLookups'>;
  /** Whether the lists of Pods, Nodes and Services are there. Before that no address has a known owner. */
  isSynced: () => boolean;
  now: () => Millis;
  /** Timers of the time that `now` is of; by default the process's. */
  schedule?: Schedule;
}

/** Longest wait for look-ups; then a packet is counted with bare addresses. */
export const longestWait: Millis = 2000;

/** The pause between two looks at what waits. */
export const reviewInterval: Millis = 250;

/** Decides which packets wait, and until when. */
export function createWaiting({ queue, remote, isSynced, now }: Lookups, directory: Directory) {
  /** When the lists were complete. Look-ups begin then, so the wait is measured from then. */
  let syncedAt: Millis | undefined;

  return {
    /** Keeps a packet, uncounted, if it is worth waiting for its owners and there is room. */
    hold(alike: Alike, observation: PacketObservation | Martian, ends: Ends): boolean {
      // A later packet must not overtake those of its flow that wait, because the two would become two series.
      if (isSynced() && !queue.has(alike.line, observation) && !remote.startLookups(ends)) return false;
      return queue.admit(alike.line, observation, now(), alike);
    },
    /** Takes out the packets that have their owners, or have waited long enough. */
    takeDone(): QueuedFlow[] {
      if (isSynced()) syncedAt ??= now();
      return syncedAt === undefined ? [] : queue.release(isDone);
    },
  };

  function isDone({ line, observation, since }: QueuedFlow): boolean {
    const waited = now() - Math.max(since, syncedAt ?? 0);
    const at = { time: line.time, exact: line.timeIsExact };
    return waited >= longestWait || !remote.startLookups(endsOf(observation, directory, at));
  }
}
