import { expect, test } from 'vitest';
import { humanDuration } from '../../src/base/platform/duration.ts';
import { alignColumns, describeEvents } from '../../src/cli/describe.ts';
import { eventOf } from '../../src/publish/events/event.ts';
import { nine, series } from '../builders.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** TestHumanDurationBoundaries of k8s.io/apimachinery/pkg/util/duration. */
test.each([
  [-2 * second, '<invalid>'],
  [-2 * second + 1, '0s'],
  [0, '0s'],
  [second - 1, '0s'],
  [2 * minute - 1, '119s'],
  [2 * minute, '2m'],
  [2 * minute + second, '2m1s'],
  [10 * minute - 1, '9m59s'],
  [10 * minute, '10m'],
  [10 * minute + second, '10m'],
  [3 * hour - 1, '179m'],
  [3 * hour, '3h'],
  [3 * hour + minute, '3h1m'],
  [8 * hour - 1, '7h59m'],
  [8 * hour, '8h'],
  [8 * hour + 59 * minute, '8h'],
  [2 * day - 1, '47h'],
  [2 * day, '2d'],
  [2 * day + hour, '2d1h'],
  [8 * day - 1, '7d23h'],
  [8 * day, '8d'],
  [8 * day + 23 * hour, '8d'],
  [2 * year - 1, '729d'],
  [2 * year, '2y'],
  [2 * year + 23 * hour, '2y'],
  [2 * year + 23 * hour + 59 * minute, '2y'],
  [2 * year + 2 * day - 1, '2y1d'],
  [2 * year + 2 * day, '2y2d'],
  [2 * year + 3 * day, '2y3d'],
  [8 * year - 1, '7y364d'],
  [8 * year, '8y'],
  [8 * year + 364 * day, '8y'],
  [9 * year, '9y'],
])('%d ms is %s', (millis, expected) => {
  expect(humanDuration(millis)).toBe(expected);
});

test('each column is as wide as its widest cell, and the last one is not padded', () => {
  expect(
    alignColumns([
      ['a', 'bbb', 'c'],
      ['aaaa', 'b', 'cccccc'],
    ]),
  ).toEqual(['a     bbb  c', 'aaaa  b    cccccc']);
});

test('alignColumns counts characters, not UTF-16 units', () => {
  expect(
    alignColumns([
      ['🐳', 'x'],
      ['ab', 'x'],
    ]),
  ).toEqual(['🐳   x', 'ab  x']);
});

const event = (given: Parameters<typeof series>[0], message: string, now: number): ReturnType<typeof eventOf> =>
  eventOf(series(given), message, now);

test('describeEvents prints the same as kubectl describe, last seen last', () => {
  const repeated = event(
    {
      count: 9,
      first: nine,
      last: nine + minute,
      published: { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
    },
    'second ',
    nine + minute,
  );
  const single = event({ count: 1, first: nine + 30 * second, last: nine + 30 * second }, 'first', nine + 31 * second);
  expect(describeEvents([repeated, single], nine + minute)).toBe(
    [
      'Events:',
      '  Type     Reason      Age               From                   Message',
      '  ----     ------      ----              ----                   -------',
      '  Warning  PacketDrop  30s               kube-netfilter-tailer  first',
      '  Warning  PacketDrop  0s (x9 over 60s)  kube-netfilter-tailer  second',
      '',
    ].join('\n'),
  );
  const twins = ['b', 'a'].map((name) => Object.assign(structuredClone(single), { message: name, metadata: { name } }));
  expect(describeEvents(twins, nine)).toMatch(/ a\n.* b\n$/);
});
