import type { Millis } from '../model/log-line.ts';

/**
 * Calls `task` once, `delay` from now; with 0 as soon as all else that waits has had its turn. Keeps the process alive until
 * then. Returns how to call it off.
 */
export type Schedule = (task: () => void, delay: Millis) => () => void;

export const schedule: Schedule = (task, delay) => {
  if (delay === 0) {
    const immediate = setImmediate(task);
    return () => clearImmediate(immediate);
  }
  const timer = setTimeout(task, delay);
  return () => clearTimeout(timer);
};
