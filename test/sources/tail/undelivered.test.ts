import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { LinePlace } from '../../../src/sources/tail/followed-log.ts';
import { line, readingTools } from './reading.ts';

const { read, unused } = readingTools();

/** Keeps the places of those lines until it is told otherwise. */
function waiting(...numbers: number[]): {
  options: { undelivered: () => Iterable<LinePlace>; onLine: (text: string, place: LinePlace) => void };
  seen: number[];
  deliver: (number: number) => void;
} {
  const held = new Map<number, LinePlace>();
  const seen: number[] = [];
  return {
    seen,
    deliver: (number) => void held.delete(number),
    options: {
      undelivered: () => held.values(),
      onLine(text, place) {
        const number = Number(/^line (\d+)/.exec(text)?.[1]);
        seen.push(number);
        if (numbers.includes(number)) held.set(number, place);
      },
    },
  };
}

function numbersAfter(path: string, stop: () => ReturnType<ReturnType<typeof read>['stop']>): number[] {
  return read(path, stop()).lines.map((text) => Number(/^line (\d+)/.exec(text)?.[1]));
}

describe('lines that wait for others: the position stays before them', () => {
  test.each<[string, number[], number[]]>([
    ['none', [], []],
    ['the last', [3], [3]],
    ['one within: what came after it comes again, too', [1], [1, 2, 3]],
    ['several: from the first on', [3, 1], [1, 2, 3]],
    ['the first', [0], [0, 1, 2, 3]],
  ])('%s', (_, held, expected) => {
    const log = unused();
    writeFileSync(log, [0, 1, 2, 3].map(line).join(''));
    const { options, seen } = waiting(...held);
    const { stop } = read(log, undefined, options);
    expect(seen).toStrictEqual([0, 1, 2, 3]);
    expect(numbersAfter(log, stop)).toStrictEqual(expected);
  });

  test('until they are delivered', () => {
    const log = unused();
    writeFileSync(log, [0, 1].map(line).join(''));
    const { options, deliver } = waiting(0);
    const { log: reader, stop } = read(log, undefined, options);
    expect(reader.position).toMatchObject({ files: [{ offset: 0 }] });
    deliver(0);
    expect(reader.position).toMatchObject({ files: [{ offset: 160 }] });
    expect(numbersAfter(log, stop)).toStrictEqual([]);
  });

  test('over several files: in each before its own', () => {
    const log = unused();
    writeFileSync(log, [0, 1, 2].map(line).join(''));
    const { options, seen } = waiting(2, 4);
    const { stop, time } = read(log, undefined, options);
    renameSync(log, `${log}.1`);
    writeFileSync(log, [3, 4, 5].map(line).join(''));
    time.advance(2000);
    expect(seen).toStrictEqual([0, 1, 2, 3, 4, 5]);
    expect(numbersAfter(log, stop)).toStrictEqual([2, 4, 5]);
  });

  test('in a file that is done with otherwise', () => {
    const log = unused();
    writeFileSync(log, [0, 1].map(line).join(''));
    const { options } = waiting(1);
    const { stop, time } = read(log, undefined, options);
    renameSync(log, `${log}.1`);
    writeFileSync(log, line(2));
    time.advance(120_000);
    appendFileSync(log, line(3));
    time.advance(2000);
    expect(numbersAfter(log, stop)).toStrictEqual([1]);
  });
});
