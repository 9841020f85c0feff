import { expect, test } from 'vitest';
import type { ToInstant } from '../../../src/base/log-formats/rfc3339.ts';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';

const tables: {
  years: [string, string, Fields, string][];
  none: [string, Fields][];
  zones: [string, number, string, Fields, string][];
} = {
  // Stamps without a year: when the log was last written, the stamp, and its time.
  years: [
    ['the same day', '2026-11-21T20:00:00Z', ['Nov', 21, 3, 42, 11], '2026-11-21T03:42:11.000Z'],
    ['just now', '2026-11-21T20:00:00Z', ['Nov', 21, 20, 0, 0], '2026-11-21T20:00:00.000Z'],
    ['earlier in the year', '2026-11-21T20:00:00Z', ['Jan', 1, 0, 0, 0], '2026-01-01T00:00:00.000Z'],
    ['of last December, read in January', '2027-01-02T08:00:00Z', ['Dec', 31, 23, 59, 59], '2026-12-31T23:59:59.000Z'],
    ['of this January, read in January', '2027-01-02T08:00:00Z', ['Jan', 1, 0, 0, 1], '2027-01-01T00:00:01.000Z'],
    [
      'of January, when the last write was in December',
      '2026-12-31T23:30:00Z',
      ['Jan', 1, 12, 0, 0],
      '2027-01-01T12:00:00.000Z',
    ],
    [
      'a little in the future: clocks differ',
      '2026-11-21T20:00:00Z',
      ['Nov', 22, 19, 0, 0],
      '2026-11-22T19:00:00.000Z',
    ],
    [
      'a day and more in the future: last year',
      '2026-11-21T20:00:00Z',
      ['Nov', 22, 20, 0, 1],
      '2025-11-22T20:00:01.000Z',
    ],
    ['29 February of this year', '2028-03-01T00:00:00Z', ['Feb', 29, 12, 0, 0], '2028-02-29T12:00:00.000Z'],
    ['29 February, years ago', '2027-03-01T00:00:00Z', ['Feb', 29, 12, 0, 0], '2024-02-29T12:00:00.000Z'],
    [
      '29 February over a century without one',
      '2104-01-01T00:00:00Z',
      ['Feb', 29, 12, 0, 0],
      '2096-02-29T12:00:00.000Z',
    ],
    ['1 March is never 29 February', '2027-03-02T00:00:00Z', ['Mar', 1, 12, 0, 0], '2027-03-01T12:00:00.000Z'],
  ],
  // Texts that are not stamps.
  none: [
    ['30 February', ['Feb', 30, 1, 1, 1]],
    ['31 November', ['Nov', 31, 1, 1, 1]],
    ['day 0', ['Nov', 0, 1, 1, 1]],
    ['no month', ['Foo', 1, 1, 1, 1]],
    ['a month in small letters', ['nov', 1, 1, 1, 1]],
    ['part of two months', ['anF', 1, 1, 1, 1]],
  ],
  // Zones by their hours east of Greenwich.
  zones: [
    ['east', 1, '2026-11-21T20:00:00Z', ['Nov', 21, 3, 42, 11], '2026-11-21T02:42:11.000Z'],
    ['west', -5, '2026-11-21T20:00:00Z', ['Nov', 21, 3, 42, 11], '2026-11-21T08:42:11.000Z'],
    ['already next year there', 14, '2026-12-31T20:00:00Z', ['Jan', 1, 5, 0, 0], '2026-12-31T15:00:00.000Z'],
    ['still last year there', -12, '2027-01-01T09:00:00Z', ['Dec', 31, 20, 0, 0], '2027-01-01T08:00:00.000Z'],
  ],
};

const hour = 3_600_000;

/** The wall clock of a zone this many hours east of Greenwich. */
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

test.each<[string, Fields]>(tables.none)('stamps without a year: %s is not a stamp', (_, fields) => {
  expect(yearless('2026-11-21T20:00:00Z', fields)).toBeUndefined();
});

test.each<[string, number, string, Fields, string]>(tables.zones)(
  'stamps without a year: in a zone %s (%i h)',
  (_, hours, latest, fields, expected) => {
    expect(yearless(latest, fields, east(hours))).toBe(expected);
  },
);

test('keeps the given zone, and uses UTC without one', () => {
  const zone = east(3);
  expect(createClock({ latest: 0, zone }).zone).toBe(zone);
  expect(createClock({ latest: 0 }).zone(2026, 10, 21, 3, 42, 11)).toBe(Date.parse('2026-11-21T03:42:11Z'));
});

test('a known boot time places stamps', () => {
  const clock = createClock({ latest: 99_000, boot: 1000, lastUptime: 50 });
  expect(clock.sinceBoot(0)).toStrictEqual({ time: 1000, exact: true });
  expect(clock.sinceBoot(2.5)).toStrictEqual({ time: 3500, exact: true });
});

test('a boot at time zero counts as known', () => {
  expect(createClock({ latest: 99_000, boot: 0 }).sinceBoot(2)).toStrictEqual({ time: 2000, exact: true });
});

test("stamps that count from the boot: guessed: the file's last stamp equals the file's last write", () => {
  const clock = createClock({ latest: 100_000, lastUptime: 60 });
  expect(clock.sinceBoot(10)).toStrictEqual({ time: 50_000, exact: false });
  expect(clock.sinceBoot(60)).toStrictEqual({ time: 100_000, exact: false });
});

test('stamps that count from the boot: guessed from the first stamp if the last is unknown, and the guess stays', () => {
  const clock = createClock({ latest: 100_000 });
  expect(clock.sinceBoot(10)).toStrictEqual({ time: 100_000, exact: false });
  expect(clock.sinceBoot(12)).toStrictEqual({ time: 102_000, exact: false });
  expect(clock.sinceBoot(9)).toStrictEqual({ time: 99_000, exact: false });
});
