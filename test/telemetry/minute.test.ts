import { afterEach, expect, test, vi } from 'vitest';
import { createMinuteSummary, type MinuteCounts, type MinuteOptions } from '../../src/telemetry/minute.ts';
import { fakeLog } from './fake-log.ts';

function scene(start: MinuteCounts = {}, options: Partial<MinuteOptions> = {}) {
  const { log, entries } = fakeLog();
  const counts: Partial<Record<keyof MinuteCounts, number>> = { ...start };
  let run: (() => void) | undefined;
  let interval = 0;
  let cancelled = false;
  const summary = createMinuteSummary(log, {
    snapshot: () => counts,
    schedule(given, every) {
      run = given;
      interval = every;
      return () => (cancelled = true);
    },
    ...options,
  });
  return { entries, counts, summary, tick: () => run?.(), interval: () => interval, cancelled: () => cancelled };
}

test('a line shows what was counted since the last line, in words and as fields', () => {
  const { entries, counts, tick } = scene();
  Object.assign(counts, { podLookupsFailed: 1, eventsWritten: 3, packetsDropped: 12 });
  tick();
  counts.eventsWritten = 4;
  tick();
  expect(entries).toEqual([
    {
      level: 'info',
      text: '12 packets dropped, 3 Events written, 1 look-up of a Pod failed',
      fields: { packetsDropped: 12, eventsWritten: 3, podLookupsFailed: 1 },
    },
    { level: 'info', text: '1 Event written', fields: { eventsWritten: 1 } },
  ]);
});

test('is silent when nothing was counted', () => {
  const { entries, tick, summary } = scene({ packetsDropped: 7 });
  tick();
  summary.stop();
  expect(entries).toEqual([]);
});

test('what was counted before the start is not shown', () => {
  const { entries, counts, tick } = scene({ packetsDropped: 7 });
  counts.packetsDropped = 8;
  tick();
  expect(entries.map(({ text }) => text)).toEqual(['1 packet dropped']);
});

test('the rest is logged at the end', () => {
  const { entries, counts, summary, cancelled } = scene();
  counts.packetsRejected = 2;
  expect(cancelled()).toBe(false);
  summary.stop();
  expect(cancelled()).toBe(true);
  expect(entries.map(({ text }) => text)).toEqual(['2 packets rejected']);
});

test('problems that were not logged are counted, the ten most frequent by name', () => {
  let repeated: Record<string, number> = { 'watch pods': 1 };
  const { entries, tick } = scene({}, { takeRepeated: () => repeated });
  tick();
  repeated = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`key ${i}`, i + 1]));
  tick();
  repeated = {};
  tick();
  expect(entries.map(({ text }) => text)).toEqual(['1 repeated problem', '78 repeated problems']);
  expect(entries[0]?.fields).toEqual({ repeatedProblems: [{ key: 'watch pods', times: 1 }] });
  const repeatedProblems = entries[1]?.fields['repeatedProblems'] as unknown[];
  expect(repeatedProblems).toHaveLength(10);
  expect(repeatedProblems[0]).toEqual({ key: 'key 11', times: 12 });
});

test('is made every minute, or as often as asked', () => {
  expect(scene().interval()).toBe(60_000);
  expect(scene({}, { interval: 5000 }).interval()).toBe(5000);
});

afterEach(() => {
  vi.useRealTimers();
});

test('by itself it goes by the clock', () => {
  vi.useFakeTimers();
  const { entries, counts, summary } = scene({}, { schedule: undefined });
  counts.packetsDropped = 1;
  vi.advanceTimersByTime(59_999);
  expect(entries).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(entries).toHaveLength(1);
  summary.stop();
  expect(vi.getTimerCount()).toBe(0);
});

/** That the process waits for. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

test('keeps no process alive', () => {
  const before = timers();
  const { summary } = scene({}, { schedule: undefined });
  expect(timers()).toBe(before);
  summary.stop();
});
