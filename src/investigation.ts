import type { Ends, LogLine, Martian, Millis, PacketObservation } from './model.ts';
import type { RemoteLookups } from './resolving/remote.ts';
import type { WaitingFlow, WaitingRoom } from './waiting-room.ts';

export interface InvestigationOptions {
  room: WaitingRoom;
  remote: Pick<RemoteLookups, 'investigate'>;
  /** Whether the lists of Pods, Nodes and Services are there. Before that nothing can be said of anybody. */
  isSynced: () => boolean;
  /** Who the ends of a waiting packet are by now. */
  endsOf: (flow: WaitingFlow) => Ends;
  /** What to do with a flow that need not wait any longer. */
  resume: (flow: WaitingFlow) => void;
  /** A packet that would have to wait finds no place; it is counted with what is known now. */
  onFull: () => void;
  now: () => Millis;
}

/** Keeps packets back for a moment, while it is found out whose they are. */
export interface Investigation {
  hold: (line: LogLine, observation: PacketObservation | Martian, ends: Ends) => boolean;
  /** An answer has come in, or the lists are there. */
  review: () => void;
  stop: () => void;
}

/** Longest wait for look-ups; then a packet goes out with bare addresses. */
export const longestWait: Millis = 2000;

const reviewInterval: Millis = 250;

export function createInvestigation({
  room,
  remote,
  isSynced,
  endsOf,
  resume,
  onFull,
  now,
}: InvestigationOptions): Investigation {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** When the lists were there: before that no look-up is begun, so no time for one has passed. */
  let syncedAt: Millis | undefined;

  return {
    hold(line, observation, ends) {
      // Later packets of a flow must not overtake those that wait: it would be two problems.
      if (isSynced() && !room.has(line, observation) && !remote.investigate(ends)) return false;
      if (!room.admit(line, observation, now())) {
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
    if (room.size === 0) return;
    if (syncedAt !== undefined) for (const flow of room.release(isDone)) resume(flow);
    if (room.size > 0) timer = setTimeout(review, reviewInterval);
  }

  function isDone(flow: WaitingFlow): boolean {
    const waited = now() - Math.max(flow.since, syncedAt ?? 0);
    return waited >= longestWait || !remote.investigate(endsOf(flow));
  }
}
