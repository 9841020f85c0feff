import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { descriptorsOf } from '../following.ts';
import { line, numberOf, readingTools } from './reading.ts';

vi.mock(import('../../../../src/read/sources/tail/content.ts'), async (original) => {
  const { openPackedAtOnce } = await import('./packed-at-once.ts');
  return { ...(await original()), openPackedContent: openPackedAtOnce };
});

const { read, unused } = readingTools();
const short = (number: number): string => `${number}\n`;
/** A time in seconds. */
const soon = (): number => Date.now() / 1000 + 60;

/** Rotations of a log with content, each of which leaves an empty log. */
const styles: Record<string, (log: string, number: number) => void> = {
  'numbers, a new file': (log) => {
    shift(log);
    renameSync(log, `${log}.1`);
    writeFileSync(log, '');
  },
  'numbers, packed later': (log) => {
    shift(log);
    if (exists(`${log}.2`)) pack(`${log}.2`);
    renameSync(log, `${log}.1`);
    writeFileSync(log, '');
  },
  dates: (log, number) => {
    renameSync(log, `${log}-2026112${number}`);
    writeFileSync(log, '');
  },
  'copied and truncated': (log) => {
    shift(log);
    copyFileSync(log, `${log}.1`);
    truncateSync(log);
  },
};

test.each(['numbers, a new file', 'dates'])(
  'files of less than 64 bytes are recognized by their inode: %s',
  (style) => {
    const log = unused();
    writeFileSync(log, short(0));
    const saved = read(log).stop();
    appendFileSync(log, short(1));
    for (let number = 1; number <= 3; number++) {
      styles[style]?.(log, number);
      appendFileSync(log, short(1 + number));
    }
    expect(read(log, saved).lines).toStrictEqual(['1', '2', '3', '4']);
  },
);

test('files that were empty are read from their start', () => {
  const log = unused();
  writeFileSync(log, '');
  const saved = read(log).stop();
  appendFileSync(log, short(0));
  styles['numbers, a new file']?.(log, 1);
  appendFileSync(log, short(1));
  expect(read(log, saved).lines).toStrictEqual(['0', '1']);
});

const replaced = { level: 'warn', key: 'replaced' };

test('the position is kept if all files are gone, and new files are read from their start', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const saved = read(log).stop();
  rmSync(log);
  const { lines, time, log: reader, notices } = read(log, saved);
  expect([reader.state, reader.position]).toStrictEqual(['waiting', saved]);
  writeFileSync(log, line(1));
  time.advance(2000);
  expect(lines.map(numberOf)).toStrictEqual([1]);
  expect(notices.map(({ key }) => key)).toStrictEqual(expect.arrayContaining(['missing']));
});

test('a rotated file with later writes is read, an older one is not', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const now = Math.floor(Date.now() / 1000);
  utimesSync(log, now, now);
  const saved = read(log).stop();
  // The old file is moved away, so that no new one has its inode.
  renameSync(log, `${log}.gone`);
  for (const [end, number, seconds] of [
    ['.2', 1, 0],
    ['.1', 2, 1],
    ['', 3, 2],
  ] as const) {
    writeFileSync(log + end, line(number));
    utimesSync(log + end, now + seconds, now + seconds);
  }
  const { lines, notices } = read(log, saved);
  expect(lines.map(numberOf)).toStrictEqual([2, 3]);
  expect(notices).toMatchObject([replaced]);
});

test('a file that follows the last one read is read even if the clock was set back meanwhile', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const saved = read(log).stop();
  for (const number of [1, 2]) {
    styles['numbers, a new file']?.(log, number);
    writeFileSync(log, line(number));
  }
  const earlier = Date.now() / 1000 - 60;
  utimesSync(`${log}.1`, earlier, earlier);
  expect(read(log, saved).lines.map(numberOf)).toStrictEqual([1, 2]);
});

test('if the copy of a cut-off log is gone, a loss is reported', () => {
  const log = unused();
  writeFileSync(log, line(0) + line(1));
  const saved = read(log).stop();
  writeFileSync(log, line(2));
  const { lines, notices } = read(log, saved);
  expect(lines.map(numberOf)).toStrictEqual([2]);
  expect(notices).toMatchObject([replaced]);
});

