import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeEach, expect, test, vi } from 'vitest';
import { forAll } from '../../../for-all.ts';
import { line, numberOf, readingTools } from './reading.ts';

/** How many files may be open, how many are, and how many were at most. */
const limit = vi.hoisted(() => ({ most: Infinity, open: 0, highest: 0 }));

vi.mock(import('../../../../src/read/sources/tail/open-log.ts'), async (original) => {
  const real = await original();
  return {
    ...real,
    openLog(path) {
      if (limit.open >= limit.most) return { kind: 'unreadable', text: `${path}: too many open files`, isLimit: true };
      const log = real.openLog(path);
      if (!('kind' in log)) limit.highest = Math.max(limit.highest, ++limit.open);
      return log;
    },
    closeLog(log) {
      limit.open--;
      real.closeLog(log);
    },
  };
});

const { read, unused } = readingTools();

beforeEach(() => void Object.assign(limit, { most: Infinity, open: 0, highest: 0 }));

function rotate(log: string, rotations: number): void {
  for (let number = rotations; number > 0; number--)
    try {
      renameSync(`${log}${number === 1 ? '' : `.${number - 1}`}`, `${log}.${number}`);
    } catch {
      // There are not this many rotated files yet.
    }
  writeFileSync(log, '');
}

test('with fewer descriptors than rotated files, all are read in the end, each line once', () => {
  const programs = [fc.integer({ min: 2, max: 12 }), fc.integer({ min: 1, max: 16 }), fc.boolean()] as const;
  forAll([...programs], { numRuns: 8 }, (most, rotations, isDown) => {
    Object.assign(limit, { most, open: 0, highest: 0 });
    const log = unused();
    let written = 0;
    writeFileSync(log, line(written++));
    let reader = read(log);
    const before = reader.lines;
    const saved = isDown ? reader.stop() : undefined;
    for (let each = 0; each < rotations; each++) {
      appendFileSync(log, line(written++));
      rotate(log, rotations);
    }
    appendFileSync(log, line(written++));
    if (isDown) reader = read(log, saved);
    reader.time.advance(150_000);
    const lines = [...(isDown ? before : []), ...reader.lines].map(numberOf);
    expect(lines.toSorted((a, b) => a - b)).toEqual(Array.from({ length: written }, (_, number) => number));
    expect(limit.highest).toBeLessThanOrEqual(most);
    expect(reader.losses).toEqual([]);
    reader.stop();
    expect(limit.open).toBe(0);
  });
});
