import type { Millis } from '../../model/log-line.ts';

/** The wall-clock stamps at the beginnings of a log's lines, read as bytes. */
export interface Stamps {
  /** The time of the stamp at `start`; undefined if there is none, or one that has to be read as text. */
  read: (bytes: Uint8Array, start: number, end: number) => Millis | undefined;
  /** The length of the stamp that was read last, with the space behind it. */
  readonly length: number;
}

const space = 32;
const colon = 58;
const dash = 45;
const dot = 46;

/** `Nov 21 03:42:11 ` */
const syslogLength = 16;
/** `2026-11-21T03:42:` */
const minuteLength = 17;
/** `+02:00` */
const longestZone = 6;

/** `readText`: the time of a stamp that is all of a line, as it is read where lines are text. It is asked once for each second or minute. */
export function createStamps(readText: (stamp: string) => Millis | undefined): Stamps {
  const second = createKnown(syslogLength);
  const minute = createKnown(minuteLength);
  const zone = createKnown(longestZone);
  let length = 0;
  let secondTime: Millis | undefined;
  let minuteTime: Millis | undefined;

  return {
    get length() {
      return length;
    },
    read(bytes, start, end) {
      if (end - start < minuteLength + 4) return undefined;
      return bytes[start + 4] === dash ? readRfc3339(bytes, start, end) : readSyslog(bytes, start);
    },
  };

  function readSyslog(bytes: Uint8Array, start: number): Millis | undefined {
    length = syslogLength;
    if (second.is(bytes, start, syslogLength)) return secondTime;
    if (bytes[start + 3] !== space || bytes[start + 6] !== space || bytes[start + 15] !== space) return undefined;
    if (bytes[start + 9] !== colon || bytes[start + 12] !== colon) return undefined;
    secondTime = readText(second.set(bytes, start, syslogLength));
    return secondTime;
  }

  function readRfc3339(bytes: Uint8Array, start: number, end: number): Millis | undefined {
    const seconds = twoDigits(bytes, start + minuteLength);
    if (seconds < 0 || seconds > 59) return undefined;
    let at = start + minuteLength + 2;
    let fraction = 0;
    if (bytes[at] === dot) {
      const from = ++at;
      let scale = 1;
      for (let digit = 0; at < end && at - from < 9; at++) {
        digit = (bytes[at] as number) - 48;
        if (digit < 0 || digit > 9) break;
        fraction = fraction * 10 + digit;
        scale *= 10;
      }
      if (at === from) return undefined;
      fraction /= scale;
    }
    const zoneStart = at;
    while (at < end && bytes[at] !== space) if (++at - zoneStart > longestZone) return undefined;
    if (at === end) return undefined;
    length = at + 1 - start;
    if (!minute.is(bytes, start, minuteLength) || !zone.is(bytes, zoneStart, at - zoneStart)) {
      const text = `${minute.set(bytes, start, minuteLength)}00${zone.set(bytes, zoneStart, at - zoneStart)} `;
      minuteTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:00(?:Z|[+-]\d\d:?\d\d)? $/.test(text) ? readText(text) : undefined;
    }
    // This order of operations gives every bit as it is when the stamp is read from text.
    return minuteTime === undefined ? undefined : minuteTime + (seconds * 1000 + fraction * 1000);
  }
}

/** Bytes that were seen last at one place of a stamp. */
function createKnown(longest: number) {
  const known = Buffer.alloc(longest);
  let knownLength = -1;
  return {
    is(bytes: Uint8Array, start: number, length: number): boolean {
      if (length !== knownLength) return false;
      for (let i = length - 1; i >= 0; i--) if (bytes[start + i] !== known[i]) return false;
      return true;
    },
    set(bytes: Uint8Array, start: number, length: number): string {
      known.set(bytes.subarray(start, start + length));
      knownLength = length;
      return known.toString('latin1', 0, length);
    },
  };
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - 48;
  const ones = (bytes[at + 1] as number) - 48;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : tens * 10 + ones;
}
