import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import type { OpenContent } from '../../../../src/read/sources/tail/content.ts';
import { asUnprivileged } from './as-unprivileged.ts';
import { openAtOnce } from './at-once.ts';
import { line, readingTools } from './reading.ts';

const { read, unused } = readingTools();
const mebibyte = 1024 * 1024;
const bare = (text: string): string => text.slice(0, -1);

/** Code instrumented by `npm run mutants` takes several times as long. */
const slower = process.env['MUTANTS_FOLDER'] === undefined ? 1 : 10;

/** Counts this thread alone, not other work of the machine. */
function cpuSeconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1e6 / slower;
}

test.each<[string, (file: string) => void]>([
  ['a named pipe', (file) => execFileSync('mkfifo', [file])],
  ['a folder', (file) => mkdirSync(file)],
  ['a device', (file) => symlinkSync('/dev/zero', file)],
  ['a link to nowhere', (file) => symlinkSync('nowhere', file)],
  ['a link in a circle', (file) => symlinkSync(file, file)],
  ['an empty file', (file) => writeFileSync(file, '')],
  ['a file without permission', (file) => writeFileSync(file, line(7), { mode: 0 })],
])('a rotated name that is not a log is skipped, and the log is read: %s', (_, make) => {
  const log = unused();
  for (const end of ['.1', '.2.gz', '-20261121', '.20261121-101500']) make(log + end);
  writeFileSync(log, line(0));
  open(log);
  asUnprivileged(() => {
    const { lines, time, losses, log: reader } = read(log);
    time.advance(10_000);
    expect(lines).toStrictEqual([bare(line(0))]);
    expect([losses, reader.state]).toStrictEqual([[], 'reading']);
  });
  const { lines, time } = asUnprivileged(() => read(log));
  renameSync(log, `${log}.3`);
  writeFileSync(log, line(1));
  asUnprivileged(() => time.advance(5000));
  expect(lines).toStrictEqual([line(0), line(1)].map(bare));
});

test('a file named like a gzip file is skipped if it is none', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const { lines, time, losses } = read(log);
  writeFileSync(`${log}.1.gz`, line(1));
  time.advance(10_000);
  expect([lines.length, losses]).toStrictEqual([1, []]);
});

test('a rotated file without permission is read as soon as it may be', () => {
  const log = unused();
  open(log);
  writeFileSync(log, line(0));
  const saved = read(log).stop();
  renameSync(log, `${log}.1`);
  appendFileSync(`${log}.1`, line(1));
  chmodSync(`${log}.1`, 0);
  writeFileSync(log, line(2));
  const { lines, time } = asUnprivileged(() => read(log, saved));
  chmodSync(`${log}.1`, 0o644);
  asUnprivileged(() => time.advance(2000));
  expect(lines).toStrictEqual(expect.arrayContaining([line(1), line(2)].map(bare)));
});

test('names that are not UTF-8 are skipped', () => {
  const log = unused();
  writeFileSync(log, line(0));
  writeFileSync(Buffer.concat([Buffer.from(`${log}.`), Buffer.from([0xff, 0xfe])]), line(1));
  writeFileSync(Buffer.concat([Buffer.from(dirname(log)), Buffer.from('/\xff.1', 'latin1')]), line(2));
  const { lines, time } = read(log);
  time.advance(5000);
  expect(lines).toStrictEqual([bare(line(0))]);
});

test('with 2,000 rotated files, each look is short, and only the log is read and held open', () => {
  const log = unused();
  for (let number = 1; number <= 2000; number++) writeFileSync(`${log}.${number}`, line(number));
  writeFileSync(log, line(0));
  const before = readdirSync('/proc/self/fd').length;
  const began = process.threadCpuUsage();
  const { lines, time, log: reader } = read(log);
  time.advance(5000);
  expect(cpuSeconds(began)).toBeLessThan(5);
  expect(lines).toStrictEqual([bare(line(0))]);
  expect(readdirSync('/proc/self/fd').length).toBeLessThan(before + 10);
  expect(JSON.stringify(reader.position).length).toBeLessThan(1000);
});

