import type { LogLine, Millis } from '../../model/log-line.ts';
import type { Repeat, Repeats } from '../source.ts';
import { createKnownLines } from './known-lines.ts';
import { createStamps } from './stamps.ts';

/**
 * Counts lines of one log that repeat an earlier one but for their times and numbers that say nothing of the flow, without
 * making strings of them. Whatever is not equal byte for byte elsewhere is left to whoever reads text.
 */
export interface RepeatedLines {
  /** True if the line from `start` to `end` is counted. `hit`: where the first needle in it stands. */
  take: (bytes: Buffer, start: number, end: number, hit: number) => boolean;
  /** The line that `take` has left was handed over as `line`: the next ones may repeat it. */
  learn: (line: LogLine) => void;
}

/** A power of two: the hash of a flow picks the first of those where it may stand. More flows than that at once are a flood. */
const places = 2048;
const tries = 8;

export interface RepeatedLinesOptions extends Repeats {
  /** The same as in `createStamps`. */
  timeOf: (stamp: string) => Millis | undefined;
  /** A line was counted that was logged then. */
  onTaken: (time: Millis) => void;
}

export function createRepeatedLines({ timeOf, onTaken, ...repeats }: RepeatedLinesOptions): RepeatedLines {
  const stamps = createStamps(timeOf);
  /** Hashes of lines that were left lately. A flow is learned when it comes again: floods with random addresses never do. */
  const left = new Int32Array(places);
  const hashes = new Int32Array(places);
  const known: (Repeat | undefined)[] = Array.from({ length: places });
  const lines = createKnownLines(places);
  let turn = 0;
  /** The line that `take` has left. `place`: that of the line it repeats, of which there is nothing to count any more; else -1. */
  const last = { bytes: Buffer.alloc(0) as Buffer, start: 0, header: 0, end: 0, time: NaN, hash: 0, place: -1 };

  return {
    take(bytes, start, end, hit) {
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
    learn({ text, time, timeIsExact }) {
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

  /** A free one, or any of those where the hash may stand. */
  function placeFor(hash: number): number {
    for (let i = 0; i < tries; i++)
      if (known[(hash + i) & (places - 1)] === undefined) return (hash + i) & (places - 1);
    return (hash + (turn++ % tries)) & (places - 1);
  }
}
