import type { LogLine, Millis } from '../../model/log-line.ts';
import type { Repeat, Repeats } from '../source.ts';
import { createStamps, digitsEnd, hashOfFlow, isSourcePort, uptimeEnd, varyingKey } from './line-bytes.ts';

/** A power of two, because a hash picks the first of the places where a flow may stand. More flows than that at once are a flood. */
const places = 2048;
const tries = 8;

interface RepeatedLinesOptions extends Repeats {
  timeOf: (stamp: string) => Millis | undefined;
  onTaken: (time: Millis) => void;
}

/**
 * Counts the lines of one log that repeat an earlier one but for their times and for numbers that say nothing of the flow, without making
 * strings of them. A line that differs elsewhere in a byte is left to whoever reads text.
 */
export function createRepeatedLines({ timeOf, onTaken, ...repeats }: RepeatedLinesOptions) {
  const stamps = createStamps(timeOf);
  /** Hashes of lines that were left lately. A flow is learned when it comes again, which those of a flood with random addresses never do. */
  const left = new Int32Array(places);
  const hashes = new Int32Array(places);
  const known: (Repeat | undefined)[] = Array.from({ length: places });
  const lines = createKnownLines(places);
  let turn = 0;
  /** The line that `take` has left. `place`: that of the line that it repeats, whose memo no longer holds; else -1. */
  const last = { bytes: Buffer.alloc(0) as Buffer, start: 0, header: 0, end: 0, time: NaN, hash: 0, place: -1 };

  return {
    /** Counts the line from `start` to `end` and returns true, or returns false. `hit`: where the first needle in it stands. */
    take(this: void, bytes: Buffer, start: number, end: number, hit: number): boolean {
      last.time = NaN;
      const time = stamps.read(bytes, start, end);
      if (time === undefined || bytes[hit] !== 0x49 || bytes[hit + 1] !== 0x4e || bytes[hit + 2] !== 0x3d) return false;
      const hash = lines.hashOf(bytes, hit, end);
      const from = start + stamps.length;
      const place = find(hash, bytes, from, end);
      if (place >= 0 && repeats.again(known[place] as Repeat, time)) {
        onTaken(time);
        return true;
      }
      last.bytes = bytes;
      last.start = from;
      last.header = hit;
      last.end = end;
      last.time = time;
      last.hash = hash;
      last.place = place;
      return false;
    },
    /** The line that `take` has left was handed over in this form: the next ones may repeat it. */
    learn({ text, time, timeIsExact }: LogLine): void {
      const { bytes, start, header, end, hash, place } = last;
      if (last.time !== time || !timeIsExact) return;
      const isAgain = place >= 0 || wasLeft(hash);
      const textStart = end - text.length;
      // An envelope that also stands behind the text, or escapes it, is read as text.
      if (!isAgain || textStart < start || bytes.toString('latin1', textStart, end) !== text) return;
      const repeat = repeats.last();
      const target = place >= 0 ? place : placeFor(hash);
      known[target] = undefined;
      if (repeat === undefined) return;
      if (!lines.keep(target, { bytes, start, text: textStart, header, end }, repeat.sourcePortsFrom)) return;
      known[target] = repeat;
      hashes[target] = hash;
    },
  };

  function find(hash: number, bytes: Buffer, start: number, end: number): number {
    for (let i = 0; i < tries; i++) {
      const place = (hash + i) & (places - 1);
      if (hashes[place] === hash && known[place] !== undefined && lines.isAt(place, bytes, start, end)) return place;
    }
    return -1;
  }

  function wasLeft(hash: number): boolean {
    for (let i = 0; i < tries; i++) if (left[(hash + i) & (places - 1)] === hash) return true;
    left[(hash + (turn++ % tries)) & (places - 1)] = hash;
    return false;
  }

  /** Returns a free place, or any of those where the hash may stand. */
  function placeFor(hash: number): number {
    for (let i = 0; i < tries; i++)
      if (known[(hash + i) & (places - 1)] === undefined) return (hash + i) & (places - 1);
    return (hash + (turn++ % tries)) & (places - 1);
  }
}

interface LineBytes {
  bytes: Buffer;
  /** Behind the stamp. */
  start: number;
  /** Behind the envelope. */
  text: number;
  /** At the first `IN=`. */
  header: number;
  /** Before the newline. */
  end: number;
}

/** The most bytes of a line without what varies, and how many runs of them there may be. */
const slotLength = 512;
const maxRuns = 16;

/** What stands behind a run of bytes and is not compared. */
const nothing = 0;
const number = 1;
const port = 2;
const uptime = 3;

const space = 32;
const openingBracket = 91;

type Run = [from: number, to: number, then: number];

