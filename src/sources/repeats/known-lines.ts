import { digitsEnd, hashOfFlow, isSourcePort, uptimeEnd, varyingKey } from './varying-fields.ts';

/** The positions of a line and of its parts in `bytes`. */
export interface LineBytes {
  bytes: Buffer;
  /** Behind the stamp. */
  start: number;
  /** The end of the envelope. */
  text: number;
  /** Its first `IN=`. */
  header: number;
  /** Its newline is not part of it. */
  end: number;
}

/** Lines as they were learned, each at a place, without what varies. Outside of V8's heap. */
export interface KnownLines {
  /** The hash of the header from `from` to `end`, which chooses the slot. */
  hashOf: (bytes: Buffer, from: number, end: number) => number;
  /** Whether the bytes of the last `hashOf` from `start` to `end` are those of the line at `place`, but for what varies in it. */
  isAt: (place: number, bytes: Buffer, start: number, end: number) => boolean;
  /** False: lines like it cannot be recognized by their bytes; the place is what it was. `sourcePortsFrom`: as in `Repeat`. */
  keep: (place: number, line: LineBytes, sourcePortsFrom: number) => boolean;
}

/** Bytes of a line without what varies, and how many runs of them there may be. */
const slotLength = 512;
const maxRuns = 16;

/** Skips a run of bytes. */
const nothing = 0;
const number = 1;
const port = 2;
const uptime = 3;

const space = 32;
const openingBracket = 91;

type Run = [from: number, to: number, then: number];

export function createKnownLines(places: number): KnownLines {
  const slots = Buffer.allocUnsafeSlow(places * slotLength);
  const slotView = viewOf(slots);
  /** Two numbers for each run: its length, and what stands behind it. */
  const runs = new Uint16Array(places * maxRuns * 2);
  const leastPorts = new Int32Array(places);
  let view = slotView;

  return {
    hashOf(bytes, from, end) {
      if (view.buffer !== bytes.buffer || view.byteOffset !== bytes.byteOffset) view = viewOf(bytes);
      return hashOfFlow(bytes, view, from, end);
    },
    isAt(place, bytes, start, end) {
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
    keep(place, line, sourcePortsFrom) {
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
    // A second header is not read, so it would not be known to be a client's.
    if (stop < 0 || (isPort && hasPort)) continue;
    hasPort ||= isPort;
    runs.push([from, value, isPort ? port : number]);
    from = stop;
  }
  runs.push([from, end, nothing]);
  const length = runs.reduce((sum, [begin, stop]) => sum + stop - begin, 0);
  return runs.length <= maxRuns && length <= slotLength ? runs : undefined;
}

/** Behind up to ten digits that are all of a token; -1 for anything else. `leastPort`: they are a port from there on; -1: any number. */
function numberEnd(bytes: Buffer, from: number, end: number, leastPort: number): number {
  const stop = digitsEnd(bytes, from, Math.min(end, from + 11));
  const length = stop - from;
  if (length === 0 || length > 10 || (stop < end && bytes[stop] !== space)) return -1;
  if (leastPort < 0) return stop;
  let value = 0;
  for (let at = from; at < stop; at++) value = value * 10 + (bytes[at] as number) - 48;
  return value >= leastPort && value <= 65_535 ? stop : -1;
}

/** Four bytes at a time. */
function areEqual(a: DataView, from: number, b: DataView, start: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (a.getInt32(from + i) !== b.getInt32(start + i)) return false;
  for (; i < length; i++) if (a.getUint8(from + i) !== b.getUint8(start + i)) return false;
  return true;
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
