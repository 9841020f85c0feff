import { expect, test } from 'vitest';
import { createRateLimitedLog } from '../../../src/agent/telemetry/logger.ts';
import { nine } from '../../builders.ts';
import { fakeLog } from './fake-log.ts';

const minute = 60_000;
const hour = 60 * minute;

function scene() {
  const { log, entries } = fakeLog();
  const time = { now: nine };
  return { entries, time, ...createRateLimitedLog(log, { now: () => time.now }) };
}

test('a problem is logged once, with level and fields', () => {
  const { entries, report } = scene();
  for (let i = 0; i < 5; i++) report('warn', 'watch pods', { i }, 'The watch of Pods ended');
  expect(entries).toEqual([
    { level: 'warn', text: 'The watch of Pods ended', fields: { problem: 'watch pods', i: 0 } },
  ]);
});

test('each key of a problem has its own line', () => {
  const { entries, report } = scene();
  report('warn', 'a', {}, 'A');
  report('error', 'b', {}, 'B');
  report('info', 'c', {}, 'C');
  expect(entries.map(({ level, text }) => [level, text])).toEqual([
    ['warn', 'A'],
    ['error', 'B'],
    ['info', 'C'],
  ]);
});

test('a problem is logged again after an hour, with the number of suppressed reports', () => {
  const { entries, time, report } = scene();
  for (let i = 0; i < 4; i++) report('warn', 'a', {}, 'A');
  time.now += hour - 1;
  report('warn', 'a', {}, 'A');
  expect(entries).toHaveLength(1);
  time.now += 1;
  report('error', 'a', { why: 'x' }, 'A still');
  expect(entries.slice(1)).toEqual([
    { level: 'error', text: 'A still', fields: { problem: 'a', why: 'x', repeated: 4 } },
  ]);
  time.now += hour;
  report('warn', 'a', {}, 'A');
  expect(entries.at(-1)?.fields).toEqual({ problem: 'a', repeated: 0 });
});

test('the end of a problem is logged once, and the problem is forgotten', () => {
  const { entries, report, resolve } = scene();
  resolve('a', 'A works again');
  expect(entries).toEqual([]);
  report('error', 'a', {}, 'A');
  report('error', 'a', {}, 'A');
  resolve('a', 'A works again');
  resolve('a', 'A works again');
  expect(entries.slice(1)).toEqual([{ level: 'info', text: 'A works again', fields: { problem: 'a', reports: 2 } }]);
  report('error', 'a', {}, 'A');
  resolve('a', 'and again');
  expect(entries.slice(2)).toEqual([
    { level: 'error', text: 'A', fields: { problem: 'a' } },
    { level: 'info', text: 'and again', fields: { problem: 'a', reports: 1 } },
  ]);
});

test('suppressed reports are counted until the counts are taken', () => {
  const { time, report, takeCounts } = scene();
  for (let i = 0; i < 4; i++) report('warn', 'a', {}, 'A');
  report('warn', 'b', {}, 'B');
  expect(takeCounts()).toEqual({ a: 3 });
  expect(takeCounts()).toEqual({});
  report('warn', 'a', {}, 'A');
  time.now += hour;
  report('warn', 'a', {}, 'A');
  expect(takeCounts()).toEqual({ a: 1 });
});

test('256 keys of problems are known; all others share one key', () => {
  const { entries, report, resolve, takeCounts } = scene();
  for (let i = 0; i < 300; i++) report('warn', `key ${i}`, {}, `text ${i}`);
  expect(entries).toHaveLength(257);
  expect(entries[256]).toEqual({
    level: 'warn',
    text: expect.stringContaining('256'),
    fields: { problem: 'other problems', example: 'key 256' },
  });
  expect(takeCounts()).toEqual({ 'other problems': 43 });
  // Known problems are still reported by name. One that is resolved makes room for another.
  report('warn', 'key 3', {}, '');
  resolve('key 3', '');
  report('warn', 'new', {}, 'New');
  expect(entries.at(-1)).toEqual({ level: 'warn', text: 'New', fields: { problem: 'new' } });
  report('warn', 'newer', {}, 'Newer');
  expect(takeCounts()).toEqual({ 'other problems': 1 });
});

test('keys of problems that were logged an hour ago make room for new ones', () => {
  const { entries, time, report, takeCounts } = scene();
  for (let i = 0; i < 257; i++) report('warn', `key ${i}`, {}, '');
  time.now += hour;
  report('warn', 'key 0', {}, '');
  entries.length = 0;
  // 255 of the 256 known problems have been silent for an hour.
  for (let i = 0; i < 256; i++) report('warn', `new ${i}`, {}, 'New');
  expect(entries.filter(({ text }) => text === 'New')).toHaveLength(255);
  expect(entries.at(-1)).toMatchObject({ fields: { example: 'new 255', repeated: 0 } });
  report('warn', 'key 0', {}, '');
  expect(takeCounts()).toEqual({ 'key 0': 1 });
});
