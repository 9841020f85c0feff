import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createArrivals } from '../../../src/base/platform/arrivals.ts';
import type { Schedule } from '../../../src/base/platform/timer.ts';
import { forAll } from '../../for-all.ts';

/** An event loop with turns of one millisecond. In each turn something may arrive before tasks are called. */
function loop(arrives: (turn: number) => boolean) {
  let turn = 0;
  let time = 0;
  let tasks: { task: () => void; at: number }[] = [];
  const schedule: Schedule = (task, delay) => {
    const entry = { task, at: time + delay };
    tasks.push(entry);
    return () => void (tasks = tasks.filter((each) => each !== entry));
  };
  const arrivals = createArrivals(schedule, () => time);
  return {
    arrivals,
    get time() {
      return time;
    },
    work: (duration: number): void => void (time += duration),
    run: (turns: number): void => {
      for (const end = turn + turns; turn < end; turn++) {
        time++;
        if (arrives(turn)) arrivals.note();
        const due = tasks.filter(({ at }) => at <= time);
        tasks = tasks.filter(({ at }) => at > time);
        for (const { task } of due) task();
      }
    },
  };
}

test('a task runs in its turn if no connection arrives, also after a delay', () => {
  const { arrivals, run } = loop(() => false);
  const ran: string[] = [];
  arrivals.schedule(() => ran.push('at once'), 0);
  arrivals.schedule(() => ran.push('late'), 3);
  run(1);
  expect(ran).toStrictEqual(['at once']);
  run(2);
  expect(ran).toStrictEqual(['at once', 'late']);
});

test('a waiting task can be cancelled like any other', () => {
  const { arrivals, run } = loop(() => true);
  const cancel = arrivals.schedule(() => expect.unreachable(), 0);
  run(2);
  cancel();
  run(20);
});

test('while connections keep arriving, they get about half of the time, however long tasks take', () => {
  const lengths = fc.array(fc.integer({ min: 4, max: 50 }), { minLength: 20, maxLength: 40 });
  forAll([lengths], {}, (durations) => {
    const clients = loop(() => true);
    const { arrivals, run, work } = clients;
    let [worked, ran] = [0, 0];
    const task = (): void => {
      const duration = durations[ran++] ?? 0;
      work(duration);
      worked += duration;
      if (ran < durations.length) arrivals.schedule(task, 0);
    };
    arrivals.schedule(task, 0);
    for (let turns = 0; ran < durations.length; turns++) {
      expect(turns).toBeLessThan(10_000);
      run(1);
    }
    const waited = clients.time - worked;
    const longest = Math.max(...durations);
    expect(waited).toBeGreaterThanOrEqual(worked - longest);
    expect(waited).toBeLessThanOrEqual(worked + longest + 2 * durations.length);
  });
});
