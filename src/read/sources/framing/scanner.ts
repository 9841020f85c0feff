import { createNeedleSearch } from './needles.ts';

/** The longest line in bytes, with its newline. The kernel's records have at most 8 KiB, and container runtimes cut at 16 KiB. */
export const maxLineLength = 64 * 1024;

/** Joins a block with the rest of the block before it. All scanners share this buffer, because a node may have hundreds of logs. */
const buffer = Buffer.allocUnsafeSlow(2 * maxLineLength);
const nothing = Buffer.alloc(0);

const newline = 10;
const carriageReturn = 13;

export interface ScanCounts {
  /** The number of physical lines. The last one counts even without a newline. */
  lines: number;
  bytes: number;
  tooLong: number;
}

export interface LineSink {
  /** `line`: latin1; it keeps no block in memory. `number` counts from 1. `cut`: this last line has no newline. */
  take: (line: string, number: number, cut: boolean) => void;
  tooLong: (number: number) => void;
  /** Takes a line with a needle as bytes; true if it needs no string. `end`: before the line break. `hit`: its first needle. */
  takeBytes?: ((bytes: Buffer, start: number, end: number, hit: number) => boolean) | undefined;
  /** Returns whether the next line is needed even without a needle, because it may continue a record. */
  isOpen?: (() => boolean) | undefined;
  /** Called after the last line in one turn of the event loop. */
  turnEnded?: (() => void) | undefined;
}

export interface ScannerOptions {
  /** Only lines with one of these are handed over. They are latin1 without newlines. Undefined: every line is handed over. */
  needles: readonly string[] | undefined;
  lines: LineSink;
  /** The input begins inside a line that is too long, so its rest is skipped. */
  skipping?: boolean;
}

export interface Scanner {
  counts: Readonly<ScanCounts>;
  /** The bytes of the unfinished last line, and during a call of a `LineSink` also those after the current line. */
  readonly held: number;
  readonly skipping: boolean;
  write(block: Buffer): void;
  end(): void;
}

/** Searches needles before it cuts blocks into lines, which is several times faster if one line in ten has one (`npm run bench`). */
export function createScanner({ skipping = false, ...options }: ScannerOptions): Scanner {
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  const cutter = createLineCutter(options, counts);
  /** The bytes after the last newline. While a block is being read, they are in `buffer`. */
  let remaining = nothing;
  let held = 0;
  /** The number of bytes before those in `buffer`. */
  let before = 0;

  return {
    counts,
    get held() {
      return counts.bytes - before - cutter.passed;
    },
    get skipping() {
      return skipping;
    },
    write(block: Buffer): void {
      remaining.copy(buffer);
      counts.bytes += block.length;
      // A step has at most the length of one line, so that held and new bytes always fit into the buffer.
      for (let at = 0; at < block.length; at += maxLineLength) take(block.subarray(at, at + maxLineLength));
      remaining = held > 0 ? Buffer.from(buffer.subarray(0, held)) : nothing;
    },
    end(): void {
      remaining.copy(buffer);
      remaining = nothing;
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
    /** The position in `buffer` of the end of the last line that was handed over or skipped. */
    passed: 0,
    /** Takes whole lines with their newlines from the first `length` bytes of `buffer`. */
    takeAll(length: number): void {
      let start = 0;
      if (search === undefined) {
        while (start < length) start = takeLine(start, -1);
        return;
      }
      search.reset();
      while (start < length && lines.isOpen?.() === true) start = takeLine(start, -1);
      for (let found = 0; (found = search.next(buffer, start, length)) >= 0;) {
        start = takeLine(countTo(start, found), found);
        while (start < length && lines.isOpen?.() === true) start = takeLine(start, -1);
      }
      countTo(start, length);
    },
    takeLast(length: number): void {
      search?.reset();
      if (search === undefined || lines.isOpen?.() === true || search.next(buffer, 0, length) >= 0)
        lines.take(buffer.toString('latin1', 0, contentEnd(0, length)), counts.lines, true);
    },
    tooLong(number: number): void {
      counts.tooLong++;
      lines.tooLong(number);
    },
  };
  return cutter;

  /** `hit`: the position of the line's first needle; -1 if no needles are searched. */
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

  /** Counts the lines that end at or before `position`, and returns where the next one starts. */
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

/** Removes the last value of a line without a newline, because it may be cut off: `DPT=54` may be the beginning of 5432. */
export function withoutHalfValue(text: string): string {
  return text.replace(/ [A-Z]+=[^ =]*$/, ' ');
}
