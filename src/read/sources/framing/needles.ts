/** Needles of this many bytes or more are searched all together, in steps of up to 7 bytes. Shorter ones are searched one by one. */
const stride = 8;

/** Within this many bytes, a search in JavaScript is faster than a call of native code. */
const near = 128;

export interface NeedleSearch {
  reset(): void;
  /** Returns where the next needle before `end` is, or -1. Call `reset` for each block; ask with rising `from` and the same `end`. */
  next(bytes: Buffer, from: number, end: number): number;
}

/**
 * Searches several literals at once. They are latin1, and at least two characters long. Short literals are searched first, because most
 * lines that matter contain one, and native code skips the rest of a block very fast. Long literals are then searched only up to that
 * position. A regular expression with the same alternatives reads every byte once for each of them (`npm run bench`).
 */
export function createNeedleSearch(literals: readonly string[]): NeedleSearch {
  let searches = prepared.get(literals);
  if (searches === undefined) prepared.set(literals, (searches = prepare(literals)));
  const { short, long, longest } = searches;
  /** Where each short needle was found last; -1: no further one in this block, -2: not searched yet. */
  const found = short.map(() => -2);
  /** The position of the next long needle; -1 if it is not known. */
  let nextLong = -1;
  /** No further long needle begins before this position. */
  let searched = 0;
  /** The part of the block that is searched, because `indexOf` has no parameter for the end. */
  let view: Buffer | undefined;

  return {
    reset(): void {
      found.fill(-2);
      nextLong = -1;
      searched = 0;
      view = undefined;
    },
    next(bytes: Buffer, from: number, end: number): number {
      view ??= bytes.subarray(0, end);
      let nearest = -1;
      for (let i = 0; i < short.length; i++) {
        let at = found[i] as number;
        if (at !== -1 && at < from) found[i] = at = (short[i] as FindShort)(view, from);
        if (at !== -1 && (nearest === -1 || at < nearest)) nearest = at;
      }
      if (nextLong < from && long !== undefined) nextLong = findLong(view, from, nearest);
      return nextLong >= 0 && (nextLong < nearest || nearest === -1) ? nextLong : nearest;
    },
  };

  function findLong(bytes: Buffer, from: number, before: number): number {
    const begin = Math.max(from, searched);
    const end = before === -1 ? bytes.length : Math.min(bytes.length, before + longest - 1);
    if (begin >= end) return -1;
    const at = (long as FindLong)(bytes, begin, end);
    if (at === -1) searched = before === -1 ? end : Math.max(begin, before);
    return at;
  }
}

interface Searches {
  short: FindShort[];
  long: FindLong | undefined;
  longest: number;
}

/** Shares the tables between hundreds of logs, because they take 64 KiB for each list of literals. */
const prepared = new WeakMap<readonly string[], Searches>();

function prepare(literals: readonly string[]): Searches {
  const needles = literals.map((literal) => Buffer.from(literal, 'latin1'));
  const long = needles.filter((each) => each.length >= stride);
  return {
    short: needles.filter((each) => each.length < stride).map((each) => oneNeedle(each)),
    long: long.length > 0 ? manyNeedles(long) : undefined,
    longest: Math.max(...long.map(({ length }) => length)),
  };
}

type FindShort = (bytes: Buffer, from: number) => number;
type FindLong = (bytes: Buffer, from: number, end: number) => number;

/** Searches by Boyer and Moore's bad character rule (Horspool) within `near` bytes, and with native code beyond them. */
function oneNeedle(needle: Buffer): FindShort {
  const { length } = needle;
  const shifts = new Uint8Array(256).fill(length);
  for (let i = 0; i < length - 1; i++) shifts[needle[i] as number] = length - 1 - i;
  const last = needle[length - 1] as number;
  return (bytes, from) => {
    const stop = Math.min(bytes.length, from + near);
    for (let at = from + length - 1; at < stop; at += shifts[bytes[at] as number] as number) {
      if (bytes[at] === last && standsAt(bytes, needle, at - length + 1)) return at - length + 1;
    }
    return stop === bytes.length ? -1 : bytes.indexOf(needle, stop - length + 1);
  };
}

/** Searches by the algorithm of Wu and Manber ("A fast algorithm for multi-pattern searching", 1994), with blocks of two bytes. */
function manyNeedles(needles: readonly Uint8Array[]): FindLong {
  /** How far the window may move if it ends with these two bytes; 0 if the first `stride` bytes of a needle may end with them. */
  const shifts = new Uint8Array(65_536).fill(stride - 1);
  const endingWith = new Map<number, Uint8Array[]>();
  for (const needle of needles) {
    for (let i = 1; i < stride; i++) {
      const pair = ((needle[i - 1] as number) << 8) | (needle[i] as number);
      shifts[pair] = Math.min(shifts[pair] as number, stride - 1 - i);
      if (i === stride - 1) endingWith.set(pair, [...(endingWith.get(pair) ?? []), needle]);
    }
  }
  return (bytes, from, end) => {
    for (let at = from + stride - 1; at < end;) {
      const pair = ((bytes[at - 1] as number) << 8) | (bytes[at] as number);
      const shift = shifts[pair] as number;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at - stride + 1;
      for (const needle of endingWith.get(pair) ?? []) {
        if (start + needle.length <= end && standsAt(bytes, needle, start)) return start;
      }
      at++;
    }
    return -1;
  };
}

function standsAt(bytes: Uint8Array, needle: Uint8Array, at: number): boolean {
  for (let i = 0; i < needle.length; i++) if (bytes[at + i] !== needle[i]) return false;
  return true;
}
