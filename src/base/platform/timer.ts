import type { Millis } from '../model/log-line.ts';

export interface Timer {
  set: (delay: Millis) => void;
  /** Calls the task after the delay, unless it is already due earlier. */
  setEarliest(delay: Millis): void;
  cancel: () => void;
}

/** Calls `task` once at the time that was set last. */
export function createTimer(schedule: Schedule, now: () => Millis, task: () => void): Timer {
  let pending: { at: Millis; cancel: () => void } | undefined;

  return {
    set,
    setEarliest(delay: Millis): void {
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

/** Keeps the process alive until the call. 0 means after the I/O events that already wait. Returns a function that cancels the call. */
export type Schedule = (task: () => void, delay: Millis) => () => void;

export const schedule: Schedule = (task, delay) => {
  if (delay === 0) {
    const immediate = setImmediate(task);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(task, delay);
  return () => clearTimeout(timer);
};
