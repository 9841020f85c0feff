import { expect, test } from 'vitest';
import { createRateLimitedLog } from '../../src/telemetry/rate-limited-log.ts';
import { nine } from '../builders.ts';
import { fakeLog } from './fake-log.ts';

const minute = 60_000;
const hour = 60 * minute;

function scene() {
  const { log, said } = fakeLog();
  const time = { now: nine };
  return { said, time, ...createRateLimitedLog(log, { now: () => time.now }) };
}

test('says it once, with level and fields', () => {
  const { said, complain } = scene();
  for (let i = 0; i < 5; i++) complain('warn', 'watch pods', { i }, 'The watch of Pods ended');
  expect(said).toEqual([{ level: 'warn', text: 'The watch of Pods ended', fields: { i: 0 } }]);
});

test('each key has a line of its own', () => {
  const { said, complain } = scene();
  complain('warn', 'a', {}, 'A');
  complain('error', 'b', {}, 'B');
  complain('info', 'c', {}, 'C');
  expect(said.map(({ level, text }) => [level, text])).toEqual([
    ['warn', 'A'],
    ['error', 'B'],
    ['info', 'C'],
  ]);
});

test('says it again after an hour, with how often it was not said', () => {
  const { said, time, complain } = scene();
  for (let i = 0; i < 4; i++) complain('warn', 'a', {}, 'A');
  time.now += hour - 1;
  complain('warn', 'a', {}, 'A');
  expect(said).toHaveLength(1);
  time.now += 1;
  complain('error', 'a', { why: 'x' }, 'A still');
  expect(said.slice(1)).toEqual([{ level: 'error', text: 'A still', fields: { why: 'x', repeated: 4 } }]);
  time.now += hour;
  complain('warn', 'a', {}, 'A');
  expect(said.at(-1)?.fields).toEqual({ repeated: 0 });
});

test('a clock that was set back does not silence it for longer', () => {
  const { said, time, complain } = scene();
  complain('warn', 'a', {}, 'A');
  time.now -= 24 * hour;
  complain('warn', 'a', {}, 'A');
  complain('warn', 'a', {}, 'A');
  expect(said).toHaveLength(2);
});

test('what is well again is said once and forgotten', () => {
  const { said, complain, settled } = scene();
  settled('a');
  expect(said).toEqual([]);
  complain('error', 'a', {}, 'A');
  complain('error', 'a', {}, 'A');
  settled('a', 'A works again');
  settled('a', 'A works again');
  expect(said.slice(1)).toEqual([{ level: 'info', text: 'A works again', fields: { complaints: 2 } }]);
  complain('error', 'a', {}, 'A');
  settled('a');
  expect(said.slice(2)).toEqual([
    { level: 'error', text: 'A', fields: {} },
    { level: 'info', text: 'a: well again', fields: { complaints: 1 } },
  ]);
});

test('counts what it did not say, until that is taken', () => {
  const { time, complain, takeCounts } = scene();
  for (let i = 0; i < 4; i++) complain('warn', 'a', {}, 'A');
  complain('warn', 'b', {}, 'B');
  expect(takeCounts()).toEqual({ a: 3 });
  expect(takeCounts()).toEqual({});
  complain('warn', 'a', {}, 'A');
  time.now += hour;
  complain('warn', 'a', {}, 'A');
  expect(takeCounts()).toEqual({ a: 1 });
});

test('takes 256 keys; what is past them is one', () => {
  const { said, complain, settled, takeCounts } = scene();
  for (let i = 0; i < 300; i++) complain('warn', `key ${i}`, {}, `text ${i}`);
  expect(said).toHaveLength(257);
  expect(said[256]).toEqual({
    level: 'warn',
    text: 'More than 256 different complaints; the rest is only counted',
    fields: { example: 'key 256' },
  });
  expect(takeCounts()).toEqual({ 'other complaints': 43 });
  // Known ones are still known, and one that is well again makes room.
  complain('warn', 'key 3', {}, '');
  settled('key 3');
  complain('warn', 'new', {}, 'New');
  expect(said.at(-1)).toEqual({ level: 'warn', text: 'New', fields: {} });
  complain('warn', 'newer', {}, 'Newer');
  expect(takeCounts()).toEqual({ 'other complaints': 1 });
});

test('keys of the past make room for new ones', () => {
  const { said, time, complain, takeCounts } = scene();
  for (let i = 0; i < 257; i++) complain('warn', `key ${i}`, {}, '');
  time.now += hour;
  complain('warn', 'key 0', {}, '');
  said.length = 0;
  // 255 of the 256 have been silent for an hour.
  for (let i = 0; i < 256; i++) complain('warn', `new ${i}`, {}, 'New');
  expect(said.filter(({ text }) => text === 'New')).toHaveLength(255);
  expect(said.at(-1)).toMatchObject({ fields: { example: 'new 255', repeated: 0 } });
  complain('warn', 'key 0', {}, '');
  expect(takeCounts()).toEqual({ 'key 0': 1 });
});
