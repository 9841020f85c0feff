import { humanDuration } from '../../platform/duration.ts';
import type { Millis } from '../../model/log-line.ts';

/** `3s ago`; `3s in the future`, as a wrong clock or time zone may have it. */
export function ago(time: Millis, present: Millis): string {
  const past = present - time;
  return past > -1000 ? `${humanDuration(Math.max(0, past))} ago` : `${humanDuration(-past)} in the future`;
}
