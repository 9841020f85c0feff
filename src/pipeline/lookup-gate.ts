import type { Ends } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { Martian } from '../model/observation.ts';
import type { PacketObservation } from '../model/packet.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/schedule.ts';
import { createTimer } from '../platform/timer.ts';
import type { RemoteLookups } from '../resolving/lookups/remote.ts';
import type { Alike } from './repeated-decisions.ts';
import type { QueuedFlow, LookupQueue } from './lookup-queue.ts';

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
