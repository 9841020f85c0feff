import type { Millis } from '../model/log-line.ts';
import { processorTime } from './clock.ts';
import { type Schedule, schedule as systemSchedule } from './timer.ts';

/** Lets connections and requests go before other work, because a turn of the event loop accepts only one connection of each listener. */
export interface Arrivals {
  /** A connection was accepted, or a part of a request has come. */
  readonly note: () => void;
  /** As `schedule` of timer.ts, but while something arrives, a task waits for further turns, at most as long as the last task took. */
  readonly schedule: Schedule;
}

/** Clients without end take half of the time; a turn that took less than this still leaves them room. */
const shortestWait: Millis = 4;

export function createArrivals(schedule: Schedule = systemSchedule, now: () => Millis = processorTime): Arrivals {
  let arrived = 0;
  let longestWait = shortestWait;
  return {
    note: () => void arrived++,
    schedule(task, delay) {
      let cancel = attempt(delay);
      return () => cancel();

      function attempt(wait: Millis, until?: Millis): () => void {
        const before = arrived;
        return schedule(() => {
          const began = now();
          const end = until ?? began + longestWait;
          if (arrived !== before && began < end) {
            cancel = attempt(0, end);
            return;
          }
          task();
          longestWait = Math.max(shortestWait, now() - began);
        }, wait);
      }
    },
  };
}
