import type { Millis } from '../../src/base/model/log-line.ts';
import type { Clock } from '../../src/base/platform/clock.ts';
import type { Schedule } from '../../src/base/platform/timer.ts';

export type VirtualTime = ReturnType<typeof createVirtualTime>;

interface Task {
  at: Millis;
  /** Undefined if it was cancelled. */
  run: (() => void) | undefined;
}

/**
 * A discrete-event scheduler: time passes only from one scheduled task to the next. Times are whole milliseconds, so
 * everything in the same millisecond shares one turn of the event loop.
 */
export function createVirtualTime(start: Millis) {
  const heap = createHeap();
  let time = start;
  const now = (): Millis => time;

  const schedule: Schedule = (run, delay) => {
    const task: Task = { at: time + Math.max(0, Math.ceil(delay)), run };
    heap.push(task);
    return () => {
      task.run = undefined;
    };
  };

  /** The steady and the wall clock at once, which are never corrected. */
  const clock: Clock = { now, wall: now, fromWall: (stamp) => stamp, toWall: (at) => at };

  return {
    clock,
    now,
    schedule,
    pause: (duration: Millis): Promise<void> => new Promise((resolve) => void schedule(resolve, duration)),
    /** Runs the tasks scheduled up to and including `end`, in order of time, and the promises that they resolve. */
    async runUntil(end: Millis): Promise<void> {
      await settled();
      for (let next = heap.first(); next !== undefined && next.at <= end; next = heap.first()) {
        time = next.at;
        while (next?.at === time) {
          heap.shift();
          next.run?.();
          next = heap.first();
        }
        await settled();
      }
      time = end;
    },
  };
}

/** Resolves once no promise can continue without time passing. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** A binary heap by time; tasks of the same time come out in the order in which they were added. */
function createHeap() {
  const tasks: { task: Task; order: number }[] = [];
  let pushed = 0;

  return {
    first: (): Task | undefined => tasks[0]?.task,
    push(task: Task): void {
      const entry = { task, order: pushed++ };
      let place = tasks.length;
      while (place > 0) {
        const above = (place - 1) >> 1;
        const parent = tasks[above];
        if (parent === undefined || isBefore(parent, entry)) break;
        tasks[place] = parent;
        place = above;
      }
      tasks[place] = entry;
    },
    shift(): void {
      const last = tasks.pop();
      if (last === undefined || tasks.length === 0) return;
      let place = 0;
      for (;;) {
        const left = 2 * place + 1;
        const right = left + 1;
        const [leftEntry, rightEntry] = [tasks[left], tasks[right]];
        const isRight = rightEntry !== undefined && leftEntry !== undefined && isBefore(rightEntry, leftEntry);
        const least = isRight ? rightEntry : leftEntry;
        if (least === undefined || isBefore(last, least)) break;
        tasks[place] = least;
        place = isRight ? right : left;
      }
      tasks[place] = last;
    },
  };
}

function isBefore(a: { task: Task; order: number }, b: { task: Task; order: number }): boolean {
  return a.task.at < b.task.at || (a.task.at === b.task.at && a.order < b.order);
}
