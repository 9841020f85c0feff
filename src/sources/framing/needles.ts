export interface NeedleSearch {
  /** Position of the next needle at or after `from` and wholly before `end`, or -1. Each block begins with `reset`. */
  next: (bytes: Uint8Array, from: number, end: number) => number;
  reset: () => void;
}

/** Shorter needles than this are searched one by one, longer ones all together in strides of up to this less one. */
const stride = 8;

/**
 * Wu and Manber, "A fast algorithm for multi-pattern searching", 1994, with blocks of two bytes. A regular expression of the same
 * alternatives reads every byte once for each, and was the slowest part of the whole pipeline (`npm run bench`).
 * Literals are latin1 and at least two characters.
 */
export function createNeedleSearch(literals: readonly string[]): NeedleSearch {
  let searches = prepared.get(literals);
  if (searches === undefined) prepared.set(literals, (searches = prepare(literals)));
  /** Where each search stands; -1 for nothing left in this block. */
  const found = searches.map(() => -2);

  return {
    reset: () => void found.fill(-2),
    next(bytes, from, end) {
      let nearest = -1;
      for (let i = 0; i < searches.length; i++) {
        let at = found[i] as number;
        if (at !== -1 && at < from) found[i] = at = (searches[i] as Find)(bytes, from, end);
        if (at !== -1 && (nearest === -1 || at < nearest)) nearest = at;
      }
      return nearest;
    },
  };
}

/** 64 KiB for each list of literals, and a node may have hundreds of logs. */
const prepared = new WeakMap<readonly string[], Find[]>();

function prepare(literals: readonly string[]): Find[] {
  const needles = literals.map((literal) => Buffer.from(literal, 'latin1'));
  const searches = needles.filter((each) => each.length < stride).map((each) => oneNeedle(each));
  const long = needles.filter((each) => each.length >= stride);
  if (long.length > 0) searches.push(manyNeedles(long));
  return searches;
}

type Find = (bytes: Uint8Array, from: number, end: number) => number;

/** Boyer and Moore's bad character rule (Horspool): enough for one short needle. */
function oneNeedle(needle: Uint8Array): Find {
  const { length } = needle;
  const shifts = new Uint8Array(256).fill(length);
  for (let i = 0; i < length - 1; i++) shifts[needle[i] as number] = length - 1 - i;
  const last = needle[length - 1] as number;
  return (bytes, from, end) => {
    for (let at = from + length - 1; at < end; at += shifts[bytes[at] as number] as number) {
      if (bytes[at] === last && standsAt(bytes, needle, at - length + 1)) return at - length + 1;
    }
    return -1;
  };
}

function manyNeedles(needles: readonly Uint8Array[]): Find {
  /** How far the window may move on when its last two bytes are these; 0 where a needle's first `stride` bytes may end. */
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
