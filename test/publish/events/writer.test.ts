import { expect, test } from 'vitest';
import { createWriter } from '../../../src/publish/events/writer.ts';

const second = 1000;

/** Writes end, and time passes, when a test says so. */
function rig() {
  let time = 0;
  let tasks: { at: number; task: () => void }[] = [];
  const ends = new Map<string, () => void>();
  const inFlight = createWriter<{ namespace: string }>({
    write({ namespace }) {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(namespace, resolve);
      return promise;
    },
    now: () => time,
    schedule(task, delay) {
      const entry = { at: time + delay, task };
      tasks.push(entry);
      return () => void (tasks = tasks.filter((each) => each !== entry));
    },
  });
  return {
    inFlight,
    writeAll: (...items: string[]) =>
      inFlight.writeAll(
        items.map((namespace) => ({ namespace })),
        () => true,
      ),
    pass: async (milliseconds: number): Promise<void> => {
      time += milliseconds;
      const due = tasks.filter(({ at }) => at <= time);
      tasks = tasks.filter(({ at }) => at > time);
      for (const { task } of due) task();
      await settle();
    },
    end: async (item: string): Promise<void> => {
      ends.get(item)?.();
      await settle();
    },
    /** When the namespace may be written, in milliseconds from now. */
    busyFor: (key: string) => {
      const until = inFlight.busyUntil(key);
      return until === undefined ? undefined : until - time;
    },
  };
}

const settle = (): Promise<void> => new Promise(setImmediate);

test('after a write to a namespace, the next follows after a second or, if it took longer, after that time', async () => {
  const { writeAll, pass, end, busyFor } = rig();
  void writeAll('a');
  expect([busyFor('a'), busyFor('b')]).toEqual([second, undefined]);
  await pass(5 * second);
  expect(busyFor('a')).toBe(5 * second);
  await end('a');
  expect(busyFor('a')).toBeUndefined();
});

test('a recently slow namespace waits while eight others are slow, for at most a minute', async () => {
  const { inFlight, writeAll, pass, end, busyFor } = rig();
  void writeAll('late');
  await pass(second);
  await end('late');
  void writeAll(...Array.from({ length: 8 }, (_, index) => `hung-${index}`));
  expect([inFlight.size, busyFor('late')]).toEqual([4, undefined]);
  await pass(second);
  expect([inFlight.size, busyFor('late')]).toEqual([8, undefined]);
  await pass(second);
  expect([busyFor('late'), busyFor('other')]).toEqual([second, undefined]);
  await end('hung-3');
  expect(busyFor('late')).toBeUndefined();
  void writeAll('hung-8');
  await pass(second);
  expect(busyFor('late')).toBe(second);
  await pass(60 * second);
  expect(busyFor('late')).toBeUndefined();
});

test('a ninth slow write begins as soon as one of the eight ends', async () => {
  const { inFlight, writeAll, pass, end } = rig();
  void writeAll(...Array.from({ length: 13 }, (_, index) => `hung-${index}`));
  for (let seconds = 0; seconds < 3; seconds++) await pass(second);
  expect([inFlight.size, inFlight.busyUntil('hung-12')]).toEqual([12, undefined]);
  await end('hung-0');
  expect(inFlight.busyUntil('hung-12')).toBe(4 * second);
});

test('a series that may not be written is not begun, and is returned', async () => {
  const { inFlight } = rig();
  expect(await inFlight.writeAll([{ namespace: 'a' }], () => false)).toEqual([{ namespace: 'a' }]);
  expect(inFlight.size).toBe(0);
});
