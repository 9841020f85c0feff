/** Packets that wait until the owners of their addresses are looked up. */
import type { Ends } from '../../base/model/endpoint.ts';
import { flowKey } from '../../base/model/flow-identity.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { Martian } from '../../base/model/observation.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { createKeyedChanges, type KeyedChanges } from '../../base/platform/keyed-changes.ts';
import type { Schedule } from '../../base/platform/timer.ts';
import { type EndpointFinder, endsOf, type RemoteLookups } from '../../explain/resolving/resolving.ts';
import { packetWeight } from './decision.ts';
import { createHolders } from '../../base/platform/holders.ts';
import type { LineGroup } from './repeated-decisions.ts';

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

export interface LookupQueue {
  readonly changes: KeyedChanges;
  readonly size: number;
  readonly flows: readonly QueuedFlow[];
  /** How many lines found no room since the start. */
  readonly overflowed: number;
  has: (line: LogLine, observation: PacketObservation | Martian) => boolean;
  /** Returns false if the queue is full and no other `holder` has more in it. By default, the holder is the source's address. */
  admit(line: LogLine, observation: PacketObservation | Martian, now: Millis, waited?: AdmitOptions): boolean;
  /** Removes and returns the flows that had to make room for those of another holder. */
  takeDisplaced: () => QueuedFlow[];
  /** Removes and returns the entries for which `may` is true, oldest first, and at most `most`. */
  release(may: (flow: QueuedFlow) => boolean, most?: number): QueuedFlow[];
}

/** Minutes have separate entries, because an address may get another Pod while the API server is away. They are saved on disk. */
export function createLookupQueue(limit: number, restored: readonly QueuedFlow[] = []): LookupQueue {
  const { waiting, latest, changes, sizeOf, add, remove, removeOldestBeyond } = createEntries();
  const displaced: QueuedFlow[] = [];
  let overflowed = 0;
  for (const flow of restored) add(keyOf(flow.line, flow.observation), flow, sourceOf(flow.observation));

  return {
    changes,
    get size(): number {
      return waiting.size;
    },
    get flows(): readonly QueuedFlow[] {
      return [...waiting.values()];
    },
    get overflowed(): number {
      return overflowed;
    },
    has: (line: LogLine, observation: PacketObservation | Martian): boolean =>
      waiting.size > 0 && latest.has(keyOf(line, observation)),
    admit(
      line: LogLine,
      observation: PacketObservation | Martian,
      now: Millis,
      { lines, last = line.time, holder = sourceOf(observation) }: AdmitOptions = { lines: 1, last: undefined },
    ): boolean {
      const key = keyOf(line, observation);
      const weight = packetWeight(observation) * lines;
      const joined = keyToJoin(key, line.time);
      const known = waiting.get(joined);
      if (known) {
        known.weight += weight;
        known.first = Math.min(known.first, line.time);
        known.last = Math.max(known.last, last);
        changes.changed(joined);
        return true;
      }
      if (waiting.size >= limit && !displace(sizeOf(holder) + 1)) {
        overflowed += lines;
        return false;
      }
      // The text may have 64 KiB, and the observation already has its content.
      const kept = { ...line, text: '' };
      changes.changed(add(key, { line: kept, observation, weight, first: line.time, last, since: now }, holder));
      return true;
    },
    takeDisplaced: (): QueuedFlow[] => displaced.splice(0),
    release(may: (flow: QueuedFlow) => boolean, most = Infinity): QueuedFlow[] {
      const released: QueuedFlow[] = [];
      for (const [key, flow] of waiting) {
        if (released.length >= most) break;
        if (!may(flow)) continue;
        remove(key);
        released.push(flow);
      }
      for (const [flow, key] of latest) if (!waiting.has(key)) latest.delete(flow);
      return released;
    },
  };

  /** Makes room by the oldest flow of the holder that has the most, if that is more than `size`. */
  function displace(size: number): boolean {
    const flow = removeOldestBeyond(size);
    if (flow === undefined) return false;
    overflowed += flow.weight;
    displaced.push(flow);
    return true;
  }

  /** If there is no room for an entry of this minute, packets are added to the flow's latest entry. */
  function keyToJoin(flow: string, time: Millis): string {
    const key = inMinute(flow, time);
    return waiting.size < limit || waiting.has(key) ? key : (latest.get(flow) ?? key);
  }
}

