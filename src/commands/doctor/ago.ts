import { humanDuration } from '../../platform/duration.ts';
import type { Millis } from '../../model/log-line.ts';

/** `3s ago`. What a clock that is off, or a wrong time zone, has put into the future is said to be there. */
export function ago(time: Millis, present: Millis): string {
  const past = present - time;
  return past > -1000 ? `${humanDuration(Math.max(0, past))} ago` : `${humanDuration(-past)} in the future`;
}
