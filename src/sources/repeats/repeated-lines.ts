import type { LogLine, Millis } from '../../model/log-line.ts';
import type { Repeat, Repeats } from '../source.ts';
import { createKnownLines, type KnownLines } from './known-lines.ts';
import { createStamps } from './stamps.ts';
import { hashOfFlow } from './varying-fields.ts';

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

/** In sets of two: the hash of a flow picks its set. A power of two; more flows than that at once are a flood. */
const places = 2048;

export interface RepeatedLinesOptions extends Repeats {
  /** As in `createStamps`. */
  timeOf: (stamp: string) => Millis | undefined;
  /** A line was counted that was logged then. */
  onTaken: (time: Millis) => void;
}

export function createRepeatedLines({ timeOf, onTaken, ...repeats }: RepeatedLinesOptions): RepeatedLines {
  const stamps = createStamps(timeOf);
  /** Both hashes that were last left in each set. A flow is learned when it comes again: floods with random addresses never do. */
  const left = new Int32Array(places);
  const known: (Repeat | undefined)[] = Array.from({ length: places });
  /** Made when first needed. */
  let lines: KnownLines | undefined;
  /** The line that `take` has left. `place`: that of the line it repeats, of which there is nothing to count any more; else -1. */
  const last = { bytes: Buffer.alloc(0) as Buffer, start: 0, header: 0, end: 0, time: NaN, hash: 0, place: -1 };

  return {
    take(bytes, start, end, hit) {
      last.time = NaN;
      const time = stamps.read(bytes, start, end);
      if (time === undefined || bytes[hit] !== 0x49 || bytes[hit + 1] !== 0x4e || bytes[hit + 2] !== 0x3d) return false;
      const hash = hashOfFlow(bytes, hit, end);
      const from = start + stamps.length;
      const place = find(hash & (places - 2), bytes, from, end);
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
      const set = hash & (places - 2);
      const isAgain = place >= 0 || left[set] === hash || left[set + 1] === hash;
      left[set + 1] = left[set] as number;
      left[set] = hash;
      const textStart = end - text.length;
      // An envelope that also stands behind the text, or escapes it, is read as text.
      if (!isAgain || textStart < start || bytes.toString('latin1', textStart, end) !== text) return;
      const repeat = repeats.last();
      const target =
        place >= 0 ? place : known[set] === undefined ? set : known[set + 1] === undefined ? set + 1 : set + (hash & 1);
      known[target] = undefined;
      if (repeat === undefined) return;
      lines ??= createKnownLines(places);
      if (lines.keep(target, { bytes, start, text: textStart, header, end }, repeat.sourcePortsFrom))
        known[target] = repeat;
    },
  };

  function find(set: number, bytes: Buffer, start: number, end: number): number {
    if (known[set] !== undefined && lines?.isAt(set, bytes, start, end) === true) return set;
    if (known[set + 1] !== undefined && lines?.isAt(set + 1, bytes, start, end) === true) return set + 1;
    return -1;
  }
}
