import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { asUnprivileged } from './tail/as-unprivileged.ts';
import { descriptorsOf, followingTools, kept, noon } from './following.ts';

const { follow, prepare, unused, written } = followingTools();
const mebibyte = `${'x'.repeat(1023)}\n`.repeat(1024);

const place = { device: '1', inode: '2', offset: 3, head: '', headLength: 0, skipping: false };

function onAnotherDevice(source: Source): Position {
  const { files, ...rest } = kept(source);
  return { ...rest, files: (files as Position[]).map((file) => Object.assign({}, file, { device: '0' })) };
}

test('lines have their content and their place', () => {
  const file = written(
    'Nov 21 03:42:11 node-a kernel: drop: IN=eth0\nNov 21 03:42:12 node-a sshd[1]: nothing\r\n' +
      'no time IN=eth1\nNov 21 03:42:13 node-a sshd[1]: IN=eth2\r\n',
  );
  const { lines, source } = follow(file);
  const common = { source: file, timeIsExact: true, host: 'node-a', program: undefined };
  expect(lines).toStrictEqual([
    { ...common, line: 1, text: 'drop: IN=eth0', time: Date.UTC(2026, 10, 21, 3, 42, 11), origin: 'kernel' },
    {
      source: file,
      line: 3,
      text: 'no time IN=eth1',
      time: Date.UTC(2026, 10, 21, 3, 42, 11),
      timeIsExact: false,
      host: undefined,
      program: undefined,
      origin: 'unknown',
    },
    {
      ...common,
      line: 4,
      text: 'IN=eth2',
      time: Date.UTC(2026, 10, 21, 3, 42, 13),
      program: 'sshd',
      origin: 'userspace',
    },
  ]);
  expect(source.name).toBe(file);
  expect(source.state).toBe('reading');
  expect(source.counts).toStrictEqual({ lines: 4, bytes: 143, tooLong: 0 });
});

test('a first line without a time has the present time', () => {
  expect(follow(written('IN=\n')).lines).toMatchObject([{ time: noon, timeIsExact: false }]);
});

test('stamps without a zone get the configured zone', () => {
  const { lines } = follow(written('Nov 21 03:00:00 a kernel: IN=\n'), {
    zone: (...fields) => Date.UTC(...fields) - 3_600_000,
  });
  expect(lines).toMatchObject([{ time: Date.UTC(2026, 10, 21, 2) }]);
});

test('a stamp without a year belongs to the year in which it is read, not to that of the start', () => {
  const file = written('');
  const { lines, time } = follow(file);
  const weeks = 60 * 86_400_000;
  appendFileSync(file, 'Nov 21 12:00:00 a kernel: IN=\n');
  time.advance(100);
  time.setWallClock(noon + weeks);
  appendFileSync(file, 'Jan 20 12:00:00 a kernel: IN=\n');
  time.advance(100);
  time.setWallClock(noon);
  appendFileSync(file, 'Jan 20 12:00:00 a kernel: IN=\n');
  time.advance(100);
  expect(lines.map((line) => line.time)).toStrictEqual([noon, noon + weeks, Date.UTC(2026, 0, 20, 12)]);
});

test('lines over 64 KiB are skipped; the first is reported, all are counted', () => {
  const long = 'x'.repeat(100_000);
  const { texts, source, notices } = follow(written(`IN=1\nIN=${long}\nIN=2\nIN=${long}\nIN=3\n`));
  expect(texts()).toStrictEqual(['IN=1', 'IN=2', 'IN=3']);
  expect(source.counts).toMatchObject({ lines: 5, tooLong: 2 });
  expect(notices).toMatchObject([{ level: 'warn', key: 'too-long' }]);
});

test('reads block by block without pauses until the end; then after 20 ms, and every 100 ms if changes are not reported', () => {
  const { source, time } = prepare(written(mebibyte));
  source.start();
  const turns = Array.from({ length: 6 }, () => [time.step(), source.counts.bytes]);
  expect(turns).toStrictEqual([
    [0, 262_144],
    [0, 524_288],
    [0, 786_432],
    [0, 1_048_576],
    [20, 1_048_576],
    [100, 1_048_576],
  ]);
});

test('turns: a stopped source has no open files and no timers', () => {
  const file = written('IN=1\n');
  const { source, time, texts } = follow(file);
  expect(descriptorsOf(file)).toHaveLength(1);
  source.stop();
  source.stop();
  expect(descriptorsOf(file)).toHaveLength(0);
  expect([source.state, time.pending]).toStrictEqual(['stopped', 0]);
  appendFileSync(file, 'IN=2\n');
  time.advance(10_000);
  expect(texts()).toStrictEqual(['IN=1']);
  expect(source.counts.lines).toBe(1);
});

test('from the end: later lines are read, present ones are not', () => {
  const file = written('IN=1\nIN=2\n');
  const { texts, source, time } = follow(file, { from: 'end' });
  expect(source.position).toMatchObject({ files: [{ offset: 10, skipping: false }] });
  appendFileSync(file, 'IN=3\n');
  time.advance(100);
  expect(texts()).toStrictEqual(['IN=3']);
});

test('from the end: reading does not begin within a line', () => {
  const file = written('IN=1\nIN=2');
  const { texts, source, time } = follow(file, { from: 'end' });
  appendFileSync(file, ' IN=rest\nIN=3\n');
  time.advance(100);
  expect(texts()).toStrictEqual(['IN=3']);
  expect(source.counts.tooLong).toBe(0);
});

