import {
  appendFileSync,
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  mkdirSync,
  openSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { asUnprivileged } from './tail/as-unprivileged.ts';
import { descriptorsOf, followingTools, kept, noon } from './following.ts';

const { follow, prepare, written } = followingTools();
const mebibyte = `${'x'.repeat(1023)}\n`.repeat(1024);

test('an unfinished last line is read a minute later, unless its value may be cut', () => {
  const file = written('IN=1\nkernel: IN=eth0 OUT=et');
  const { texts, time } = follow(file);
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'IN=3\n');
  time.advance(59_000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=3']);
  time.advance(3000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=3', 'IN=eth0 ']);
});

test('the listener may stop a source when it gets the last line of a renamed file', () => {
  const file = written('IN=1\nIN=2');
  const { texts, time } = follow(file, { onLine: (source) => source.counts.lines === 3 && source.stop() });
  renameSync(file, `${file}.1`);
  writeFileSync(file, '');
  appendFileSync(file, 'other\n');
  time.advance(62_000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect([descriptorsOf(file), descriptorsOf(`${file}.1`)]).toStrictEqual([[], []]);
  expect(time.pending).toBe(0);
});

test('the new file is read only once it has content, because its writer may not know of it yet', () => {
  const file = written('IN=1\n');
  const { texts, time, losses } = follow(file);
  renameSync(file, `${file}.1`);
  writeFileSync(file, '');
  time.advance(30_000);
  appendFileSync(`${file}.1`, 'IN=2\n');
  time.advance(1000);
  appendFileSync(file, 'IN=3\n');
  time.advance(2000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', 'IN=3']);
  expect(losses).toStrictEqual([]);
});

test('files renamed faster than they can be held open are reported as lost', () => {
  const file = written('IN=0\n');
  const { source, time, losses, texts } = prepare(file);
  source.start();
  for (let number = 1; number <= 270; number++) {
    renameSync(file, `${file}.${1000 - number}`);
    writeFileSync(file, `IN=${number}\n`);
  }
  time.advance(1000);
  expect(losses.length).toBeGreaterThan(0);
  expect(losses[0]).toMatchObject({ count: 7, unit: 'bytes' });
  expect(texts().length + losses.length).toBe(271);
});

test('lines written to the old file within a minute are read too, even if none was written for hours before', () => {
  const file = written('IN=1\n');
  const { texts, time } = follow(file);
  time.advance(7_200_000);
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'IN=2\n');
  time.advance(58_000);
  appendFileSync(`${file}.1`, 'IN=late\n');
  time.advance(1000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', 'IN=late']);
  time.advance(62_000);
  expect(descriptorsOf(`${file}.1`)).toHaveLength(0);
});

test('the file may be renamed back, as the kubelet does if the runtime continues with the old file', () => {
  const file = written('IN=1\n');
  const { texts, time, losses } = follow(file);
  renameSync(file, `${file}.1`);
  writeFileSync(file, '');
  time.advance(1000);
  renameSync(`${file}.1`, file);
  appendFileSync(file, 'IN=2\n');
  time.advance(3000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(losses).toStrictEqual([]);
});

test('both files are read if one is renamed back over another that has content', () => {
  const file = written('IN=1\n');
  const { texts, time, losses } = follow(file);
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'IN=between\n');
  time.advance(1000);
  renameSync(`${file}.1`, file);
  time.advance(3000);
  appendFileSync(file, 'IN=2\n');
  time.advance(70_000);
  appendFileSync(file, 'IN=3\n');
  time.advance(3000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=between', 'IN=2', 'IN=3']);
  expect(losses).toStrictEqual([]);
});

test('a folder in place of the file gives a notice, and the old file is still read', () => {
  const file = written('IN=1\n');
  const { texts, time, notices, source } = follow(file);
  renameSync(file, `${file}.1`);
  mkdirSync(file);
  time.advance(2000);
  appendFileSync(`${file}.1`, 'IN=2\n');
  time.advance(10_000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(source.state).toBe('reading');
  expect(notices).toMatchObject([{ level: 'error', key: 'not-a-file' }]);
});

test('a new file without permission gives a notice, and another one once it may be read', () => {
  const file = written('IN=1\n');
  const { texts, time, notices } = follow(file);
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'IN=2\n', { mode: 0 });
  asUnprivileged(() => time.advance(30_000));
  expect(notices).toMatchObject([{ level: 'error', key: 'unreadable' }]);
  chmodSync(file, 0o644);
  time.advance(30_000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(notices.slice(1)).toMatchObject([{ level: 'info', key: 'well' }]);
});

test('lines still written to a deleted log are read, and a notice says that others cannot read them', () => {
  const file = written('IN=1\n');
  const fd = openSync(file, constants.O_WRONLY | constants.O_APPEND);
  onTestFinished(() => closeSync(fd));
  const { texts, time, notices, source } = follow(file);
  unlinkSync(file);
  time.advance(1000);
  expect(notices).toStrictEqual([]);
  writeSync(fd, 'IN=2\n');
  time.advance(20_000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(source.state).toBe('reading');
  expect(notices).toMatchObject([{ level: 'warn', key: 'deleted' }]);
  writeFileSync(file, 'IN=3\n');
  time.advance(2000);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', 'IN=3']);
  expect(notices.slice(1)).toMatchObject([{ level: 'info', key: 'well' }]);
});

test.each<[string, string]>([
  ['and empty', ''],
  ['with less than before', 'IN=3\n'],
  ['with as much as before', 'IN=3\nIN=4\n'],
  ['with more than before', 'IN=3\nIN=4\nIN=5\n'],
])('truncated: %s: is reported, and read from the start', (_, content) => {
  const file = written('IN=1\nIN=2\n');
  const { texts, time, losses, source } = follow(file);
  writeFileSync(file, content);
  time.advance(200);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', ...content.split('\n').slice(0, -1)]);
  expect(losses).toMatchObject([{ count: undefined, unit: 'bytes', time: noon + 20 }]);
  expect(source.position).toMatchObject({ files: [{ offset: content.length }] });
  time.advance(10_000);
  expect(losses).toHaveLength(1);
});

test('if a file is truncated before all of it was read, the unread bytes are reported', () => {
  const file = written(mebibyte);
  const { source, time, losses } = prepare(file);
  source.start();
  time.step();
  truncateSync(file);
  time.advance(0);
  expect(losses).toMatchObject([{ count: 786_432, unit: 'bytes' }]);
});

test('an unfinished last line is read first', () => {
  const file = written('IN=1\nIN=2');
  const { texts, time } = follow(file);
  writeFileSync(file, 'IN=3\n');
  time.advance(200);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', 'IN=3']);
});

test('nothing is lost of a file that was not yet read', () => {
  const file = written('');
  const { texts, time, losses } = follow(file);
  writeFileSync(file, 'IN=1\n');
  time.advance(200);
  expect([texts(), losses]).toStrictEqual([['IN=1'], []]);
});

/** Lines of 100 bytes each. */
const hundreds = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `IN=${from + index} `.padEnd(99, 'x'));
const text = (from: number, to: number): string =>
  hundreds(from, to)
    .map((line) => `${line}\n`)
    .join('');

describe('cut off, but not empty', () => {
  /** The log is cut to this many bytes, before the next start or while it is read. */
  const cases: [string, number, number][] = [
    ['at the end of a line', 1000, 20],
    ['within a line', 1050, 20],
    ['to less than the first KiB of it', 550, 20],
    ['to 64 bytes', 64, 20],
    ['to half of a file of two lines', 100, 2],
  ];

  test.each(cases)('%s, while it is read: no line counts twice, and later lines are read', (_, bytes, count) => {
    const file = written(text(0, count));
    const { texts, time, losses, source } = follow(file);
    truncateSync(file, bytes);
    time.advance(1000);
    expect(source.position).toMatchObject({ files: [{ offset: bytes }] });
    appendFileSync(file, text(20, 23));
    time.advance(1000);
    expect(texts()).toStrictEqual([...hundreds(0, count), ...hundreds(20, 23)]);
    expect(losses).toMatchObject([{ count: undefined, unit: 'bytes' }]);
    time.advance(10_000);
    expect(losses).toHaveLength(1);
  });

  test.each(cases)(
    '%s, while no agent runs: no line counts twice, and lines after its start are read',
    (_, bytes, count) => {
      const file = written(text(0, count));
      const first = follow(file);
      first.source.stop();
      truncateSync(file, bytes);
      const { texts, time, losses, notices } = follow(file, { saved: kept(first.source) });
      appendFileSync(file, text(20, 23));
      time.advance(1000);
      expect(texts()).toStrictEqual(hundreds(20, 23));
      expect(losses).toMatchObject([{ count: undefined, unit: 'bytes' }]);
      expect(notices).toStrictEqual([]);
    },
  );

  test('if a file is cut off before all of it was read, the unread bytes are reported, and the rest is not read again', () => {
    const file = written(mebibyte);
    const { source, time, losses } = prepare(file);
    source.start();
    time.step();
    truncateSync(file, 100_000);
    time.advance(1000);
    expect(losses).toMatchObject([{ count: 786_432, unit: 'bytes' }]);
    expect(source.position).toMatchObject({ files: [{ offset: 100_000 }] });
  });

  test('a file that is cut off after the position is read on, although the position is within a removed line', () => {
    const file = written(text(0, 10));
    const first = follow(file);
    first.source.stop();
    appendFileSync(file, text(10, 20));
    truncateSync(file, 1250);
    appendFileSync(file, text(20, 22));
    const { texts, losses } = follow(file, { saved: kept(first.source) });
    expect(texts()).toStrictEqual([
      ...hundreds(10, 12),
      `${hundreds(12, 13)[0]?.slice(0, 50)}${hundreds(20, 21)[0]}`,
      ...hundreds(21, 22),
    ]);
    expect(losses).toStrictEqual([]);
  });

  test('a file that grew past the position before it was looked at is read on from there, because nothing shows the change', () => {
    const file = written(text(0, 20));
    const first = follow(file);
    first.source.stop();
    truncateSync(file, 1500);
    appendFileSync(file, text(20, 30));
    const { texts, losses } = follow(file, { saved: kept(first.source) });
    expect(texts()).toStrictEqual(hundreds(25, 30));
    expect(losses).toStrictEqual([]);
  });

  test('a file that is cut off to less than 64 bytes may be another file, and is read from its start', () => {
    const file = written(text(0, 20));
    const { texts, time } = follow(file);
    truncateSync(file, 63);
    appendFileSync(file, '\n');
    time.advance(1000);
    expect(texts()).toStrictEqual([...hundreds(0, 20), hundreds(0, 1)[0]?.slice(0, 63)]);
  });

  test('a file that is copied, emptied and written again with the same start is read from its start', () => {
    const file = written(text(0, 20));
    const { texts, time } = follow(file);
    copyFileSync(file, `${file}.1`);
    writeFileSync(file, text(0, 12));
    time.advance(1000);
    expect(texts()).toStrictEqual([...hundreds(0, 20), ...hundreds(0, 12)]);
  });
});
