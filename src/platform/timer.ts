import type { Millis } from '../model/log-line.ts';
import type { Schedule } from './schedule.ts';

export interface Timer {
  /** In that time, and no earlier. */
  set: (delay: Millis) => void;
  /** In that time, unless it is done earlier anyway. */
  setEarliest: (delay: Millis) => void;
  cancel: () => void;
}

export function createTimer(schedule: Schedule, now: () => Millis, task: () => void): Timer {
  let pending: { at: Millis; cancel: () => void } | undefined;

  return {
    set,
    setEarliest(delay) {
      if (pending === undefined || now() + delay < pending.at) set(delay);
    },
    cancel,
  };

  function set(delay: Millis): void {
    cancel();
    const at = now() + delay;
    pending = {
      at,
      cancel: schedule(() => {
        pending = undefined;
        task();
      }, delay),
    };
  }

  function cancel(): void {
    pending?.cancel();
    pending = undefined;
  }
}