/** Keeps lines without what varies in them, each at a place. They are outside of V8's heap. */
export function createKnownLines(count: number) {
  const slots = Buffer.allocUnsafeSlow(count * slotLength);
  const slotView = viewOf(slots);
  /** Two numbers for each run: its length, and what stands behind it. */
  const runs = new Uint16Array(count * maxRuns * 2);
  const leastPorts = new Int32Array(count);
  let view = slotView;

  return {
    /** Hashes the header from `from` to `end`: it chooses the place. */
    hashOf(bytes: Buffer, from: number, end: number): number {
      if (view.buffer !== bytes.buffer || view.byteOffset !== bytes.byteOffset) view = viewOf(bytes);
      return hashOfFlow(bytes, view, from, end);
    },
    /** Whether the line at `place` has the bytes of the last `hashOf` from `start` to `end`, but for what varies. */
    isAt(place: number, bytes: Buffer, start: number, end: number): boolean {
      let at = start;
      let slot = place * slotLength;
      for (let run = place * maxRuns * 2; ; run += 2) {
        const length = runs[run] as number;
        if (at + length > end || !areEqual(view, at, slotView, slot, length)) return false;
        at += length;
        slot += length;
        const then = runs[run + 1] as number;
        if (then === nothing) return at === end;
        at =
          then === uptime
            ? uptimeEnd(bytes, at, end)
            : numberEnd(bytes, at, end, then === port ? (leastPorts[place] as number) : -1);
        if (at < 0) return false;
      }
    },
    /** False: such lines cannot be recognized by their bytes; the place is what it was. `sourcePortsFrom`: as in `Repeat`. */
    keep(place: number, line: LineBytes, sourcePortsFrom: number): boolean {
      const layout = layoutOf(line, sourcePortsFrom);
      if (layout === undefined) return false;
      let slot = place * slotLength;
      for (const [index, [from, to, then]] of layout.entries()) {
        line.bytes.copy(slots, slot, from, to);
        slot += to - from;
        runs.set([to - from, then], (place * maxRuns + index) * 2);
      }
      leastPorts[place] = sourcePortsFrom;
      return true;
    },
  };
}

function layoutOf({ bytes, start, text, header, end }: LineBytes, sourcePortsFrom: number): Run[] | undefined {
  // The header begins at the first `IN=` of the text with `OUT=` behind it, whatever numbers follow.
  const next = bytes.indexOf(' ', header) + 1;
  if (header < text || bytes.toString('latin1', Math.max(text, header - 4), header) === 'PHYS') return undefined;
  if (next > end || bytes.toString('latin1', next, next + 4) !== 'OUT=') return undefined;
  const runs: Run[] = [];
  let from = start;
  let hasPort = false;
  for (let at = start; at < text; at++) {
    const stop = bytes[at] === openingBracket ? uptimeEnd(bytes, at + 1, text) : -1;
    if (stop < 0) continue;
    runs.push([from, at + 1, uptime]);
    from = stop;
    break;
  }
  for (let at = next; at < end; at++) {
    // The packet that an ICMP error is about stands in brackets.
    if (bytes[at] === openingBracket) return undefined;
    if (bytes[at] !== space) continue;
    const value = at + 1 + varyingKey(bytes, at + 1, end);
    if (value === at + 1) continue;
    const isPort = isSourcePort(bytes, at + 1);
    const stop = numberEnd(bytes, value, end, isPort ? sourcePortsFrom : -1);
    // Only the first source port is known to be a client's.
    if (stop < 0 || (isPort && hasPort)) continue;
    hasPort ||= isPort;
    runs.push([from, value, isPort ? port : number]);
    from = stop;
  }
  runs.push([from, end, nothing]);
  const length = runs.reduce((sum, [begin, stop]) => sum + stop - begin, 0);
  return runs.length <= maxRuns && length <= slotLength ? runs : undefined;
}

/** Returns the end of up to ten digits that are a whole token; -1 for anything else. They must be a port of `leastPort` or more, if that is not -1. */
function numberEnd(bytes: Buffer, from: number, end: number, leastPort: number): number {
  const stop = digitsEnd(bytes, from, Math.min(end, from + 11));
  const length = stop - from;
  if (length === 0 || length > 10 || (stop < end && bytes[stop] !== space)) return -1;
  if (leastPort < 0) return stop;
  let value = 0;
  for (let at = from; at < stop; at++) value = value * 10 + (bytes[at] as number) - 48;
  return value >= leastPort && value <= 65_535 ? stop : -1;
}

function areEqual(a: DataView, from: number, b: DataView, start: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (a.getInt32(from + i) !== b.getInt32(start + i)) return false;
  for (; i < length; i++) if (a.getUint8(from + i) !== b.getUint8(start + i)) return false;
  return true;
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
