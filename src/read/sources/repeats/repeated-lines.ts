import type { LogLine, Millis } from '../../../base/model/log-line.ts';
import type { Repeat, Repeats } from '../source.ts';
import { createStamps, digitsEnd, hashOfFlow, isSourcePort, uptimeEnd, varyingKey } from './line-bytes.ts';

/** How many flows are remembered. A power of two, because a hash chooses the place. Only a flood has more flows at a time. */
const places = 2048;
/** How many places in a row are tried for a hash. */
const tries = 8;

interface RepeatedLinesOptions extends Repeats {
  timeOf: (stamp: string) => Millis | undefined;
  onTaken: (time: Millis) => void;
}

export interface RepeatedLines {
  /** Returns whether it has counted the line from `start` to `end`. `hit`: the position of the first needle in the line. */
  take: (bytes: Buffer, start: number, end: number, hit: number) => boolean;
  /** Learns the form of the line that `take` left last, because the next lines may repeat it. */
  learn(line: LogLine): void;
}

/**
 * Counts lines of one log that repeat an earlier line, without making strings of them. Such lines may differ in their times and in numbers
 * that do not identify the flow. A line with any other difference is left to the reader of text.
 */
export function createRepeatedLines({ timeOf, onTaken, ...repeats }: RepeatedLinesOptions): RepeatedLines {
  const stamps = createStamps(timeOf);
  /** Hashes of lines left to the reader of text. A flow is learned when it comes again, so a flood of random addresses takes no places. */
  const left = new Int32Array(places);
  const hashes = new Int32Array(places);
  const known: (Repeat | undefined)[] = Array.from({ length: places });
  const lines = createKnownLines(places);
  let turn = 0;
  /** The last line that `take` did not count. `place`: of the line that it repeats, if that line's memo is no longer valid; else -1. */
  const last = { bytes: Buffer.alloc(0) as Buffer, start: 0, header: 0, end: 0, time: NaN, hash: 0, place: -1 };

  return {
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
    learn({ text, time }: LogLine): void {
      const { bytes, start, header, end, hash, place } = last;
      // `take` keeps no time of a line whose stamp it cannot read.
      if (last.time !== time) return;
      const isAgain = place >= 0 || wasLeft(hash);
      const textStart = end - text.length;
      // If the envelope continues behind the text or escapes it, the line must be read as text.
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

  function placeFor(hash: number): number {
    for (let i = 0; i < tries; i++)
      if (known[(hash + i) & (places - 1)] === undefined) return (hash + i) & (places - 1);
    return (hash + (turn++ % tries)) & (places - 1);
  }
}

interface LineBytes {
  bytes: Buffer;
  /** The start of the bytes after the stamp. */
  start: number;
  /** The start of the text after the envelope. */
  text: number;
  /** The position of the first `IN=`. */
  header: number;
  /** The end of the line's content, before the line break. */
  end: number;
}

/** The most bytes that are kept of a line. */
const slotLength = 512;
/** The most runs of bytes between varying parts of a line. */
const maxRuns = 16;

/** The kind of bytes after a run. They vary, so they are not compared. */
const nothing = 0;
const number = 1;
const port = 2;
const uptime = 3;

const space = 32;
const openingBracket = 91;

type Run = [from: number, to: number, then: number];

export interface KnownLines {
  hashOf(bytes: Buffer, from: number, end: number): number;
  /** Compares the line at `place` with the bytes, apart from varying parts. Call `hashOf` for these bytes first. */
  isAt(place: number, bytes: Buffer, start: number, end: number): boolean;
  /** Returns false, and keeps the place as it is, if the line's repeats cannot be recognized by their bytes. */
  keep(place: number, line: LineBytes, sourcePortsFrom: number): boolean;
}

/** Keeps lines without their varying parts, each at a numbered place. They are outside of V8's heap. */
export function createKnownLines(count: number): KnownLines {
  const slots = Buffer.allocUnsafeSlow(count * slotLength);
  const slotView = viewOf(slots);
  /** Two numbers for each run: its length, and the kind of the varying part that follows. */
  const runs = new Uint16Array(count * maxRuns * 2);
  const leastPorts = new Int32Array(count);
  let view = slotView;

  return {
    hashOf(bytes: Buffer, from: number, end: number): number {
      if (view.buffer !== bytes.buffer || view.byteOffset !== bytes.byteOffset) view = viewOf(bytes);
      return hashOfFlow(bytes, view, from, end);
    },
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
  // Only `IN=… OUT=` begins a header of netfilter. `PHYSIN=` is another field.
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
    // Brackets contain the packet that an ICMP error is about.
    if (bytes[at] === openingBracket) return undefined;
    if (bytes[at] !== space) continue;
    const value = at + 1 + varyingKey(bytes, at + 1, end);
    if (value === at + 1) continue;
    const isPort = isSourcePort(bytes, at + 1);
    const stop = numberEnd(bytes, value, end, isPort ? sourcePortsFrom : -1);
    // Only the first source port is certain to be a client's.
    if (stop < 0 || (isPort && hasPort)) continue;
    hasPort ||= isPort;
    runs.push([from, value, isPort ? port : number]);
    from = stop;
  }
  runs.push([from, end, nothing]);
  const length = runs.reduce((sum, [begin, stop]) => sum + stop - begin, 0);
  return runs.length <= maxRuns && length <= slotLength ? runs : undefined;
}

/** Returns the end of a token of up to ten digits, at least `leastPort` if that is not -1; -1 for anything else. */
function numberEnd(bytes: Buffer, from: number, end: number, leastPort: number): number {
  const stop = digitsEnd(bytes, from, Math.min(end, from + 11));
  const length = stop - from;
  if (length === 0 || length > 10 || (stop < end && bytes[stop] !== space)) return -1;
  if (leastPort < 0) return stop;
  let value = 0;
  for (let at = from; at < stop; at++) value = value * 10 + (bytes[at] as number) - 48;
  return value >= leastPort && value <= 65_535 ? stop : -1;
}

/** Compares four bytes at a time: `Buffer.compare` takes four times as long for runs as short as these. */
function areEqual(a: DataView, from: number, b: DataView, start: number, length: number): boolean {
  if (length < 4) {
    for (let i = 0; i < length; i++) if (a.getUint8(from + i) !== b.getUint8(start + i)) return false;
    return true;
  }
  const last = length - 4;
  for (let i = 0; i < last; i += 4) if (a.getInt32(from + i, true) !== b.getInt32(start + i, true)) return false;
  // The last four may have been compared in part.
  return a.getInt32(from + last, true) === b.getInt32(start + last, true);
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
