import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createScanner, maxLineLength, type ScannerOptions } from '../../../src/read/sources/framing/scanner.ts';
import { forAll } from '../../for-all.ts';

const needles = ['IN=', 'table overflow', 'table full'];

type Wanted = Pick<ScannerOptions, 'needles'>;
const some: Wanted = { needles };
const every: Wanted = { needles: undefined };

interface Scan {
  /** The text, number and `cut` of each line that was handed over. */
  found: [string, number, boolean][];
  tooLong: number[];
  counts: { lines: number; bytes: number; tooLong: number };
}

/** Scans blocks. Each block is overwritten after the call, as when a file is read. */
function scan(blocks: Iterable<Uint8Array>, skipping = false, wanted = some): Scan {
  const found: Scan['found'] = [];
  const tooLong: number[] = [];
  const scanner = createScanner({
    ...wanted,
    skipping,
    lines: {
      take: (line, number, cut) => void found.push([line, number, cut]),
      tooLong: (number) => void tooLong.push(number),
    },
  });
  for (const block of blocks) {
    const borrowed = Buffer.from(block);
    scanner.write(borrowed);
    borrowed.fill('\nIN=');
  }
  scanner.end();
  return { found, tooLong, counts: { ...scanner.counts } };
}

/** The same in the obvious way: with the whole text in memory. */
function reference(text: string, wanted = some): Scan {
  const pieces = text.split('\n');
  const last = pieces.pop() ?? '';
  const lines = [
    ...pieces.map((piece) => ({ piece, cut: false })),
    ...(last === '' ? [] : [{ piece: last, cut: true }]),
  ];
  const found: Scan['found'] = [];
  const tooLong: number[] = [];
  for (const [index, { piece, cut }] of lines.entries()) {
    if (piece.length + (cut ? 0 : 1) > maxLineLength) tooLong.push(index + 1);
    else if (wanted.needles?.some((needle) => piece.includes(needle)) ?? true)
      found.push([piece.replace(/\r$/, ''), index + 1, cut]);
  }
  return { found, tooLong, counts: { lines: lines.length, bytes: text.length, tooLong: tooLong.length } };
}

/** Cuts into blocks of the given sizes, repeated until the end. */
function* cutInto(text: string, sizes: readonly number[]): Generator<Uint8Array> {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] as number;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const snippet = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('\n', '\r\n', '\n\n', '\r', ...needles) },
  { weight: 2, arbitrary: fc.constantFrom('I', 'IN', 'N=', 'table ', 'table overflo', 'ull', '\0', '\0\0IN=\0') },
  {
    weight: 2,
    arbitrary: fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 12,
    }),
  },
);
const text = fc.array(snippet, { maxLength: 40 }).map((parts) => parts.join(''));
/** A number stands for this many bytes of a line, so that a counterexample can be read. */
const aboutTooLong = fc
  .tuple(fc.constantFrom(1, 2, 3), fc.integer({ min: -3, max: 3 }))
  .map(([times, more]) => times * maxLineLength + more);
const longParts = fc.array(fc.oneof({ weight: 3, arbitrary: snippet }, { weight: 1, arbitrary: aboutTooLong }), {
  maxLength: 12,
});

const written = (parts: (string | number)[]): string =>
  parts.map((part) => (typeof part === 'number' ? 'x'.repeat(part) : part)).join('');

function agrees(all: string, sizes: readonly number[]): void {
  expect(scan(cutInto(all, sizes))).toStrictEqual(reference(all));
}

function agreesOnAll(all: string, sizes: readonly number[]): void {
  expect(scan(cutInto(all, sizes), false, every)).toStrictEqual(reference(all, every));
}

test('any text cut into any blocks gives its lines: short lines are complete', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 });
  fc.assert(fc.property(text, sizes, agrees), { numRuns: 2000 });
  fc.assert(fc.property(text, sizes, agreesOnAll), { numRuns: 2000 });
});

test('any text cut into any blocks gives its lines: lines near the length limit are complete', () => {
  const size = fc.oneof(
    fc.integer({ min: 1000, max: 200_000 }),
    fc.integer({ min: maxLineLength - 2, max: maxLineLength + 2 }),
  );
  const sizes = fc.array(size, { minLength: 1, maxLength: 4 });
  forAll([longParts, sizes], { numRuns: 200 }, (parts, each) => agrees(written(parts), each));
  forAll([longParts, sizes], { numRuns: 200 }, (parts, each) => agreesOnAll(written(parts), each));
});

const stopsAt = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 4 });
const eachOrNone = fc.constantFrom(some, every);

test('short lines are complete', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 });
  fc.assert(fc.property(text, sizes, stopsAt, eachOrNone, agreesInParts), { numRuns: 2000 });
});

