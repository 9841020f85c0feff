/** Time stamps: RFC 3339, its variants in loggers, and the fields that all stamps have. */
import type { Millis } from '../model/log-line.ts';

type Field = string | undefined;

/** Turns wall-clock fields into an instant; `Date.UTC` is one, local time another. `month` counts from 0. */
export type ToInstant = (
  year: number,
  month: number,
  date: number,
  hours: number,
  minutes: number,
  seconds: number,
) => Millis;

/** logrus writes a space and `,` (as dmesg does) where RFC 3339 has `T` and `.`, svlogd `_`, and some leave the zone out. */
export const stamp = /^(\d{4})-(\d{2})-(\d{2})([T _])(\d{2}):(\d{2}):(\d{2})([.,]\d{1,9})?(Z|[+-]\d{2}:?\d{2})?/;

/** Returns undefined if a field is out of range. `zone` is for a stamp without one. */
export function timeOfStamp(found: RegExpExecArray, zone: ToInstant = Date.UTC): Millis | undefined {
  const [, year, month, date, , hours, minutes, seconds, fraction, offset] = found;
  return instantOf(zoneOf(offset, zone), year, month, date, hours, minutes, seconds, fraction);
}

/** Reads a complete RFC 3339 stamp at the beginning of a text; `length` is in characters. */
export function readRfc3339(text: string): { time: Millis; length: number } | undefined {
  const found = stamp.exec(text);
  if (found?.[4] !== 'T' || found[9] === undefined || found[8]?.startsWith(',') === true) return undefined;
  const time = timeOfStamp(found);
  return time === undefined ? undefined : { time, length: found[0].length };
}

/** Reads the fields of a date in a zone; undefined if one is out of range. `month`: as in `monthIndex`. */
export function instantOf(
  toInstant: ToInstant,
  year: Field,
  month: Field,
  date: Field,
  hours: Field,
  minutes: Field,
  seconds: Field,
  fraction?: Field,
): Millis | undefined {
  const index = monthIndex(month ?? '');
  const fields = [Number(date), Number(hours), Number(minutes), Number(seconds)] as const;
  if (index === undefined || !isTime(...fields)) return undefined;
  return toInstant(Number(year), index, ...fields) + fractionOf(fraction);
}

/** The months as syslog and dmesg write them in every locale. */
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns the index of a month, from 0. Reads its number, from 1, or its English name. */
export function monthIndex(month: string): number | undefined {
  const number = Number(month);
  if (number >= 1 && number <= 12) return number - 1;
  const at = months.indexOf(month);
  return at < 0 ? undefined : at;
}

export function isTime(date: number, hours: number, minutes: number, seconds: number): boolean {
  return date >= 1 && date <= 31 && hours < 24 && minutes < 60 && seconds <= 60;
}

/** Reads `Z`, `UTC`, `+02:00`, `-0600`, `+02`. */
export function zoneOf(zone: Field, withoutZone: ToInstant): ToInstant {
  if (zone === 'Z' || zone === 'UTC') return Date.UTC;
  const offset = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '');
  if (!offset) return withoutZone;
  const minutes = (Number(offset[2]) * 60 + Number(offset[3] ?? 0)) * (offset[1] === '-' ? -1 : 1);
  return (...fields) => Date.UTC(...fields) - minutes * 60_000;
}

/** Reads `.123456` as 123.456. */
export function fractionOf(fraction: Field): Millis {
  return fraction === undefined ? 0 : Number(`0.${fraction.slice(1)}`) * 1000;
}
