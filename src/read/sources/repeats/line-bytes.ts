/** Finds the repeated and the varying parts of lines in their bytes, without making strings. */
import type { Millis } from '../../../base/model/log-line.ts';

const space = 32;
const colon = 58;
const dash = 45;
const dot = 46;

const syslogLength = 16;
const minuteLength = 17;
const longestZone = 6;

export interface Stamps {
  /** The length of the last stamp that was read, including the space after it. */
  readonly length: number;
  /** Returns the time of the stamp at `start`; undefined if there is none, or if it must be read as text. */
  read(bytes: Uint8Array, start: number, end: number): Millis | undefined;
}

/** Reads wall-clock stamps at the beginnings of lines. `readText` is called only once for each second or minute. */
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
    read(bytes: Uint8Array, start: number, end: number): Millis | undefined {
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
    // The calculation has this order to give exactly the same number as reading the stamp as text.
    return minuteTime === undefined ? undefined : minuteTime + (seconds * 1000 + fraction * 1000);
  }
}

/** Remembers the last bytes of one part of a stamp. */
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

/** Fields of LOG lines (Linux net/netfilter/nf_log_syslog.c) that vary within a flow; the source port only if it is a client's. */
const keys = ['LEN=', 'TTL=', 'SPT=', 'SEQ=', 'ACK=', 'ID=', 'WINDOW=', 'FLOWLBL=', 'HOPLIMIT='].map((key) =>
  Buffer.from(key),
);

const closingBracket = 93;

const length = fiveBytes(' LEN=');
const destinationPort = fiveBytes(' DPT=');

const byInitial = Array.from({ length: 256 }, (_, initial) => {
  const found = keys.filter((key) => key[0] === initial);
  return found.length > 0 ? found : undefined;
});

/** Returns the length of the key, including `=`, of a varying field that begins at `at`; 0 if none does. */
export function varyingKey(bytes: Uint8Array, at: number, end: number): number {
  const candidates = byInitial[bytes[at] as number];
  if (candidates === undefined) return 0;
  for (const key of candidates) if (at + key.length <= end && standsAt(bytes, at, key)) return key.length;
  return 0;
}

export function isSourcePort(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x53 && bytes[at + 1] === 0x50;
}

/** Hashes the bytes before `LEN=` and the destination port; 0 without `LEN=`. Flows may share a hash. `view`: a view of `bytes`. */
export function hashOfFlow(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  const stop = indexOf(bytes, length, from, end);
  if (stop < from + 4) return 0;
  let hash = view.getInt32(stop - 4);
  for (let at = from; at < stop - 4; at += 4) hash = Math.imul(hash ^ view.getInt32(at), 0x9e3779b1);
  const port = indexOf(bytes, destinationPort, stop, end - 4);
  if (port > 0) hash = Math.imul(hash ^ view.getInt32(port + 5), 0x9e3779b1);
  // The low bits choose the place, so mix the high bits into them: a product's low bits do not depend on the high ones.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Prepares a search for five different bytes. `shifts` has the distance of each byte to the last one. */
function fiveBytes(content: string) {
  const text = Buffer.from(content);
  const shifts = new Uint8Array(256).fill(5);
  for (const [index, byte] of text.entries()) shifts[byte] = 4 - index;
  return { text, shifts };
}

/** Searches with the shifts of Boyer, Moore and Horspool. Returns -1 if nothing is found. */
function indexOf(bytes: Uint8Array, { text, shifts }: ReturnType<typeof fiveBytes>, from: number, end: number): number {
  for (let at = from + 4; at < end;) {
    const shift = shifts[bytes[at] as number] as number;
    if (shift > 0) at += shift;
    else if (standsAt(bytes, at - 4, text)) return at - 4;
    else at += 5;
  }
  return -1;
}

export function digitsEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && isDigit(bytes[at] as number)) at++;
  return at;
}

/** Returns the position of the `]` in the kernel's uptime, `[    5.123456]`, whose `[` is before `from`; -1 if there is no uptime. */
export function uptimeEnd(bytes: Uint8Array, from: number, end: number): number {
  let start = from;
  while (start < from + 16 && bytes[start] === space) start++;
  const dotAt = digitsEnd(bytes, start, Math.min(start + 10, end));
  if (dotAt === start || bytes[dotAt] !== dot) return -1;
  const stop = digitsEnd(bytes, dotAt + 1, Math.min(dotAt + 10, end));
  return stop > dotAt + 1 && stop < end && bytes[stop] === closingBracket ? stop : -1;
}

function standsAt(bytes: Uint8Array, at: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[at + i] !== key[i]) return false;
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}
