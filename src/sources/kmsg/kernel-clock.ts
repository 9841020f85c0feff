import type { Millis } from '../../model/log-line.ts';

export interface KernelClockOptions {
  wall: () => Millis;
  /** CLOCK_MONOTONIC: since boot, sleep not counted. */
  monotonic: () => Millis;
}

export interface KernelClock {
  /** Never later than now. */
  timeOf: (stamp: Millis) => Millis;
  /** The buffer was found empty: a record that is read in the next quarter of a second has been made in them. */
  foundEmpty: () => void;
  /** A record has been read; to be called before its time is asked for. */
  compare: (stamp: Millis) => void;
}

const freshness: Millis = 250;
const tolerable: Millis = 1000;

/**
 * Stamps are local_clock's: not disciplined, so they drift from CLOCK_MONOTONIC by seconds in weeks, and stand still in a sleep.
 * The offset to the time of day is therefore measured again and again: a record that comes right after the buffer was empty was made now.
 * Records from before the first such one are as far off as the drift was by then; those from before a sleep by its length.
 */
export function createKernelClock({ wall, monotonic }: KernelClockOptions): KernelClock {
  let emptyAt: Millis = -Infinity;
  let correction: Millis = 0;

  return {
    // The time of day may be set at any moment, so it is asked each time.
    timeOf(stamp) {
      const present = wall();
      return Math.min(present, present - monotonic() + stamp + correction);
    },
    foundEmpty() {
      emptyAt = monotonic();
    },
    compare(stamp) {
      const present = monotonic();
      // A line that the kernel ends late is read late, with its old stamp. The line that ended it comes next, and rights this.
      if (present - emptyAt <= freshness && Math.abs(present - stamp - correction) > tolerable)
        correction = present - stamp;
    },
  };
}
