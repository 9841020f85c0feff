import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createMinuteSummary, type MinuteCounts, type MinuteOptions } from '../../../src/agent/telemetry/minute.ts';
import { fakeLog } from './fake-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function scene(start: MinuteCounts = {}, takeRepeated: MinuteOptions['takeRepeated'] = () => ({})) {
  const { log, entries } = fakeLog();
  const counts: Partial<Record<keyof MinuteCounts, number>> = { ...start };
  const summary = createMinuteSummary(log, { snapshot: () => ({ ...counts }), takeRepeated });
  return { entries, counts, summary, tick: () => vi.advanceTimersByTime(60_000) };
}

test('the line has the counts since the last line, in words and as fields', () => {
  const { entries, counts, tick } = scene();
  Object.assign(counts, { podLookupsFailed: 1, eventsWritten: 3, packetsDropped: 12 });
  tick();
  counts.eventsWritten = 4;
  tick();
  expect(entries).toEqual([
    {
      level: 'info',
      text: expect.stringMatching(/\b12\b.*\b3\b.*\b1\b/),
      fields: { packetsDropped: 12, eventsWritten: 3, podLookupsFailed: 1 },
    },
    { level: 'info', text: '1 Event written', fields: { eventsWritten: 1 } },
  ]);
});

test('without new counts no line is logged, and counts from before the start are not shown', () => {
  const { entries, counts, tick, summary } = scene({ packetsDropped: 7 });
  tick();
  expect(entries).toEqual([]);
  counts.packetsDropped = 8;
  summary.stop();
  expect(entries.map(({ text }) => text)).toEqual(['1 packet dropped']);
});

test('counts since the last line are logged at the end', () => {
  const { entries, counts, summary, tick } = scene();
  counts.packetsRejected = 2;
  summary.stop();
  tick();
  expect(entries.map(({ text }) => text)).toEqual(['2 packets rejected']);
});

test('problems without log lines are counted, the ten most frequent by name', () => {
  let repeated: Record<string, number> = { 'watch pods': 1 };
  const { entries, tick } = scene({}, () => repeated);
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

test('a line is logged once a minute', () => {
  const { entries, counts, summary } = scene();
  counts.packetsDropped = 1;
  vi.advanceTimersByTime(59_999);
  expect(entries).toHaveLength(0);
  vi.advanceTimersByTime(1);
  expect(entries).toHaveLength(1);
  summary.stop();
  expect(vi.getTimerCount()).toBe(0);
});

/** Counts the timers that the process waits for. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

test('the summary does not keep the process alive', () => {
  vi.useRealTimers();
  const before = timers();
  const { summary } = scene();
  expect(timers()).toBe(before);
  summary.stop();
});
