import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { forAll } from '../../../for-all.ts';
import { line, numberOf, readingTools } from './reading.ts';

vi.mock(import('../../../../src/read/sources/tail/content.ts'), async (original) => {
  const { openPackedAtOnce } = await import('./packed-at-once.ts');
  return { ...(await original()), openPackedContent: openPackedAtOnce };
});

const { read, unused } = readingTools();

/** A change of a log while no agent runs, which leaves an empty log at its path. `time`: the number of the rotation. */
type Change = (log: string, time: number) => void;

const moved =
  (to: (log: string, time: number) => string, pack?: (content: Buffer) => Buffer): Change =>
  (log, time) => {
    const target = to(log, time);
    mkdirSync(dirname(target), { recursive: true });
    if (pack === undefined) renameSync(log, target);
    else writeFileSync(target, pack(readFileSync(log)));
    if (pack !== undefined) unlinkSync(log);
    writeFileSync(log, '');
  };
/** Stands for an unsupported compression. */
const foreign = (content: Buffer): Buffer => Buffer.concat([Buffer.from('\xfd7zXZ', 'latin1'), content.toReversed()]);
const day = (time: number): string => String(10 + time);

const changes: Record<string, Change> = {
  'by day': moved((log, time) => `${log}-202611${day(time)}`),
  'by day with hyphens': moved((log, time) => `${log}-2026-11-${day(time)}`),
  'by day and hour with hyphens': moved((log, time) => `${log}-2026-11-21_${day(time)}`),
  'by day, gzip': moved((log, time) => `${log}-202611${day(time)}.gz`, gzipSync),
  xz: moved((log, time) => `${log}-202611${day(time)}.xz`, foreign),
  bzip2: moved((log, time) => `${log}-202611${day(time)}.bz2`, foreign),
  zstd: moved((log, time) => `${log}-202611${day(time)}.zst`, foreign),
  'a folder of old ones': moved((log, time) => `${dirname(log)}/old/kern.log-202611${day(time)}`),
  'a folder of old ones, gzip': moved((log, time) => `${dirname(log)}/old/kern.log-202611${day(time)}.gz`, gzipSync),
  'a folder of old ones, numbered': (log) => {
    const old = `${dirname(log)}/old/kern.log`;
    mkdirSync(dirname(old), { recursive: true });
    for (const number of [3, 2, 1])
      if (existsSync(`${old}.${number}`)) renameSync(`${old}.${number}`, `${old}.${number + 1}`);
    renameSync(log, `${old}.1`);
    writeFileSync(log, '');
  },
  'another name': moved((log, time) => `${dirname(log)}/before-${time}`),
  'copied, truncated': (log, time) => {
    copyFileSync(log, `${log}-202611${day(time)}`);
    truncateSync(log);
  },
  emptied: (log) => truncateSync(log),
  deleted: (log) => {
    unlinkSync(log);
    writeFileSync(log, '');
  },
};

test('whatever happens to a log while no agent runs, each line is read once, or the loss is counted', () => {
  const names = fc.constantFrom(...Object.keys(changes));
  const amounts = fc.integer({ min: 0, max: 3 });
  forAll([names, fc.array(amounts, { minLength: 1, maxLength: 3 }), amounts], { numRuns: 150 }, (name, steps, last) => {
    const log = unused();
    let written = 0;
    const write = (count: number): void => {
      for (let i = 0; i < count; i++) appendFileSync(log, line(written++));
    };
    write(2);
    const first = read(log);
    const saved = first.stop();
    for (const [index, amount] of steps.entries()) {
      write(amount);
      changes[name]?.(log, index);
    }
    write(last);
    const { lines, losses, time } = read(log, saved);
    time.advance(3000);
    const seen = [...first.lines, ...lines].map(numberOf);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    if (seen.length < written) expect(losses.length).toBeGreaterThan(0);
  });
});

const byFolder = Object.keys(changes).filter((name) => name.startsWith('a folder of old ones'));

test.each(byFolder)('a log that was rotated to %s is read on there, but another log with its name is not', (name) => {
  const log = unused();
  const stranger = `${dirname(log)}/other-host/kern.log-20261113`;
  mkdirSync(dirname(stranger));
  writeFileSync(stranger, line(99));
  let written = 0;
  appendFileSync(log, line(written++));
  const saved = read(log).stop();
  for (const time of [0, 1, 2]) {
    appendFileSync(log, line(written++));
    changes[name]?.(log, time);
  }
  appendFileSync(log, line(written++));
  const { lines, losses, time } = read(log, saved);
  time.advance(3000);
  expect(lines.map(numberOf)).toEqual([1, 2, 3, 4]);
  expect(losses).toEqual([]);
});

test('a log that was empty and was rotated to another folder is read there', () => {
  const log = unused();
  writeFileSync(log, '');
  const saved = read(log).stop();
  appendFileSync(log, line(0));
  changes['a folder of old ones']?.(log, 0);
  appendFileSync(log, line(1));
  const { lines } = read(log, saved);
  expect(lines.map(numberOf)).toEqual([0, 1]);
});

test('a link that was turned to files of other days is followed through all of them', () => {
  const log = unused();
  const turnTo = (name: string, content: string): void => {
    const target = `${dirname(log)}/${name}`;
    writeFileSync(target, content);
    rmSync(log, { force: true });
    symlinkSync(target, log);
  };
  turnTo('kern-20261125.log', line(0));
  const saved = read(log).stop();
  appendFileSync(log, line(1));
  for (const number of [2, 3, 4]) turnTo(`kern-202611${26 + number}.log`, line(number));
  // Other files in the folder.
  writeFileSync(`${dirname(log)}/kern-errors-20261127.log`, line(8));
  writeFileSync(`${dirname(log)}/auth-20261127.log`, line(9));
  const { lines, losses } = read(log, saved);
  expect(lines.map(numberOf)).toEqual([1, 2, 3, 4]);
  expect(losses).toEqual([]);
});
