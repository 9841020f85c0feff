import { type ToInstant, isTime, monthIndex } from '../../../base/log-formats/rfc3339.ts';
import type { Millis } from '../../../base/model/log-line.ts';

const day = 86_400_000;

/** `timeZone`: an IANA name, or an offset such as `+02:00`. Throws a RangeError for other zones. */
export function zoneTime(timeZone: string): ToInstant {
  if (timeZone === 'UTC') return Date.UTC;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsetAt = (instant: Millis): Millis => {
    const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return (
      Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')) - instant
    );
  };
  return (...fields) => {
    const asUtc = Date.UTC(...fields);
    // Near a clock change the first guess is wrong, and the second one is right.
    return asUtc - offsetAt(asUtc - offsetAt(asUtc));
  };
}

export interface ClockOptions {
  /** The latest time that a stamp can mean: when the file was last written, or now. It decides the year of stamps without one. */
  latest: Millis;
  /** The zone of stamps without one. Default: UTC, which most nodes use. */
  zone?: ToInstant | undefined;
  /** The machine's boot time, for stamps that count from it. If undefined, it is inferred from `latest` and `lastUptime`. */
  boot?: Millis | undefined;
  /** The last stamp of the log that counts from the boot, in seconds. */
  lastUptime?: number | undefined;
}

export interface RecentMinute {
  text: string;
  zone: string;
  start: Millis;
}

/** The last stamps, by the text that they begin with, because many lines share a second. */
export interface RecentStamps {
  second: string;
  time: Millis;
  /** The last two zones, because a collector's stamp often has another zone than the line inside. */
  minutes: [RecentMinute, RecentMinute];
  /** The last prefix and number of a line, and the last beginning of a line without a prefix (prefix.ts). */
  prefix: string;
  withoutPrefix: string;
  count: { number: number; separator: string };
  place: LinePlace;
}

/** The places of the last lines in their envelopes. Continuation lines cannot be recognized by themselves, but are in the same places. */
export interface LinePlace {
  /** Keys of JSON, from the outermost object on; the last ones first, because JSON may contain JSON. */
  keys: readonly (readonly string[])[];
  /** One for each separator, because markup may contain rows. */
  cells: readonly { index: number; count: number; separator: string | undefined }[];
  /** The text before a text in quotes, with the quote; the last one first. */
  quotes: readonly string[];
}

export interface StampClock {
  readonly zone: ToInstant;
  recent: RecentStamps;
  /** Reads `Nov 21 03:42:11` as the latest such time up to `latest`. `name`: as in `monthIndex`. */
  yearless(name: string, date: number, hours: number, minutes: number, seconds: number): Millis | undefined;
  /** Returns the time of a stamp in seconds since the boot; NaN for garbage. `exact` is false if the boot time was inferred. */
  sinceBoot(seconds: number): { time: Millis; exact: boolean };
}

const noMinute: RecentMinute = { text: '', zone: '', start: 0 };

/** Reads the time stamps of one log. */
export function createClock({ latest, zone = Date.UTC, boot, lastUptime }: ClockOptions): StampClock {
  let guessedBoot: Millis | undefined;
  return {
    zone,
    recent: {
      second: '',
      time: 0,
      minutes: [noMinute, noMinute],
      prefix: '',
      withoutPrefix: '',
      count: { number: 0, separator: '' },
      place: { keys: [], cells: [], quotes: [] },
    },
    yearless(name: string, date: number, hours: number, minutes: number, seconds: number): Millis | undefined {
      const month = monthIndex(name);
      if (month === undefined || !isTime(date, hours, minutes, seconds)) return undefined;
      // One day of tolerance, because the stamp is in the node's zone and clocks differ. Eight years are enough to reach any 29 February.
      const thisYear = new Date(latest + day).getUTCFullYear();
      for (let year = thisYear; year > thisYear - 9; year--) {
        const time = zone(year, month, date, hours, minutes, seconds);
        if (time <= latest + day && date <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate()) return time;
      }
      return undefined;
    },
    sinceBoot(seconds: number): { time: Millis; exact: boolean } {
      if (boot !== undefined) return { time: boot + seconds * 1000, exact: true };
      // A stamp of more than 95 years is garbage, and would shift all others.
      if (seconds > 3e9) return { time: NaN, exact: false };
      guessedBoot ??= latest - (lastUptime ?? seconds) * 1000;
      return { time: guessedBoot + seconds * 1000, exact: false };
    },
  };
}

/** How often a new clock is made, because `latest` decides the year of stamps without one. */
const clockLife: Millis = 3_600_000;

/** Returns the clock for stamps of a log that is being written. `zone`: the zone of stamps without one; default: UTC. */
export function createClockOfNow(zone: ToInstant = Date.UTC): (present: Millis) => StampClock {
  let hour: number | undefined;
  let clock: StampClock;
  return (present) => {
    const current = Math.floor(present / clockLife);
    if (current !== hour) {
      hour = current;
      clock = createClock({ latest: present, zone });
    }
    return clock;
  };
}