test('a file that appears later is read from its start, whatever `from` is', () => {
  const file = unused();
  const { texts, source, time, notices } = follow(file, { from: 'end' });
  expect(source.state).toBe('waiting');
  expect(source.position).toBeUndefined();
  time.advance(5000);
  writeFileSync(file, 'IN=1\n');
  time.advance(1000);
  expect(texts()).toStrictEqual(['IN=1']);
  expect(source.state).toBe('reading');
  expect(notices).toMatchObject([
    { level: 'warn', key: 'missing' },
    { level: 'info', key: 'well' },
  ]);
});

test.each<[string, Position]>([
  ['of another kind of source', { bootId: 'x', seq: 4 }],
  ['with a part of another type', { files: [{ ...place, device: 1 }], modified: 0 }],
  ['with an offset that is none', { files: [{ ...place, offset: -3 }], modified: 0 }],
  ['with one of two that is none', { files: [place, 7], modified: 0 }],
  ['of no file', { files: [], modified: 0 }],
  ['without a time', { files: [place] }],
])('an invalid position %s is ignored', (_, saved) => {
  const file = written('IN=1\n');
  const { source, texts } = follow(file, { saved, from: 'end' });
  expect(source.position).toMatchObject({ files: [{ offset: 5 }] });
  expect(texts()).toEqual([]);
});

describe('a saved position of another file: reads from the start, with a notice', () => {
  test.each<[string, (file: string) => void, string[]]>([
    [
      'another inode, though it begins alike',
      (file) => {
        renameSync(file, `${file}.away`);
        writeFileSync(file, 'IN=1\nIN=2\nIN=3\n');
      },
      ['IN=1', 'IN=2', 'IN=3'],
    ],
    ['another start', (file) => writeFileSync(file, 'IN=8\nIN=9\nIN=10\n'), ['IN=8', 'IN=9', 'IN=10']],
    ['shorter', (file) => truncateSync(file, 5), ['IN=1']],
  ])('%s', (_, change, expected) => {
    const file = written('IN=1\nIN=2\n');
    const first = follow(file);
    first.source.stop();
    change(file);
    const { texts, notices } = follow(file, { saved: kept(first.source), from: 'end' });
    expect(texts()).toStrictEqual(expected);
    expect(notices).toMatchObject([{ level: 'warn', key: 'replaced' }]);
  });

  test('a different device number is accepted if the content matches', () => {
    const file = written(`IN=${'x'.repeat(100)}\n`);
    const first = follow(file);
    first.source.stop();
    const saved = onAnotherDevice(first.source);
    expect(follow(file, { saved }).texts()).toStrictEqual([]);
    const short = written('IN=1\n');
    const second = follow(short);
    second.source.stop();
    expect(follow(short, { saved: onAnotherDevice(second.source) }).notices).toMatchObject([
      { level: 'warn', key: 'replaced' },
    ]);
  });
});

test.each<[string, (file: string) => unknown]>([
  ['a folder', mkdirSync],
  ['a named pipe', (file) => execFileSync('mkfifo', [file])],
  ['a device', (file) => symlinkSync('/dev/null', file)],
])('a path that cannot be followed is reported once and tried again every 10 s: %s', (_, make) => {
  const file = unused();
  make(file);
  const { source, notices, time, texts } = follow(file, { from: 'end' });
  time.advance(60_000);
  expect(source.state).toBe('failed');
  expect(descriptorsOf(file)).toHaveLength(0);
  expect(notices).toMatchObject([{ level: 'error', key: 'not-a-file' }]);
  rmSync(file, { recursive: true });
  writeFileSync(file, 'IN=1\n');
  time.advance(10_000);
  expect(source.state).toBe('reading');
  expect(texts()).toStrictEqual(['IN=1']);
});

test('a socket cannot be followed', async () => {
  const file = unused();
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(file, resolve));
  const { source, notices } = follow(file);
  expect(source.state).toBe('failed');
  expect(notices).toMatchObject([{ level: 'error', key: 'not-a-file' }]);
});

test('a file without permission cannot be followed', () => {
  const file = written('IN=1\n');
  chmodSync(file, 0);
  const { source, notices, time, texts } = asUnprivileged(() => follow(file, { from: 'end' }));
  asUnprivileged(() => time.advance(60_000));
  expect(source.state).toBe('failed');
  expect(notices).toMatchObject([{ level: 'error', key: 'unreadable' }]);
  chmodSync(file, 0o644);
  time.advance(10_000);
  appendFileSync(file, 'IN=2\n');
  time.advance(100);
  expect(texts()).toStrictEqual(['IN=2']);
  expect(notices[1]).toMatchObject({ level: 'info', key: 'well' });
});

test('a symbolic link to itself cannot be followed', () => {
  const file = unused();
  symlinkSync(file, file);
  const { source, notices } = follow(file);
  expect(source.state).toBe('failed');
  expect(notices).toMatchObject([{ level: 'error', key: 'unreadable' }]);
});

test('a failed read is published once and tried again every second, and nothing is lost', () => {
  const file = written('IN=1\n');
  const { source, notices, time, texts } = follow(file);
  const [fd = -1] = descriptorsOf(file);
  closeSync(fd);
  appendFileSync(file, 'IN=2\n');
  time.advance(5000);
  expect(source.state).toBe('failed');
  expect(notices).toMatchObject([{ level: 'error', key: 'read' }]);
  // The lowest free number, as POSIX requires.
  expect(openSync(file, 'r')).toBe(fd);
  time.advance(1000);
  expect(source.state).toBe('reading');
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(notices).toHaveLength(2);
});
