import type { Millis } from '../model.ts';

const day = 86_400_000;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Turns wall-clock fields into an instant; `Date.UTC` is one, local time another. `month` counts from 0. */
export type ToInstant = (
  year: number,
  month: number,
  date: number,
  hours: number,
  minutes: number,
  seconds: number,
) => Millis;

/** The instant in the process's own time zone (the TZ variable). */
export const localTime: ToInstant = (...fields) => new Date(...fields).getTime();

export interface ClockOptions {
  /** Latest time a stamp can mean: when the file was last written, or now. Decides the year of stamps without one. */
  latest: Millis;
  /** How stamps without a zone are read. Default: UTC, what most nodes run in. */
  zone?: ToInstant;
  /** When the machine booted, for stamps that count from there. Undefined: inferred from `latest` and `lastUptime`. */
  boot?: Millis | undefined;
  /** The last uptime stamp in the file, in seconds, when somebody has looked. */
  lastUptime?: number | undefined;
}

/** Reads the time stamps of one log. Stateful only in what it caches and in its guess of the boot time. */
export interface Clock {
  zone: ToInstant;
  /** The last stamps read, by the text they begin with: of the many lines of a second only the first pays for reading it. */
  recent: { second: string; time: Millis; minute: string; minuteStart: Millis };
  /** `Nov 21 03:42:11`: no year. Picks the latest year that is not after `latest`. */
  yearless: (monthName: string, date: number, hours: number, minutes: number, seconds: number) => Millis | undefined;
  /** Seconds since boot. `exact` is false when the boot time had to be guessed. */
  sinceBoot: (seconds: number) => { time: Millis; exact: boolean };
}

export function createClock({ latest, zone = Date.UTC, boot, lastUptime }: ClockOptions): Clock {
  let guessedBoot: Millis | undefined;
  return {
    zone,
    recent: { second: '', time: 0, minute: '', minuteStart: 0 },
    yearless(monthName, date, hours, minutes, seconds) {
      const month = months.indexOf(monthName);
      if (month < 0) return undefined;
      // A day of slack: the stamp is in the node's zone, and clocks differ. Eight years reach over any 29 February.
      const thisYear = new Date(latest + day).getUTCFullYear();
      for (let year = thisYear; year > thisYear - 9; year--) {
        const time = zone(year, month, date, hours, minutes, seconds);
        if (time <= latest + day && isDate(year, month, date)) return time;
      }
      return undefined;
    },
    sinceBoot(seconds) {
      if (boot !== undefined) return { time: boot + seconds * 1000, exact: true };
      guessedBoot ??= latest - (lastUptime ?? seconds) * 1000;
      return { time: guessedBoot + seconds * 1000, exact: false };
    },
  };
}

function isDate(year: number, month: number, date: number): boolean {
  return date >= 1 && date <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}
