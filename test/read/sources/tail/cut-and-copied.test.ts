import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import { line, numberOf, readingTools } from './reading.ts';

vi.mock(import('../../../../src/read/sources/tail/content.ts'), async (original) => {
  const { openPackedAtOnce } = await import('./packed-at-once.ts');
  return { ...(await original()), openPackedContent: openPackedAtOnce };
});

const { read, unused } = readingTools();
const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number);
const text = (count: number): string => numbers(count).map(line).join('');

/** Ways in which a log that was cut off becomes the rotated file before the present log. */
const rotations: Record<string, (log: string) => void> = {
  renamed: (log) => renameSync(log, `${log}.1`),
  'copied and emptied': (log) => {
    copyFileSync(log, `${log}.1`);
    truncateSync(log);
  },
  packed: (log) => {
    writeFileSync(`${log}.1.gz`, gzipSync(readFileSync(log)));
    unlinkSync(log);
  },
};

describe.each(Object.keys(rotations))('a log is cut off, then %s, while no agent runs', (how) => {
  /** How many bytes are left; a line has 80. */
  test.each([160, 640, 1600])(
    '%i bytes are left: no line counts twice, a loss is reported, and the next file is read',
    (left) => {
      const log = unused();
      writeFileSync(log, text(30));
      const saved = read(log).stop();
      truncateSync(log, left);
      rotations[how]?.(log);
      appendFileSync(log, line(30));
      const { lines, losses, time } = read(log, saved);
      time.advance(10_000);
      expect(lines.map(numberOf)).toStrictEqual([30]);
      expect(losses.map(([count]) => count)).toStrictEqual([undefined]);
    },
  );
});

test('a cut-off log is found only after another one was begun: no line counts twice, and a loss is reported', () => {
  const log = unused();
  writeFileSync(log, text(30));
  const saved = read(log).stop();
  renameSync(log, `${log}.moved`);
  truncateSync(`${log}.moved`, 1600);
  writeFileSync(log, line(30));
  const lines: string[] = [];
  const { losses } = read(log, saved, {
    lines: {
      take(each) {
        if (lines.push(each) === 1) renameSync(`${log}.moved`, `${log}.1`);
      },
    },
  });
  expect(lines.map(numberOf)).toStrictEqual([30]);
  expect(losses.map(([count]) => count)).toStrictEqual([undefined]);
});

test('a compressed log is damaged: a loss is reported once, whatever is rotated later', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const saved = read(log).stop();
  renameSync(log, `${log}.2`);
  writeFileSync(`${log}.1.gz`, gzipSync(text(30).slice(80)).subarray(0, -8));
  writeFileSync(log, line(30));
  const { lines, losses, time } = read(log, saved);
  for (const name of ['.7', '.8']) {
    writeFileSync(log + name, '');
    time.advance(10_000);
  }
  expect(lines.map(numberOf)).toStrictEqual([30]);
  expect(losses.map(([count]) => count)).toStrictEqual([undefined]);
});
