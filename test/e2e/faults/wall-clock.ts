import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fakeClockLibrary } from '../../programs/table.ts';

export type WallClock = ReturnType<typeof createWallClock>;

/**
 * A wall clock for one process, by libfaketime. The clock for intervals (CLOCK_MONOTONIC) stays the machine's, as when
 * a real clock is set. `folder`: where the file is that the process reads whenever it reads the clock.
 */
export function createWallClock(folder: string) {
  const file = join(folder, 'wall-clock');
  let ahead = 0;
  /** Sets it this far ahead of the machine's clock, from the process's next look at it. */
  const set = (seconds: number): void => {
    ahead = seconds;
    // Replaced in one step, because half a file would be another time.
    writeFileSync(`${file}.next`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${file}.next`, file);
  };
  set(0);
  return {
    /** Variables for the environment of the process. */
    env: {
      LD_PRELOAD: fakeClockLibrary,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_RESET: '1',
      NO_FAKE_STAT: '1',
    },
    set,
    now: () => new Date(Date.now() + ahead * 1000),
  };
}
