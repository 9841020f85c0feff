import type { Millis } from '../model/log-line.ts';

/** Calls `task` after `delay` (0: once all else that waits had its turn); keeps the process alive. Returns how to call it off. */
export type Schedule = (task: () => void, delay: Millis) => () => void;

export const schedule: Schedule = (task, delay) => {
  if (delay === 0) {
    const immediate = setImmediate(task);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(task, delay);
  return () => clearTimeout(timer);
};
