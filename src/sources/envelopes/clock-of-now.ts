import type { Millis } from '../../model/log-line.ts';
import type { ToInstant } from '../../log-formats/rfc3339.ts';
import { type Clock, createClock } from './clock.ts';

/** Belongs to a clock, because `latest` decides the year of stamps without one. */
const clockLife: Millis = 3_600_000;

/** The clock for stamps of a log that is being written. `zone`: how stamps without one are read; default: UTC. */
export function createClockOfNow(zone: ToInstant = Date.UTC): (present: Millis) => Clock {
  let hour: number | undefined;
  let clock: Clock;
  return (present) => {
    const current = Math.floor(present / clockLife);
    if (current !== hour) {
      hour = current;
      clock = createClock({ latest: present, zone });
    }
    return clock;
  };
}
