import { expect, test } from 'vitest';
import type { ToInstant } from '../../../src/base/log-formats/rfc3339.ts';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  years: [string, string, Fields, string][];
  none: [string, Fields][];
  zones: [string, number, string, Fields, string][];
};

const hour = 3_600_000;

/** The wall clock of a zone so many hours east of Greenwich. */
const east =
  (hours: number): ToInstant =>
  (...fields) =>
    Date.UTC(...fields) - hours * hour;

type Fields = [month: string, date: number, hours: number, minutes: number, seconds: number];

function yearless(latest: string, fields: Fields, zone?: ToInstant): string | undefined {
  const time = createClock({ latest: Date.parse(latest), ...(zone ? { zone } : {}) }).yearless(...fields);
  return time === undefined ? undefined : new Date(time).toISOString();
}

test.each<[string, string, Fields, string]>(tables.years)(
  'stamps without a year: %s',
  (_, latest, fields, expected) => {
    expect(yearless(latest, fields)).toBe(expected);
  },
);

test.each<[string, Fields]>(tables.none)('stamps without a year: %s is none', (_, fields) => {
  expect(yearless('2026-11-21T20:00:00Z', fields)).toBeUndefined();
});

test.each<[string, number, string, Fields, string]>(tables.zones)(
  'stamps without a year: in a zone %s (%i h)',
  (_, hours, latest, fields, expected) => {
    expect(yearless(latest, fields, east(hours))).toBe(expected);
  },
);

test('keeps the zone it was given, and takes UTC without one', () => {
  const zone = east(3);
  expect(createClock({ latest: 0, zone }).zone).toBe(zone);
  expect(createClock({ latest: 0 }).zone(2026, 10, 21, 3, 42, 11)).toBe(Date.parse('2026-11-21T03:42:11Z'));
});

test('a known boot time places stamps', () => {
  const clock = createClock({ latest: 99_000, boot: 1000, lastUptime: 50 });
  expect(clock.sinceBoot(0)).toStrictEqual({ time: 1000, exact: true });
  expect(clock.sinceBoot(2.5)).toStrictEqual({ time: 3500, exact: true });
});

test('a boot at the beginning of time is known too', () => {
  expect(createClock({ latest: 99_000, boot: 0 }).sinceBoot(2)).toStrictEqual({ time: 2000, exact: true });
});

test('stamps that count from the boot: guessed: the last stamp of the file is as late as the file', () => {
  const clock = createClock({ latest: 100_000, lastUptime: 60 });
  expect(clock.sinceBoot(10)).toStrictEqual({ time: 50_000, exact: false });
  expect(clock.sinceBoot(60)).toStrictEqual({ time: 100_000, exact: false });
});

test('stamps that count from the boot: guessed from the first stamp seen when the last is not known, and the guess stays', () => {
  const clock = createClock({ latest: 100_000 });
  expect(clock.sinceBoot(10)).toStrictEqual({ time: 100_000, exact: false });
  expect(clock.sinceBoot(12)).toStrictEqual({ time: 102_000, exact: false });
  expect(clock.sinceBoot(9)).toStrictEqual({ time: 99_000, exact: false });
});
