import type { Millis } from '../model/log-line.ts';

/** Clocks are corrected by moments all the time, and logs are a little out of order: more than that is another clock. */
const tolerance: Millis = 300_000;

/** Whether a clock that has been at `latest` and is at `now` was set back: what waits for it would wait for as long. */
export function isClockSteppedBack(latest: Millis, now: Millis): boolean {
  return latest - now > tolerance;
}
