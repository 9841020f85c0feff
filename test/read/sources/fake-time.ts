import type { Millis } from '../../../src/base/model/log-line.ts';
import type { Timing } from '../../../src/read/sources/source.ts';

export interface FakeTime extends Timing {
  /** The time since it was made. */
  elapsed: () => Millis;
  /** Runs the tasks that are due by then, in order. Throws if that never ends. */
  advance: (time: Millis) => void;
  /** Runs only the next task; returns how long it was waited for. */
  step: () => Millis;
  /** Sets the wall clock, but not the steady one. */
  setWallClock: (time: Millis) => void;
  readonly pending: number;
}

/** More turns than this without any time passing are an endless loop. */
const limit = 10_000;

export function fakeTime(start: Millis): FakeTime {
  const tasks = new Set<{ at: Millis; task: () => void }>();
  let elapsed: Millis = 0;
  let clock = start;

  return {
    now: () => start + elapsed,
    wall: () => clock + elapsed,
    elapsed: () => elapsed,
    schedule(task, delay) {
      const entry = { at: elapsed + delay, task };
      tasks.add(entry);
      return () => tasks.delete(entry);
    },
    advance(time) {
      const end = elapsed + time;
      let turns = 0;
      for (let next = earliest(); next !== undefined && next.at <= end; next = earliest()) {
        turns = next.at > elapsed ? 0 : turns + 1;
        if (turns > limit) throw new Error('busy loop');
        run(next);
      }
      elapsed = end;
    },
    step() {
      const next = earliest();
      if (next === undefined) throw new Error('nothing is scheduled');
      const waited = next.at - elapsed;
      run(next);
      return waited;
    },
    setWallClock(time) {
      clock = time - elapsed;
    },
    get pending() {
      return tasks.size;
    },
  };

  /** Returns the task that was scheduled first, of those due at the same time. */
  function earliest(): { at: Millis; task: () => void } | undefined {
    let found: { at: Millis; task: () => void } | undefined;
    for (const entry of tasks) if (found === undefined || entry.at < found.at) found = entry;
    return found;
  }

  function run(entry: { at: Millis; task: () => void }): void {
    tasks.delete(entry);
    elapsed = entry.at;
    entry.task();
  }
}