function createEntries() {
  const waiting = new Map<string, QueuedFlow>();
  /** The key of the latest entry of each flow. */
  const latest = new Map<string, string>();
  const changes = createKeyedChanges('waiting', waiting);
  const holders = createHolders();
  return { waiting, latest, changes, sizeOf: holders.sizeOf, add, remove, removeOldestBeyond };

  function add(flow: string, packets: QueuedFlow, holder: string): string {
    const key = inMinute(flow, packets.line.time);
    waiting.set(key, packets);
    latest.set(flow, key);
    holders.add(key, holder);
    return key;
  }

  function remove(key: string): void {
    waiting.delete(key);
    holders.remove(key);
    changes.changed(key);
  }

  function removeOldestBeyond(size: number): QueuedFlow | undefined {
    const key = holders.oldestOfLargest(size);
    const flow = key === undefined ? undefined : waiting.get(key);
    if (key === undefined || flow === undefined) return undefined;
    remove(key);
    const name = keyOf(flow.line, flow.observation);
    if (latest.get(name) === key) latest.delete(name);
    return flow;
  }
}

/** `holder`: whose flow it is. The room is shared, so that nobody fills it with packets to thousands of ports. */
type AdmitOptions = Pick<LineGroup, 'lines' | 'last'> & { readonly holder?: string };

function sourceOf(observation: PacketObservation | Martian): string {
  return observation.kind === 'martian' ? observation.source : observation.packet.source;
}

const minute: Millis = 60_000;

function inMinute(flow: string, time: Millis): string {
  return `${Math.floor(time / minute)} ${flow}`;
}

/** Returns a key that is equal for packets of the same series, whoever owns their addresses. */
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
  remote: Pick<RemoteLookups, 'startLookups' | 'isUnsure'>;
  /** Returns whether the lists of Pods, Nodes and Services are there. Before that, no owner is known. */
  isSynced: () => boolean;
  now: () => Millis;
  /** The processor time of this thread, which limits the work for connections that failed; by default as the kernel counts it. */
  worked?: () => Millis;
  /** Sets timers on the clock that `now` reads; by default the process's timers. */
  schedule?: Schedule;
}

/** After this time, a packet is counted with bare addresses. */
export const longestWait: Millis = 2000;

export const reviewInterval: Millis = 250;

/** How many waiting flows are counted in one turn of the event loop, which takes a few milliseconds. */
const reviewedAtOnce = 256;

export interface PacketWait {
  /** Notes that a look-up has an answer. */
  answered: () => void;
  /** Returns false if it is not worth waiting for the owners, or there is no room. `resume`: counts a flow that has made room. */
  hold(
    alike: LineGroup,
    observation: PacketObservation | Martian,
    ends: Ends,
    resume: (flow: QueuedFlow) => void,
  ): boolean;
  /** `isAll`: no more are done. Only time matters if nothing has changed, because looking for the owners of thousands takes long. */
  takeDone(): { done: QueuedFlow[]; isAll: boolean };
}

export function createWaiting({ queue, remote, isSynced, now }: Lookups, endpoints: EndpointFinder): PacketWait {
  /** When the lists were complete. Look-ups begin then, so the wait is measured from then. */
  let syncedAt: Millis | undefined;
  /** The directory's version when all owners were last looked for. */
  let version: number | undefined;

  return {
    answered: (): void => void (version = undefined),
    hold(
      alike: LineGroup,
      observation: PacketObservation | Martian,
      ends: Ends,
      resume: (flow: QueuedFlow) => void,
    ): boolean {
      // A packet also waits if others of its flow do. If it overtook them, the flow could get two series.
      if (isSynced() && !queue.has(alike.line, observation) && !remote.startLookups(ends)) return false;
      const holder = ends.source.object?.namespace ?? ends.destination.object?.namespace;
      const isHeld = queue.admit(alike.line, observation, now(), holder === undefined ? alike : { ...alike, holder });
      queue.takeDisplaced().forEach(resume);
      return isHeld;
    },
    takeDone(): { done: QueuedFlow[]; isAll: boolean } {
      if (isSynced()) syncedAt ??= now();
      if (syncedAt === undefined) return { done: [], isAll: true };
      const done = queue.release(version === endpoints.version ? isOver : isDone, reviewedAtOnce);
      const isAll = done.length < reviewedAtOnce;
      if (isAll) ({ version } = endpoints);
      return { done, isAll };
    },
  };

  function isOver({ since }: QueuedFlow): boolean {
    return now() - Math.max(since, syncedAt ?? 0) >= longestWait;
  }

  function isDone(flow: QueuedFlow): boolean {
    const { line, observation } = flow;
    const at = { time: line.time, exact: line.timeIsExact };
    return isOver(flow) || !remote.startLookups(endsOf(observation, endpoints, at));
  }
}
