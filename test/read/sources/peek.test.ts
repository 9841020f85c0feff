import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { peek } from '../../../src/cli/replay/inputs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const path = temporaryFolder();
const latest = Date.parse('2026-11-21T20:00:00Z');
const log = 'no stamp here\n2026-11-21T10:15:03Z node-a kernel: one\n2026-11-21T11:00:00Z node-a kernel: two\n';
const first = Date.parse('2026-11-21T10:15:03Z');

/** Longer than the part that is looked at, packed or not, and packed about as well as a log. */
const filler = `${randomBytes(200_000)
  .toString('hex')
  .replaceAll(/.{16}/g, `${' calico-drop: IN=eth0 OUT='.repeat(4)}$&\n`)}\n`;

function write(name: string, content: string | Buffer): string {
  const file = path(name.replaceAll('/', ' '));
  writeFileSync(file, content);
  return file;
}

test.each<[string, string | Buffer]>([
  ['plain', log],
  ['plain, more than is looked at', log + filler],
  ['gz', gzipSync(log)],
  ['gz, more than is looked at', gzipSync(log + filler)],
  ['zst', zstdCompressSync(log)],
  ['zst, more than is looked at', zstdCompressSync(log + filler)],
  ['gz that is cut off', gzipSync(log + filler).subarray(0, 40_000)],
  ['zst that is cut off', zstdCompressSync(log + filler).subarray(0, 40_000)],
  ['CRLF', log.replaceAll('\n', '\r\n')],
])('finds the time of the first line that has one: %s', async (name, content) => {
  expect(await peek(write(`first ${name}`, content), { latest })).toStrictEqual({
    firstTime: first,
    lastUptime: undefined,
  });
});

test('finds the time of the first line that has one: without a year, the latest possible one', async () => {
  const file = write('yearless', 'Dec 31 23:59:59 node-a kernel: one\nJan  1 00:00:01 node-a kernel: two\n');
  expect((await peek(file, { latest: Date.parse('2027-01-02T00:00:00Z') })).firstTime).toBe(
    Date.parse('2026-12-31T23:59:59Z'),
  );
});

function block(type: number, size: number, content: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32LE((size << 3) | (type << 1));
  return Buffer.concat([header.subarray(0, 3), content]);
}

/** A zstd frame with an unpacked block, and with blocks that each stand for 128 KiB of one letter (RFC 8878, 3.1.1). */
function repetitive(text: string, blocks: number): Buffer {
  const repeated = block(1, 128 * 1024, Buffer.from('a'));
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]),
    block(0, text.length, Buffer.from(text)),
    ...Array.from({ length: blocks }, () => repeated),
  ]);
}

test('a file that would unpack to gigabytes is not unpacked', async () => {
  const file = write('repetitive', repetitive(log, 8000));
  const before = process.resourceUsage().maxRSS;
  expect((await peek(file, { latest })).firstTime).toBe(first);
  // In kilobytes; the unpacked file would be a gigabyte.
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(256 * 1024);
});

test.each<[string, string, number]>([
  ['dmesg', '[    1.500000] a\n[   12.250000] b\n', 12.25],
  ['dmesg with priorities', '<6>[    1.500000] a\n<4>[   12.250000] b\n', 12.25],
  ['records of /dev/kmsg', '6,1,1500000,-;a\n6,2,12250000,-;b\n', 12.25],
  ['records with continuation lines', '6,1,1500000,-;a\n SUBSYSTEM=pci\n', 1.5],
  ['lines behind it that have none', '[   12.250000] b\nand more\n', 12.25],
  ['further back than is looked at from the start', `[    1.500000] a\n${filler}[   12.250000] b\n`, 12.25],
])('last uptime: %s', async (name, content, expected) => {
  expect((await peek(write(`uptime ${name}`, content), { latest })).lastUptime).toBe(expected);
});

test('the last uptime places the first line in time', async () => {
  const file = write('places', '[    2.000000] a\n[   12.000000] b\n');
  expect((await peek(file, { latest })).firstTime).toBe(latest - 10_000);
  expect((await peek(file, { latest, boot: 5000 })).firstTime).toBe(7000);
});

const nothing = { firstTime: undefined, lastUptime: undefined };

test.each<[string, string | Buffer]>([
  ['an empty file', ''],
  ['a single byte', 'x'],
  ['text without stamps', 'one\ntwo\n'],
  ['a gz of nothing', gzipSync('')],
  ['a gz that is none behind its first bytes', Buffer.from([0x1f, 0x8b, 1, 2, 3])],
  ['a zst that is none behind its first bytes', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 255, 255])],
])('files without a time: %s', async (name, content) => {
  expect(await peek(write(`nothing ${name}`, content), { latest })).toMatchObject(nothing);
});

test('a missing file, a folder and a path through a file have no time', async () => {
  mkdirSync(path('folder'));
  write('file', log);
  for (const file of [path('missing'), path('folder'), path('file', 'below')])
    expect(await peek(file, { latest })).toStrictEqual(nothing);
});