test('lines near the length limit are complete', () => {
  const sizes = fc.array(fc.integer({ min: 1000, max: 200_000 }), { minLength: 1, maxLength: 4 });
  forAll([longParts, sizes, stopsAt, eachOrNone], { numRuns: 200 }, (parts, each, places, wanted) =>
    agreesInParts(written(parts), each, places, wanted),
  );
});

test('the rest of a line that is too long is a line, but not one that is too long', () => {
  const { found, tooLong, counts } = scan([Buffer.from('rest IN=\nIN=1\n')], true);
  expect(found).toStrictEqual([['IN=1', 2, false]]);
  expect(tooLong).toStrictEqual([]);
  expect(counts).toStrictEqual({ lines: 2, bytes: 14, tooLong: 0 });
});

test('a scanner reports how much it holds and whether it skips, even while it hands over a line', () => {
  const seen: [number, boolean][] = [];
  const look = (): void => void seen.push([scanner.held, scanner.skipping]);
  const scanner = createScanner({ needles, lines: { take: look, tooLong: look } });
  const long = 'x'.repeat(maxLineLength + 1);
  scanner.write(Buffer.from(`IN=1\nother\nIN=2\n${long}`));
  look();
  scanner.write(Buffer.from('yyy'));
  look();
  scanner.write(Buffer.from('y\nIN=3\nIN='));
  look();
  scanner.end();
  look();
  expect(seen).toStrictEqual([
    [long.length + 11, false],
    [long.length, false],
    [0, true],
    [0, true],
    [0, true],
    [3, false],
    [3, false],
    [0, false],
    [0, false],
  ]);
});

/**
 * Gives the same as in one go, though at each of the `stops` another scanner takes over: after this many calls or, if a
 * block has fewer, between two blocks.
 */
function agreesInParts(all: string, sizes: readonly number[], stops: readonly number[], wanted: Wanted): void {
  const lines: [string, boolean][] = [];
  const total = { lines: 0, tooLong: 0 };
  let [offset, skipping] = [0, false];
  for (const stop of [...stops, Infinity]) {
    let place: { offset: number; skipping: boolean; lines: number; tooLong: number } | undefined;
    let calls = 0;
    const begin = offset;
    const mayStop = (): void => {
      if (++calls !== stop) return;
      const { held, counts } = scanner;
      place = { ...counts, offset: begin + counts.bytes - held, skipping: scanner.skipping };
    };
    const scanner = createScanner({
      ...wanted,
      skipping,
      lines: {
        take(line, _, cut) {
          if (place !== undefined) return;
          lines.push([line, cut]);
          mayStop();
        },
        tooLong: () => void (place === undefined && mayStop()),
      },
    });
    let blocks = 0;
    for (const block of cutInto(all.slice(begin), sizes)) {
      scanner.write(Buffer.from(block));
      if (place !== undefined || ++blocks > stop) break;
    }
    if (stop === Infinity) scanner.end();
    const { held, counts } = scanner;
    place ??= { ...counts, offset: begin + counts.bytes - held, skipping: scanner.skipping };
    ({ offset, skipping } = place);
    total.lines += place.lines;
    total.tooLong += place.tooLong;
  }
  const { found, counts } = reference(all, wanted);
  expect(lines).toStrictEqual(found.map(([line, , cut]) => [line, cut]));
  expect(total).toStrictEqual({ lines: counts.lines, tooLong: counts.tooLong });
}

test.each(needles)('%s is found wherever a block ends within it', (needle) => {
  const all = `first\nbefore ${needle} behind\nlast\n`;
  const expected = [[`before ${needle} behind`, 2, false]];
  for (let at = 1; at < all.length; at++)
    expect(scan([Buffer.from(all.slice(0, at)), Buffer.from(all.slice(at))]).found).toStrictEqual(expected);
});

test('without needles: no list differs from an empty list', () => {
  expect(scan([Buffer.from('a\nb')], false, { needles: [] }).found).toStrictEqual([]);
});

test('100 MB without a newline need no more memory than one line', () => {
  const block = Buffer.alloc(64 * 1024, 'IN= ');
  const tooLong: number[] = [];
  const found: [string, number][] = [];
  const scanner = createScanner({
    needles,
    lines: { take: (line, number) => void found.push([line, number]), tooLong: (number) => void tooLong.push(number) },
  });
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1600; i++) scanner.write(block);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  scanner.write(Buffer.from('\nIN=2\n'));
  scanner.end();
  expect(found).toStrictEqual([['IN=2', 2]]);
  expect(tooLong).toStrictEqual([1]);
  expect(scanner.counts).toStrictEqual({ lines: 2, bytes: 1600 * block.length + 6, tooLong: 1 });
});