const old = '.20261121-101501';

test('a log from before the first start is not read', () => {
  const log = unused();
  writeFileSync(log + old, line(0));
  writeFileSync(log, line(1));
  const saved = read(log).stop();
  writeFileSync(log, line(2));
  packLater(log + old);
  const again = read(log, saved);
  expect(again.lines.map(numberOf)).toStrictEqual([2]);
  writeFileSync(log, line(3));
  expect(read(log, again.stop()).lines.map(numberOf)).toStrictEqual([3]);
});

test('a file that also exists compressed is read and held open once', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const saved = read(log).stop();
  styles['numbers, a new file']?.(log, 1);
  writeFileSync(`${log}.1.gz`, gzipSync(readFileSync(`${log}.1`)));
  writeFileSync(log, line(1));
  expect(read(log, saved).lines.map(numberOf)).toStrictEqual([1]);
  expect(descriptorsOf(`${log}.1.gz`)).toStrictEqual([]);
});

test.each([0, 30, 100])(
  'while a log is copied a second time, after the first copy was read, each line counts once: %i bytes of the copy exist',
  (bytes) => {
    const log = unused();
    writeFileSync(log, line(0));
    const saved = read(log).stop();
    styles['copied and truncated']?.(log, 1);
    appendFileSync(log, line(1) + line(2));
    shift(log);
    writeFileSync(`${log}.1`, readFileSync(log).subarray(0, bytes));
    const { lines, time, losses, notices } = read(log, saved);
    copyFileSync(log, `${log}.1`);
    time.advance(2000);
    truncateSync(log);
    appendFileSync(log, line(3));
    time.advance(2000);
    expect(lines.map(numberOf)).toStrictEqual([1, 2, 3]);
    expect([losses, notices]).toStrictEqual([[], []]);
  },
);

test.each<[string, number]>([
  ['the end is at once', 0],
  ['the end is when what came then has been read', 200],
])('a log is written, copied and cut off before any of it was read: %s: lines in the copy are not lost', (_, delay) => {
  const log = unused();
  writeFileSync(log, '');
  const longAgo = Date.now() / 1000 - 60;
  utimesSync(log, longAgo, longAgo);
  const first = read(log);
  overtake(log);
  first.time.advance(delay);
  const second = read(log, first.stop());
  expect(new Set([...first.lines, ...second.lines].map(numberOf))).toStrictEqual(new Set([0, 1]));
  expect(first.lines.length + second.lines.length).toBe(2);
});

test('the first start: earlier rotated files are not read, even if they are copied or compressed', () => {
  const log = unused();
  writeFileSync(`${log}.3`, line(0));
  pack(`${log}.3`);
  writeFileSync(`${log}.2`, line(1));
  writeFileSync(log, line(2));
  copyFileSync(log, `${log}.1`);
  const { lines, time } = read(log);
  styles['numbers, packed later']?.(log, 1);
  time.advance(5000);
  expect(lines.map(numberOf)).toStrictEqual([2]);
});

function overtake(log: string): void {
  writeFileSync(log, line(0));
  styles['copied and truncated']?.(log, 1);
  appendFileSync(log, line(1));
}

function shift(log: string): void {
  for (const number of [8, 7, 6, 5, 4, 3, 2, 1])
    for (const end of ['', '.gz'])
      if (exists(`${log}.${number}${end}`)) renameSync(`${log}.${number}${end}`, `${log}.${number + 1}${end}`);
}

function pack(file: string): void {
  writeFileSync(`${file}.gz.tmp`, gzipSync(readFileSync(file)));
  renameSync(`${file}.gz.tmp`, `${file}.gz`);
  unlinkSync(file);
}

function packLater(file: string): void {
  pack(file);
  utimesSync(`${file}.gz`, soon(), soon());
}

function exists(file: string): boolean {
  try {
    return readFileSync(file) !== undefined;
  } catch {
    return false;
  }
}
