import { expect, test } from 'vitest';
import { createVirtualTime } from './virtual-time.ts';

test('tasks run in the order of their times, those of one time in the order in which they were scheduled', async () => {
  const time = createVirtualTime(1000);
  const ran: string[] = [];
  const note = (name: string) => () => void ran.push(`${name} ${time.now()}`);
  for (const [name, delay] of [
    ['c', 30],
    ['a', 10],
    ['d', 30],
    ['b', 20.2],
  ] as const)
    time.schedule(note(name), delay);
  time.schedule(note('called off'), 15)();
  await time.runUntil(1030);
  expect(ran).toEqual(['a 1010', 'b 1021', 'c 1030', 'd 1030']);
  expect(time.now()).toBe(1030);
});

test('what a promise goes on with has its turn before time passes', async () => {
  const time = createVirtualTime(0);
  const ran: number[] = [];
  void (async () => {
    for (let step = 0; step < 3; step++) {
      await time.pause(5);
      await Promise.resolve();
      ran.push(time.now());
    }
  })();
  await time.runUntil(12);
  expect(ran).toEqual([5, 10]);
});

test('thousands of tasks come out sorted', async () => {
  const time = createVirtualTime(0);
  const ran: number[] = [];
  for (let number = 0; number < 5000; number++) {
    const at = (number * 7919) % 5003;
    time.schedule(() => void ran.push(at), at);
  }
  await time.runUntil(6000);
  expect(ran).toEqual(ran.toSorted((a, b) => a - b));
  expect(ran).toHaveLength(5000);
});
