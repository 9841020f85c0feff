import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createLogFile, type LogFile } from '../../../../src/read/sources/tail/log-file.ts';
import { closeLog, openLog, type OpenLog } from '../../../../src/read/sources/tail/open-log.ts';
import { openPackedContent, unpackedHead } from '../../../../src/read/sources/tail/content.ts';
import { startOfFile } from '../../../../src/read/sources/tail/relation.ts';
import { openAtOnce } from './at-once.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const path = temporaryFolder();
const ignore = (): void => {};
let files = 0;
const mebibyte = 1024 * 1024;
/** Each holds 10 MiB. */
const members = process.env['FUZZ'] === undefined ? 20 : 100;

function written(bytes: Uint8Array): OpenLog {
  const file = path(`${++files}.gz`);
  writeFileSync(file, bytes);
  const log = openLog(file) as OpenLog;
  onTestFinished(() => closeLog(log));
  return log;
}

/** Everything that is handed over of it, and the error with which it ends. */
async function readAll(log: OpenLog, from: number): Promise<{ text: string; error: unknown; size: number }> {
  const blocks: Buffer[] = [];
  let size = 0;
  const error = await new Promise<unknown>((resolve) => {
    const content = openPackedContent(log, {
      block: (block) => void blocks.push(Buffer.from(block)),
      failed: resolve,
      changed() {
        size = content.size();
        resolve(undefined);
      },
      turnEnded: () => {},
      moved: () => {},
    });
    expect([content.isWatched, content.isBusy, content.size()]).toStrictEqual([true, false, Infinity]);
    content.read(from);
    content.read(from);
    expect(content.isBusy).toBe(true);
  });
  return { text: Buffer.concat(blocks).toString('latin1'), error, size };
}

const lines = Array.from({ length: 50_000 }, (_, number) => `IN=${number}\n`).join('');

test.each<[string, number]>([
  ['from its start', 0],
  ['from a byte within', 200_001],
  ['from its end', lines.length],
  ['from beyond its end', lines.length + 1],
])('unpacks: %s', async (_, from) => {
  const { text, error, size } = await readAll(written(gzipSync(lines)), from);
  expect([error, size]).toStrictEqual([undefined, lines.length]);
  expect(text === lines.slice(from)).toBe(true);
});

test('a file with several members, as `gzip -c >>` writes it, is read', async () => {
  const log = written(Buffer.concat([gzipSync('IN=1\n'), gzipSync('IN=2\n')]));
  expect(await readAll(log, 2)).toMatchObject({ text: '=1\nIN=2\n', error: undefined, size: 10 });
});

test('an empty compressed file is read', async () => {
  expect(await readAll(written(gzipSync('')), 0)).toStrictEqual({ text: '', error: undefined, size: 0 });
});

const packed = gzipSync(Array.from({ length: 5000 }, () => Math.random()).join('\n'));

test.each<[string, Uint8Array]>([
  ['cut off', packed.subarray(0, packed.length / 2)],
  ['without its end', packed.subarray(0, -8)],
  ['with another check sum', Buffer.concat([packed.subarray(0, -8), Buffer.alloc(8)])],
  ['garbage within', Buffer.concat([packed.subarray(0, packed.length / 2), Buffer.alloc(packed.length / 2, 0xff)])],
  ['no gzip at all', Buffer.from('IN=1\n')],
])('a damaged file gives an error after its readable part: %s', async (_, bytes) => {
  expect((await readAll(written(bytes), 0)).error).toBeInstanceOf(Error);
});

test('after it is closed within a block, nothing more is handed over', async () => {
  const log = written(gzipSync(Buffer.alloc(10 * mebibyte)));
  const events: string[] = [];
  await new Promise<void>((resolve) => {
    const content = openPackedContent(log, {
      block() {
        events.push('block');
        content.close();
        resolve();
      },
      failed: () => void events.push('error'),
      changed: () => void events.push('change'),
      turnEnded: () => {},
      moved: () => {},
    });
    content.read(0);
  });
  // It would have arrived by then.
  await readAll(log, 0);
  expect(events).toStrictEqual(['block']);
});

