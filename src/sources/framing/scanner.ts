import { createNeedleSearch } from './needles.ts';

/** Longest line taken, in bytes, its newline included. The kernel's records end at 8 KiB, container runtimes cut at 16 KiB. */
export const maxLineLength = 64 * 1024;

/** Joins a block to the rest of the one before. All scanners share it, because a node may have hundreds of logs. */
const buffer = Buffer.allocUnsafeSlow(2 * maxLineLength);
const nothing = Buffer.alloc(0);

const newline = 10;
const carriageReturn = 13;

export interface ScanCounts {
  /** Physical lines, the last one counted with or without its newline. */
  lines: number;
  bytes: number;
  tooLong: number;
}

export interface LineSink {
  /** `line` is latin1: one character a byte. It keeps no block alive. `number` counts from 1; `cut`: a last line without newline. */
  take: (line: string, number: number, cut: boolean) => void;
  tooLong: (number: number) => void;
  /** Is asked before a line with a needle becomes a string; true: it is done with. `end`: before its newline; `hit`: its first needle. */
  takeBytes?: ((bytes: Buffer, start: number, end: number, hit: number) => boolean) | undefined;
  turnEnded?: (() => void) | undefined;
}

export interface ScannerOptions {
  /** One of these stands in every line that is handed over; latin1, without newlines. Undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  lines: LineSink;
  /** The input begins with the rest of a line that is too long. */
  skipping?: boolean;
}

export type Scanner = ReturnType<typeof createScanner>;

/** Cuts blocks into lines. Needles are searched before any line is cut: several times faster where one line in ten matters (`npm run bench`). */
export function createScanner({ skipping = false, ...options }: ScannerOptions) {
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  const cutter = createLineCutter(options, counts);
  /** The bytes after the last newline. While a block is taken they are in `buffer`. */
  let rest = nothing;
  let held = 0;
  let before = 0;

  return {
    counts: counts as Readonly<ScanCounts>,
    /** Bytes after the last line handed or passed over: the unfinished one; while a `LineSink` is called also what follows it. */
    get held() {
      return counts.bytes - before - cutter.passed;
    },
    /** Inside a line that is too long: its rest is passed over as it comes, and none of it is held. */
    get skipping() {
      return skipping;
    },
    write(block: Buffer): void {
      rest.copy(buffer);
      counts.bytes += block.length;
      // A step is one line length at most, so that held and new bytes always fit.
      for (let at = 0; at < block.length; at += maxLineLength) take(block.subarray(at, at + maxLineLength));
      rest = held > 0 ? Buffer.from(buffer.subarray(0, held)) : nothing;
    },
    end(): void {
      rest.copy(buffer);
      rest = nothing;
      const cut = skipping ? 0 : held;
      if (skipping || held > 0) counts.lines++;
      held = 0;
      skipping = false;
      before = counts.bytes;
      if (cut > 0) cutter.takeLast(cut);
    },
  };

  function take(piece: Buffer): void {
    let from = 0;
    if (skipping) {
      const end = piece.indexOf(newline);
      from = end < 0 ? piece.length : end + 1;
      before += from;
      if (end < 0) return;
      counts.lines++;
      skipping = false;
    }
    const last = piece.lastIndexOf(newline);
    if (last >= from) {
      piece.copy(buffer, held, from, last + 1);
      const length = held + last + 1 - from;
      cutter.takeAll(length);
      before += length;
      cutter.passed = 0;
      held = 0;
      from = last + 1;
    }
    piece.copy(buffer, held, from);
    held += piece.length - from;
    if (held > maxLineLength) {
      before += held;
      held = 0;
      skipping = true;
      cutter.tooLong(counts.lines + 1);
    }
  }
}

function createLineCutter({ needles, lines }: ScannerOptions, counts: ScanCounts) {
  const search = needles === undefined ? undefined : createNeedleSearch(needles);
  const cutter = {
    /** Bytes of `buffer` up to the end of the last line that was handed over or passed over. */
    passed: 0,
    /** Takes the first `length` bytes of `buffer`: whole lines, each with its newline. */
    takeAll(length: number): void {
      let start = 0;
      if (search === undefined) {
        while (start < length) start = takeLine(start, -1);
        return;
      }
      search.reset();
      for (let found = 0; (found = search.next(buffer, start, length)) >= 0;)
        start = takeLine(countTo(start, found), found);
      countTo(start, length);
    },
    /** Takes the first `length` bytes of `buffer` as a last line without newline. */
    takeLast(length: number): void {
      search?.reset();
      if (search === undefined || search.next(buffer, 0, length) >= 0)
        lines.take(buffer.toString('latin1', 0, contentEnd(0, length)), counts.lines, true);
    },
    tooLong(number: number): void {
      counts.tooLong++;
      lines.tooLong(number);
    },
  };
  return cutter;

  /** `hit`: its first needle; -1 where none are searched. */
  function takeLine(start: number, hit: number): number {
    const end = buffer.indexOf(newline, Math.max(start, hit)) + 1;
    counts.lines++;
    cutter.passed = end;
    const stop = contentEnd(start, end - 1);
    if (end - start > maxLineLength) cutter.tooLong(counts.lines);
    else if (hit < 0 || lines.takeBytes?.(buffer, start, stop, hit) !== true)
      lines.take(buffer.toString('latin1', start, stop), counts.lines, false);
    return end;
  }

  /** Counts the lines that end at or before `position`. Returns where the next one starts. */
  function countTo(start: number, position: number): number {
    let at = start;
    for (let end = 0; at < position; at = end) {
      end = buffer.indexOf(newline, at) + 1;
      if (end > position || end === 0) break;
      counts.lines++;
      if (end - at > maxLineLength) {
        cutter.passed = end;
        cutter.tooLong(counts.lines);
      }
    }
    return at;
  }
}

function contentEnd(start: number, end: number): number {
  return end > start && buffer[end - 1] === carriageReturn ? end - 1 : end;
}

export function addTo(sum: ScanCounts, { lines, bytes, tooLong }: Readonly<ScanCounts>): void {
  sum.lines += lines;
  sum.bytes += bytes;
  sum.tooLong += tooLong;
}

/** Takes away a last value, because a line without its newline may end within it: `DPT=54` of 5432 is another port. */
export function withoutHalfValue(text: string): string {
  return text.replace(/ [A-Z]+=[^ =]*$/, ' ');
}
