import type { Millis } from '../../model/log-line.ts';
import { type Clock, isTime, months, type ToInstant } from './clock.ts';

type Field = string | undefined;

/** Six fields of a date in a zone; undefined when one is out of range. `month` counts from 1 or is an English name. */
export function instantOf(
  toInstant: ToInstant,
  year: Field,
  month: Field,
  date: Field,
  hours: Field,
  minutes: Field,
  seconds: Field,
): Millis | undefined {
  const index = monthIndex(month ?? '');
  const fields = [Number(date), Number(hours), Number(minutes), Number(seconds)] as const;
  if (index === undefined || !isTime(...fields)) return undefined;
  return toInstant(Number(year), index, ...fields);
}

function monthIndex(month: string): number | undefined {
  const number = Number(month);
  if (number >= 1 && number <= 12) return number - 1;
  const at = months.indexOf(month);
  return at < 0 ? undefined : at;
}

/** What reads a stamp whose zone is `Z`, `UTC`, `+02:00`, `-0600`, `+02`; without one it is the log's. */
export function zoneOf(zone: Field, clock: Clock): ToInstant {
  if (zone === 'Z' || zone === 'UTC') return Date.UTC;
  const offset = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '');
  if (!offset) return clock.zone;
  const minutes = (Number(offset[2]) * 60 + Number(offset[3] ?? 0)) * (offset[1] === '-' ? -1 : 1);
  return (...fields) => Date.UTC(...fields) - minutes * 60_000;
}

/** `.123456` → 123.456 */
export function fractionOf(fraction: Field): Millis {
  return fraction === undefined ? 0 : Number(`0.${fraction.replace(/^[.,]/, '')}`) * 1000;
}