const random = Buffer.from(Array.from({ length: 100_000 }, () => Math.trunc(Math.random() * 256)));

test.each<[string, Uint8Array, Uint8Array | undefined]>([
  ['of a short text', gzipSync('IN=1\n'), Buffer.from('IN=1\n')],
  ['of nothing', gzipSync(''), Buffer.alloc(0)],
  ['1 KiB of more', gzipSync(random), random.subarray(0, 1024)],
  ['of what is not wholly written yet', gzipSync(random).subarray(0, 50_000), random.subarray(0, 1024)],
  ['of no gzip', Buffer.from('IN=1\n'), undefined],
  ['of an empty file', Buffer.alloc(0), undefined],
  ['of half a header', gzipSync('IN=1\n').subarray(0, 5), undefined],
])('the first bytes: %s', (_, bytes, expected) => {
  expect(unpackedHead(written(bytes).fd)?.toString('hex')).toBe(expected && Buffer.from(expected).toString('hex'));
});

test('a file that cannot be read has no first bytes', () => {
  const fd = openSync(path('gone.gz'), 'w');
  closeSync(fd);
  expect(unpackedHead(fd)).toBeUndefined();
});

test('the first bytes of a file that unpacks to 64 MiB are returned without unpacking all of it', () => {
  const bomb = written(gzipSync(Buffer.alloc(64 * mebibyte)));
  const before = process.memoryUsage.rss();
  expect(unpackedHead(bomb.fd)?.buffer.byteLength).toBe(1024);
  expect(process.memoryUsage.rss() - before).toBeLessThan(16 * mebibyte);
});

test('much more than memory, all zeros: is one line that is too long', async () => {
  const member = gzipSync(Buffer.alloc(10 * mebibyte));
  const log = written(Buffer.concat(Array.from({ length: members }, () => member)));
  const before = process.memoryUsage.rss();
  let most = 0;
  const all = await new Promise<string[]>((resolve) => {
    const events: string[] = [];
    const file: LogFile = createLogFile({
      log,
      isPacked: true,
      place: startOfFile,
      head: unpackedHead(log.fd) ?? Buffer.alloc(0),
      needles: ['IN='],
      openContent: openAtOnce,
      now: () => 0,
      lines: { take: () => void events.push('line'), tooLong: (line) => void events.push(`line ${line} is too long`) },
      files: {
        read: () => void (most = Math.max(most, process.memoryUsage.rss() - before)),
        changed: () => resolve(events),
        moved: () => {},
        begun: () => {},
        overwritten: () => resolve([...events, 'overwritten']),
        failed: (_, error) => resolve([...events, String(error)]),
      },
    });
    onTestFinished(file.close);
    file.pump();
  });
  expect(all).toStrictEqual(['line 1 is too long']);
  expect(most).toBeLessThan(100 * mebibyte);
});

test.each(['read', 'closed'])('when it was %s, its descriptor still belongs to its owner', async (what) => {
  const log = written(gzipSync('a\n'.repeat(mebibyte)));
  if (what === 'read') await readAll(log, 0);
  else {
    const content = openPackedContent(log, { block() {}, turnEnded() {}, failed() {}, changed() {}, moved() {} });
    content.read(0);
    content.close();
  }
  // Other threads handle descriptors in turn.
  for (let turns = 0; turns < 20; turns++) await stat('/');
  expect(fstatSync(log.fd).isFile()).toBe(true);
});

test('the first bytes of a file have their own buffer, because they are remembered', () => {
  const log = written(Buffer.from('IN=1\n'));
  const file = createLogFile({
    log,
    isPacked: false,
    place: startOfFile,
    head: Buffer.alloc(0),
    needles: ['IN='],
    openContent: openAtOnce,
    now: () => 0,
    lines: { take: ignore, tooLong: ignore },
    files: { read: ignore, changed: ignore, moved: ignore, begun: ignore, overwritten: ignore, failed: ignore },
  });
  onTestFinished(file.close);
  file.verify();
  expect([file.reader.head.toString(), file.reader.head.buffer.byteLength]).toEqual(['IN=1\n', 5]);
});
