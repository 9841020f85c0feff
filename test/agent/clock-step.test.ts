import { appendFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stateOf } from '../count/series/state-of.ts';
import { openSources } from '../../src/agent/open-sources.ts';
import { createEventWriter } from '../../src/publish/events/event-writer.ts';
import { createPublisher } from '../../src/publish/events/publisher.ts';
import { createWriteBudget } from '../../src/publish/events/write-budget.ts';
import type { LogLine } from '../../src/base/model/log-line.ts';
import { type Clock, createSteadyClock } from '../../src/base/platform/clock.ts';
import { longestInterval, windowLength, windowOf } from '../../src/count/series/times.ts';
import { createSeriesTable } from '../../src/count/series/series.ts';
import { clampTimes } from '../../src/publish/state/state.ts';
import { createMemoryStore, keyOf } from '../publish/events/memory-store.ts';
import { finding, nine, podRef } from '../builders.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

const second = 1000;
const hour = 3600 * second;
const start = windowOf(nine, podRef().uid).end;
const path = temporaryFolder();

afterEach(() => {
  vi.useRealTimers();
});

const problem = (identity: string): ReturnType<typeof finding> => finding({ identity });

/** A clock whose wall part is stepped by `step`. */
function clockWith(steady: () => number): Clock & { step: (by: number) => void } {
  let stepped = 0;
  const clock = createSteadyClock(steady, () => steady() + stepped);
  return { ...clock, step: (by) => void (stepped += by) };
}

/** Counts and publishes for twenty minutes, during which the wall clock is stepped. */
async function publishFor(step: number): Promise<{ written: string[]; lastStamps: number[] }> {
  vi.useFakeTimers({ now: start });
  const clock = clockWith(Date.now);
  const store = createMemoryStore();
  const written: string[] = [];
  const table = createSeriesTable({ now: clock.now, onEarlier: () => publisher.wake() });
  const publisher = createPublisher({
    table,
    keep: async () => {},
    write: createEventWriter({ store, messageOf: () => '', stateId: 'ours', now: clock.now, toWall: clock.toWall }),
    report: {
      attempted({ verb, result, series }) {
        const after = Math.round((clock.now() - start) / second);
        written.push(`${after} s: ${verb} ${result} ${series.finding.identity} ${series.count}`);
      },
      abandoned: () => {},
    },
    now: clock.now,
    budget: createWriteBudget({
      limits: { all: { rate: 0.1, burst: 2 }, others: { rate: 0.1, burst: 2 }, hour: { rate: 1, burst: 1000 } },
    }),
  });
  void publisher.run();
  const countNow = (identity: string): void => table.count(problem(identity), clock.fromWall(clock.wall()));

  for (const identity of ['a', 'b']) countNow(identity);
  await vi.advanceTimersByTimeAsync(5 * second);
  for (const identity of ['a', 'c']) countNow(identity);
  clock.step(step);
  await vi.advanceTimersByTimeAsync(100 * second);
  // The stored Events have changed, so the publisher reads them and joins them with the counts from here.
  for (const key of store.events.keys()) store.touch(key);
  for (const identity of ['a', 'b', 'c']) countNow(identity);
  await vi.advanceTimersByTimeAsync(1100 * second);
  void publisher.stop(0);
  await vi.advanceTimersByTimeAsync(second);
  return { written, lastStamps: [...store.events.values()].map(({ lastTimestamp }) => Date.parse(lastTimestamp)) };
}

describe.each([8, -8])('the wall clock is stepped by %d h', (hours) => {
  test('no Event is written earlier, later, twice or under another name', async () => {
    const expected = await publishFor(0);
    expect(expected.written).toHaveLength(7);
    expect((await publishFor(hours * hour)).written).toEqual(expected.written);
  });

  test('an Event that is written after the step is stamped by the new wall clock', async () => {
    const [before, after] = [await publishFor(0), await publishFor(hours * hour)];
    expect(before.lastStamps).toHaveLength(3);
    expect(after.lastStamps).toEqual(before.lastStamps.map((stamp) => stamp + hours * hour));
  });

  test('a line is counted at the time that the steady clock showed when it was written', async () => {
    const file = path(`stepped-${hours}.log`);
    writeFileSync(file, '');
    const clock = clockWith(() => Math.floor(performance.timeOrigin + performance.now()));
    clock.step(hours * hour);
    const taken: LogLine[] = [];
    const { sources } = openSources({
      config: { sources: [{ kind: 'file', path: file }], timeZone: 'UTC', containers: [], podLogs: '', units: [] },
      positions: {},
      once: undefined,
      first: true,
      pipeline: { take: (line) => void taken.push(line), lost: () => {} },
      problems: { source: () => {}, lost: () => {} },
      clock,
    });
    for (const source of sources) source.start();
    onTestFinished(() => {
      for (const source of sources) source.stop();
    });
    const [stamp, steady] = [clock.wall() - 5 * second, clock.now() - 5 * second];
    const text = 'kernel: calico-packet: IN=eth0 OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2';
    await expect.poll(() => sources.map(({ state }) => state)).toEqual(['reading']);
    appendFileSync(file, `${new Date(stamp).toISOString()} node-a ${text}\n`);
    await expect.poll(() => taken).toHaveLength(1);
    expect(Math.abs((taken[0]?.time ?? 0) - steady)).toBeLessThan(second);
  });
});

test('without a step the stamps of lines stay as they are, to the millisecond', () => {
  let drift = 0;
  const clock = createSteadyClock(
    () => start,
    () => start + drift,
  );
  expect([clock.fromWall(start), clock.toWall(start)]).toEqual([start, start]);
  drift = 999;
  expect([clock.fromWall(start), clock.toWall(start)]).toEqual([start, start]);
  drift = 1000;
  expect([clock.fromWall(start), clock.toWall(start)]).toEqual([start - 1000, start + 1000]);
});

test('after a state was saved with a clock eight hours ahead, nothing waits longer than its limit', async () => {
  const store = createMemoryStore();
  let now = start + 8 * hour;
  const write = createEventWriter({ store, messageOf: () => '', stateId: 'ours', now: () => now });
  const publishDue = async (table: ReturnType<typeof createSeriesTable>): Promise<void> => {
    for (const series of table.due(now)) {
      const outcome = await write(series);
      if (outcome.kind === 'written') table.end(series, { kind: 'published', published: outcome.published });
    }
  };
  const ahead = createSeriesTable({ now: () => now });
  ahead.count(problem('a'), now);
  now += second;
  await publishDue(ahead);
  for (const identity of ['a', 'b']) ahead.count(problem(identity), now);

  const restored = stateOf(ahead);
  now = start;
  clampTimes(restored, now);
  const table = createSeriesTable({ restored, now: () => now });
  expect(table.nextDue()).toBeLessThanOrEqual(start + longestInterval);
  table.count(problem('a'), now);
  now += longestInterval;
  await publishDue(table);
  expect([...store.events.values()].map(({ count }) => count)).toEqual([3, 1]);
  // At the latest an hour later, problems count in an hour of the corrected clock.
  now = start + windowLength;
  table.count(problem('a'), now);
  now += second;
  await publishDue(table);
  expect([...store.events.values()].map(({ count }) => count)).toEqual([3, 1, 1]);
  expect(new Set([...store.events.values()].map(keyOf)).size).toBe(3);
});