test.each<[string, Buffer]>([
  ['NUL', Buffer.from('IN=\0\0a\0\n', 'latin1')],
  ['invalid UTF-8', Buffer.from('IN=\xff\xc3(\xed\xa0\x80\n', 'latin1')],
  ['all there are', Buffer.from([...Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => byte !== 10), 10])],
])('bytes: %s: are read unchanged, one character each', (_, bytes) => {
  const log = unused();
  writeFileSync(log, bytes);
  expect(read(log).lines).toStrictEqual([bytes.toString('latin1', 0, bytes.length - 1)]);
});

test('a hole of NUL bytes, as after a power loss, is skipped', () => {
  const log = unused();
  writeFileSync(log, Buffer.concat([Buffer.from(line(0)), Buffer.alloc(200_000), Buffer.from(`\n${line(1)}`)]));
  const { lines, log: reader } = read(log);
  expect(lines).toStrictEqual([line(0), line(1)].map(bare));
  expect(reader.counts).toMatchObject({ lines: 3, tooLong: 1 });
});

test('a line of 200 MB is skipped in linear time and limited memory', () => {
  const log = unused();
  const part = Buffer.alloc(20 * mebibyte, 'x');
  writeFileSync(log, line(0));
  for (let i = 0; i < 10; i++) appendFileSync(log, part);
  const [began, memory] = [process.threadCpuUsage(), process.memoryUsage.rss()];
  const { lines, time, log: reader } = read(log);
  appendFileSync(log, `IN=rest\n${line(1)}`);
  time.advance(1000);
  // If it were quadratic, it would take minutes.
  expect(cpuSeconds(began)).toBeLessThan(5);
  expect(process.memoryUsage.rss() - memory).toBeLessThan(100 * mebibyte);
  expect(lines).toStrictEqual([line(0), line(1)].map(bare));
  expect(reader.counts).toMatchObject({ lines: 3, tooLong: 1 });
});

const failure = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });

/** Fails to do this while the disk is broken. */
function failing(what: 'open' | 'read' | 'size'): { openContent: OpenContent; disk: { isBroken: boolean } } {
  const disk = { isBroken: true };
  const openContent: OpenContent = (log, listener) => {
    if (what === 'open' && disk.isBroken) throw failure;
    const content = openAtOnce(log, listener);
    return {
      isWatched: false,
      isBusy: false,
      size() {
        if (what === 'size' && disk.isBroken) throw failure;
        return content.size();
      },
      read: (from) => (what === 'read' && disk.isBroken ? listener.failed(failure) : content.read(from)),
      close: () => content.close(),
    };
  };
  return { openContent, disk };
}

test.each(['read', 'size'] as const)(
  'a failing disk: EIO at %s is published once and tried again, and nothing is lost or comes twice',
  (what) => {
    const log = unused();
    writeFileSync(log, line(0));
    const { openContent, disk } = failing(what);
    disk.isBroken = false;
    const { lines, time, notices, losses, log: reader } = read(log, undefined, { openContent });
    disk.isBroken = true;
    appendFileSync(log, line(1));
    time.advance(10_000);
    expect(reader.state).toBe('failed');
    expect(notices.map(({ level, key }) => [level, key])).toStrictEqual([['error', 'read']]);
    disk.isBroken = false;
    time.advance(2000);
    expect(lines).toStrictEqual([line(0), line(1)].map(bare));
    expect([reader.state, losses, notices.at(-1)?.key]).toStrictEqual(['reading', [], 'well']);
  },
);

test('a failing disk: EIO at once is published, and the file is read as soon as it can be', () => {
  const log = unused();
  writeFileSync(log, line(0));
  const { openContent, disk } = failing('open');
  const { lines, time, notices } = read(log, undefined, { openContent });
  time.advance(10_000);
  expect(notices.map(({ level, key }) => [level, key])).toContainEqual(['error', 'read']);
  disk.isBroken = false;
  time.advance(20_000);
  expect(lines).toStrictEqual([bare(line(0))]);
});

/** Lets anybody read its folder. */
function open(log: string): void {
  for (const folder of [dirname(log), dirname(dirname(log))]) chmodSync(folder, 0o755);
}
