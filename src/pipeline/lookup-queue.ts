import { flowKey } from '../model/flow-identity.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import { createKeyedChanges, type KeyedChanges } from '../platform/keyed-changes.ts';
import { weightOf } from './decision.ts';
import type { Alike } from './repeated-decisions.ts';
import type { Ends } from '../model/endpoint.ts';
import { createTimer, type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import type { RemoteLookups } from '../resolving/lookups/remote.ts';

/** Packets of a flow in one minute, which are held until its owner lookup completes. Plain JSON. */
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
  /** The waiting packets, for the state on disk. */
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

/** Equal for packets that end in the same series, whatever their addresses turn out to be. */
function keyOf(line: LogLine, observation: PacketObservation | Martian): string {
  if (observation.kind === 'martian') {
    const { source, destination, device, impossible } = observation;
    return JSON.stringify([source, destination, device, impossible]);
  }
  return `${line.timeIsExact} ${flowKey(observation)}`;
}

export interface LookupGateOptions {
  queue: LookupQueue;
  remote: Pick<RemoteLookups, 'startLookups'>;
  /** Whether the lists of Pods, Nodes and Services are there. Before that no address has a known owner. */
  isSynced: () => boolean;
  /** The owners of a held packet's addresses, as known now. */
  endsOf: (flow: QueuedFlow) => Ends;
  resume: (flow: QueuedFlow) => void;
  /** The queue is full: the packet is counted at once, with the owners that are known. */
  onFull: (lines: number) => void;
  now: () => Millis;
  /** Timers of the time that `now` is of; by default the process's. */
  schedule?: Schedule;
}

export interface LookupGate {
  hold: (alike: Alike, observation: PacketObservation | Martian, ends: Ends) => boolean;
  review: () => void;
  stop: () => void;
}

/** Longest wait for look-ups; then a packet goes out with bare addresses. */
export const longestWait: Millis = 2000;

const reviewInterval: Millis = 250;

export function createLookupGate(options: LookupGateOptions): LookupGate {
  const { queue, remote, isSynced, endsOf, resume, onFull, now, schedule = systemSchedule } = options;
  const timer = createTimer(schedule, now, review);
  let stopped = false;
  /** When the lists were complete. Lookups begin then, so the wait is measured from then. */
  let syncedAt: Millis | undefined;

  return {
    hold(alike, observation, ends) {
      // A later packet of a held flow must not overtake it, because the two would become two series.
      if (isSynced() && !queue.has(alike.line, observation) && !remote.startLookups(ends)) return false;
      if (!queue.admit(alike.line, observation, now(), alike)) {
        onFull(alike.lines);
        return false;
      }
      timer.setEarliest(reviewInterval);
      return true;
    },
    review,
    stop() {
      stopped = true;
      timer.cancel();
    },
  };

  function review(): void {
    timer.cancel();
    if (stopped) return;
    if (isSynced()) syncedAt ??= now();
    if (queue.size === 0) return;
    if (syncedAt !== undefined) for (const flow of queue.release(isDone)) resume(flow);
    if (queue.size > 0) timer.set(reviewInterval);
  }

  function isDone(flow: QueuedFlow): boolean {
    const waited = now() - Math.max(flow.since, syncedAt ?? 0);
    return waited >= longestWait || !remote.startLookups(endsOf(flow));
  }
}
