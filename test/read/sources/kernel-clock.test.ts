import { expect, test } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { createKernelClock, type KernelClock } from '../../../src/read/sources/kmsg/kernel-ring.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const hour: Millis = 3_600_000;

/**
 * A machine with three clocks that can be set: the wall clock, the time since boot, and the clock of the kernel's log.
 */
function machine(): KernelClock & { wall: Millis; monotonic: Millis } {
  const clocks = { wall: noon, monotonic: 10 * hour };
  return Object.assign(clocks, createKernelClock({ wall: () => clocks.wall, monotonic: () => clocks.monotonic }));
}

type Machine = ReturnType<typeof machine>;

function pass(clocks: Machine, time: Millis): void {
  clocks.wall += time;
  clocks.monotonic += time;
}

/** Reads a record that comes `after` milliseconds after the buffer was found empty; returns its time. */
function read(clocks: Machine, stamp: Millis, after: Millis): Millis {
  clocks.foundEmpty();
  pass(clocks, after);
  clocks.compare(stamp);
  return clocks.timeOf(stamp);
}

test('a stamp counts from boot', () => {
  expect(machine().timeOf(9 * hour)).toBe(noon - hour);
});

test('after the clock is set, both new and old records have the new time', () => {
  const clocks = machine();
  clocks.wall += hour;
  expect(clocks.timeOf(9 * hour)).toBe(noon);
});

test('the time is never later than now', () => {
  expect(machine().timeOf(11 * hour)).toBe(noon);
});

test.each<[string, Millis]>([
  ['slow', -3000],
  ['fast', 3000],
  ['a sleep behind', -8 * hour],
])('stamps that are off: %s: a record of this moment corrects them, and later stamps are right', (_, off) => {
  const clocks = machine();
  expect(read(clocks, clocks.monotonic + 50 + off, 50)).toBe(noon + 50);
  pass(clocks, hour);
  clocks.compare(clocks.monotonic - 2000 + off);
  expect(clocks.timeOf(clocks.monotonic - 2000 + off)).toBe(noon + 50 + hour - 2000);
});

test('an offset of up to a second may come from the time of reading', () => {
  const clocks = machine();
  expect(read(clocks, clocks.monotonic - 1000, 0)).toBe(noon - 1000);
  expect(read(clocks, clocks.monotonic - 1001, 0)).toBe(noon);
});

test('a record that may have waited does not correct the clock', () => {
  const clocks = machine();
  const stamp = clocks.monotonic - 3000;
  clocks.compare(stamp);
  expect(clocks.timeOf(stamp)).toBe(noon - 3000);
  expect(read(clocks, stamp, 251)).toBe(noon - 3000);
});

test('a line that the kernel finished late is corrected by the next one', () => {
  const clocks = machine();
  read(clocks, clocks.monotonic - hour, 0);
  clocks.compare(clocks.monotonic);
  expect(clocks.timeOf(clocks.monotonic)).toBe(noon);
  expect(clocks.timeOf(clocks.monotonic - 5000)).toBe(noon - 5000);
});

test('stamps that drift further are corrected again and again', () => {
  const clocks = machine();
  for (let off = 0; off > -20_000; off -= 700) {
    const time = read(clocks, clocks.monotonic + off, 0);
    expect(clocks.wall - time).toBeLessThanOrEqual(1000);
    pass(clocks, hour);
  }
});
