import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import {
  dueAfter,
  isQuiet,
  laneOf,
  readSpreadOf,
  spreadOf,
  windowLength,
  windowOf,
} from '../../../src/count/series/times.ts';
import { finding, incident, incidentDetails, nine, series } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const tables: { waits: { writes: number; wait: number }[] } = {
  // Writes of an Event, and the seconds until the next.
  waits: [
    { writes: 1, wait: 30 },
    { writes: 2, wait: 60 },
    { writes: 3, wait: 120 },
    { writes: 4, wait: 240 },
    { writes: 5, wait: 480 },
    { writes: 6, wait: 900 },
    { writes: 7, wait: 900 },
    { writes: 100, wait: 900 },
  ],
};

const second = 1000;

test('the first write is a second after the first packet', () => {
  expect(dueAfter(series(), nine)).toBe(nine + second);
});

test.each(tables.waits)('after write $writes the next is $wait s later', ({ writes, wait }) => {
  const goingOn = { last: nine + wait * second, count: 1000 };
  const written = series({
    ...goingOn,
    published: { count: 1, writes, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
  });
  expect(dueAfter(written, nine + second)).toBe(nine + wait * second);
});

test('after a pause longer than the wait, the next write is again a second after the packet', () => {
  const written = series({
    published: { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined },
  });
  expect(dueAfter(written, nine + 3600 * second)).toBe(nine + 3601 * second);
});

test.each([
  { what: 'many packets in a minute: a minute', first: 0, count: 10_000, wait: 60 },
  { what: 'a packet every twenty seconds: four of its pauses', first: -2000, count: 100, wait: 80 },
  { what: 'a packet every ten minutes: three minutes', first: -6000, count: 10, wait: 180 },
])('a flow is over after $what', ({ first, count, wait }) => {
  const over = series({
    first: nine + first * second,
    last: nine,
    count,
    published: { count: 1, writes: 9, at: nine - 100 * second, suppressed: false, base: 0, resourceVersion: undefined },
  });
  expect(dueAfter(over, nine)).toBe(nine + wait * second);
  expect(isQuiet(over, nine + wait * second - 1)).toBe(false);
  expect(isQuiet(over, nine + wait * second)).toBe(true);
});

test('first writes on 5,000 nodes are spread over half a minute for drops and over more than a minute for incidents, reads for incidents over 10 s', () => {
  expect(readSpreadOf(5000)).toBe(10 * second);
  expect(spreadOf({ finding: finding() }, 5000)).toBe(30 * second);
  expect(spreadOf({ finding: incident() }, 5000)).toBe(75 * second);
});

const laneOfRole = (role: 'full' | 'pod-notice'): number =>
  laneOf(series({ finding: incident({ details: incidentDetails({ role }) }) }), nine);

test('an Event that only notifies a Pod of an incident waits for the updates of drops', () => {
  const published = { count: 1, writes: 1, at: nine, suppressed: false, base: 0, resourceVersion: undefined };
  const update = laneOf(series({ published }), nine);
  expect(laneOfRole('full')).toBeLessThan(update);
  expect(laneOfRole('pod-notice')).toBeGreaterThan(update);
});

test('on three nodes an Event is hardly delayed', () => {
  expect(spreadOf({ finding: incident() }, 3)).toBeLessThan(100);
});

test('a series has the same delay the first time and each time after', () => {
  let spread = 0;
  const table = createSeriesTable({ spread: () => spread });
  spread = 7 * second;
  table.count(finding(), nine);
  expect(table.nextDue()).toBe(nine + 8 * second);
  const turn = table.next(nine + 8 * second);
  if (turn === undefined) throw new Error('nothing is due');
  const written = { ...turn.series.published, count: 1, writes: 1, at: nine + 8 * second };
  table.end(turn.series, { kind: 'published', published: written });
  spread = 20 * second;
  table.count(finding(), nine + 9 * second);
  expect(table.nextDue()).toBe(nine + 8 * second + 30 * second + 20 * second);
});

const anyTime = fc.integer({ min: 0, max: 4_000_000_000_000 });

test('a window lasts an hour', () => {
  expect(windowLength).toBe(3_600_000);
});

test('every time lies in exactly one window, which lasts an hour', () => {
  forAll([anyTime, fc.string()], {}, (time, uid) => {
    const { number, end } = windowOf(time, uid);
    expect(time).toBeLessThan(end);
    expect(time).toBeGreaterThanOrEqual(end - windowLength);
    expect(windowOf(end - 1, uid)).toEqual({ number, end });
    expect(windowOf(end, uid)).toEqual({ number: number + 1, end: end + windowLength });
  });
});

test('objects change windows at different minutes', () => {
  const ends = ['a', 'b', 'c', 'd', 'e'].map((uid) => windowOf(nine, uid).end);
  expect(new Set(ends).size).toBe(ends.length);
});

test('stays the same after a restart', () => {
  // SHA-256("uid-of-web-0") begins with 0xc0e9abeb: the phase is that number modulo an hour.
  expect(windowOf(0, 'uid-of-web-0').end).toBe(windowLength - (0xc0e9abeb % windowLength));
});
