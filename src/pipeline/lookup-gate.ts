import type { Ends } from '../model/endpoint.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import type { RemoteLookups } from '../resolving/lookups/remote.ts';
import type { QueuedFlow, LookupQueue } from './lookup-queue.ts';

export interface LookupGateOptions {
  queue: LookupQueue;
  remote: Pick<RemoteLookups, 'startLookups'>;
  /** Whether the lists of Pods, Nodes and Services are there. Before that nothing can be said of anybody. */
  isSynced: () => boolean;
  /** Who the ends of a waiting packet are by now. */
  endsOf: (flow: QueuedFlow) => Ends;
  /** What to do with a flow that need not wait any longer. */
  resume: (flow: QueuedFlow) => void;
  /** A packet that would have to wait finds no place; it is counted with what is known now. */
  onFull: () => void;
  now: () => Millis;
}

/** Keeps packets back for a moment, while it is found out whose they are. */
export interface LookupGate {
  hold: (line: LogLine, observation: PacketObservation | Martian, ends: Ends) => boolean;
  /** An answer has come in, or the lists are there. */
  review: () => void;
  stop: () => void;
}

/** Longest wait for look-ups; then a packet goes out with bare addresses. */
export const longestWait: Millis = 2000;

const reviewInterval: Millis = 250;

export function createLookupGate({
  queue,
  remote,
  isSynced,
  endsOf,
  resume,
  onFull,
  now,
}: LookupGateOptions): LookupGate {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** When the lists were there: before that no look-up is begun, so no time for one has passed. */
  let syncedAt: Millis | undefined;

  return {
    hold(line, observation, ends) {
      // Later packets of a flow must not overtake those that wait: it would be two problems.
      if (isSynced() && !queue.has(line, observation) && !remote.startLookups(ends)) return false;
      if (!queue.admit(line, observation, now())) {
        onFull();
        return false;
      }
      timer ??= setTimeout(review, reviewInterval);
      return true;
    },
    review,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };

  function review(): void {
    clearTimeout(timer);
    timer = undefined;
    if (stopped) return;
    if (isSynced()) syncedAt ??= now();
    if (queue.size === 0) return;
    if (syncedAt !== undefined) for (const flow of queue.release(isDone)) resume(flow);
    if (queue.size > 0) timer = setTimeout(review, reviewInterval);
  }

  function isDone(flow: QueuedFlow): boolean {
    const waited = now() - Math.max(flow.since, syncedAt ?? 0);
    return waited >= longestWait || !remote.startLookups(endsOf(flow));
  }
}
