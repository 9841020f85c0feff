import type { Clock } from '../clock.ts';

type Field = string | undefined;

/** An English month name and decimal fields, in the clock's zone; undefined when the month is none. */
export function dateOf(
  clock: Clock,
  year: Field,
  month: string,
  date: Field,
  hours: Field,
  minutes: Field,
  seconds: Field,
): number | undefined {
  const index = 'JanFebMarAprMayJunJulAugSepOctNovDec'.indexOf(month);
  if (index < 0 || index % 3 !== 0) return undefined;
  return clock.zone(Number(year), index / 3, Number(date), Number(hours), Number(minutes), Number(seconds));
}
