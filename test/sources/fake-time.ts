import type { Millis } from '../../src/model/log-line.ts';
import type { Schedule } from '../../src/platform/schedule.ts';

export interface FakeTime {
  now: () => Millis;
  /** Since it was made, whatever the clock is set to. */
  elapsed: () => Millis;
  schedule: Schedule;
  /** Runs what is due by then, in order. Throws if that never ends. */
  advance: (time: Millis) => void;
  /** Runs the one task that is next, and tells how long was waited for it. */
  step: () => Millis;
  /** The clock is set; what is scheduled stays as far away as it was. */
  setClock: (time: Millis) => void;
  readonly pending: number;
}

/** More turns than this without any time passing are a loop. */
const patience = 10_000;

export function fakeTime(start: Millis): FakeTime {
  const tasks = new Set<{ at: Millis; task: () => void }>();
  let elapsed: Millis = 0;
  let clock = start;

  return {
    now: () => clock + elapsed,
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
        if (turns > patience) throw new Error('busy loop');
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
    setClock(time) {
      clock = time - elapsed;
    },
    get pending() {
      return tasks.size;
    },
  };

  /** Of those due at the same time the one scheduled first. */
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
