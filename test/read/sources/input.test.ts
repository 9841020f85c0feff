import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { blockSize, type Input, InputError, openInput } from '../../../src/read/sources/framing/input.ts';
import { subjectOf } from '../../subject.ts';
import { temporaryFolder } from './temporary-folder.ts';

const path = temporaryFolder();
const run = promisify(execFile);

/** More than one block, even when packed. */
const large = `${randomBytes(200_000)
  .toString('hex')
  .replaceAll(/.{100}/g, '$&\n')}\n`;

function write(name: string, content: string | Buffer): string {
  writeFileSync(path(name), content);
  return path(name);
}

/** The whole content of an input, and what stopped it. A block is valid only during the call, so it is copied. */
async function readAll(input: Input): Promise<{ content: string; error: unknown }> {
  const blocks: Buffer[] = [];
  const error = await input
    .read((block) => void blocks.push(Buffer.from(block)))
    .then(
      () => undefined,
      (reason: unknown) => reason,
    );
  return { content: Buffer.concat(blocks).toString('latin1'), error };
}

/** A frame to skip, as pzstd writes one before each frame (RFC 8878, 3.1.2). */
const skipped = Buffer.from([0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);

/** Frames and members may follow one another, as pzstd and `cat` make them (RFC 8878, 3.1; RFC 1952, 2.2). */
const packings: Record<'Zstandard' | 'gzip', (...texts: string[]) => Buffer> = {
  Zstandard: (...texts) => Buffer.concat([...texts.flatMap((text) => [skipped, zstdCompressSync(text)]), skipped]),
  gzip: (...texts) => Buffer.concat(texts.map((text) => gzipSync(text))),
};
const frames = packings.Zstandard('one\n', large, 'two\n');

test.each<[string, string | Buffer, string]>([
  ['empty.log', '', ''],
  ['plain.log', 'one\ntwo', 'one\ntwo'],
  ['large.log', large, large],
  ['one-byte.log', 'x', 'x'],
  ['bytes.log', Buffer.from([0xff, 0, 0x80, 10]), '\xff\0\x80\n'],
  ['packed.log.gz', gzipSync('one\ntwo\n'), 'one\ntwo\n'],
  ['large.log.gz', gzipSync(large), large],
  ['gzip-without-the-extension.log', gzipSync('one\ntwo\n'), 'one\ntwo\n'],
  ['plain-with-the-extension.gz', 'one\ntwo\n', 'one\ntwo\n'],
  ['empty-packed.gz', gzipSync(''), ''],
  ['two-members.gz', Buffer.concat([gzipSync('one\n'), gzipSync('two\n')]), 'one\ntwo\n'],
  // dd and tapes pad with NULs; gzip also skips them.
  ['padded.gz', Buffer.concat([gzipSync('one\n'), Buffer.alloc(512)]), 'one\n'],
  ['packed.log.zst', zstdCompressSync('one\ntwo\n'), 'one\ntwo\n'],
  ['large.log.zst', zstdCompressSync(large), large],
  ['zst-without-the-extension.log', zstdCompressSync('one\ntwo\n'), 'one\ntwo\n'],
  ['frames.zst', frames, `one\n${large}two\n`],
])('content: %s', async (name, bytes, expected) => {
  const { content, error } = await readAll(openInput(write(name, bytes)));
  expect(error).toBeUndefined();
  expect(content.length).toBe(expected.length);
  expect(content === expected).toBe(true);
});

test('an input has a name and the time of the last write', () => {
  const file = write('facts.log.gz', gzipSync(large));
  utimesSync(file, 1000, 1234.5);
  expect(openInput(file)).toMatchObject({ name: file, modified: 1_234_500 });
});

test('blocks have the exported size', async () => {
  const seen: number[] = [];
  await openInput(write('blocks.log', large)).read((block) => void seen.push(block.length));
  expect(seen.slice(0, 2)).toStrictEqual([blockSize, blockSize]);
});

const half = (packed: Buffer): Buffer => packed.subarray(0, packed.length / 2);
/** A copy that continued after the disk was full looks like this, or a partly overwritten file. */
const damaged = (packed: Buffer): Buffer => packed.fill(0xff, packed.length - 20_000, packed.length - 10_000);

test.each<[string, Buffer, part: number]>([
  ['cut.gz', half(gzipSync(large)), 1 / 4],
  ['cut.zst', half(zstdCompressSync(large)), 1 / 4],
  ['damaged.gz', damaged(gzipSync(large)), 1 / 2],
  ['damaged.zst', damaged(zstdCompressSync(large)), 1 / 2],
])('%s: content before the damage is handed over, then an error names the file', async (name, packed, part) => {
  const file = write(name, packed);
  const { content, error } = await readAll(openInput(file));
  expect(error).toBeInstanceOf(InputError);
  expect(subjectOf((error as Error).message)).toBe(file);
  expect(content.length).toBeGreaterThan(large.length * part);
  const isCut = name.startsWith('cut');
  expect(large.startsWith(isCut ? content : content.slice(0, large.length * part))).toBe(true);
});

test('a file with only the first bytes of gzip counts as cut off', async () => {
  expect((await readAll(openInput(write('stump.gz', Buffer.from([0x1f, 0x8b]))))).error).toBeInstanceOf(InputError);
});

test('a complete gzip with a wrong checksum is an error', async () => {
  const packed = gzipSync('one\ntwo\n');
  packed.fill(0, packed.length - 8, packed.length - 4);
  const { content, error } = await readAll(openInput(write('checksum.gz', packed)));
  expect(error).toBeInstanceOf(InputError);
  expect('one\ntwo\n'.startsWith(content)).toBe(true);
});

test('a file that shrinks while it is read ends there', async () => {
  const file = write('shrinks.log', large);
  let bytes = 0;
  await openInput(file).read((block) => {
    bytes += block.length;
    truncateSync(file, 0);
  });
  expect(bytes).toBe(blockSize);
});

/** Returns why a file is not opened. */
function refusal(file: string): unknown {
  try {
    return openInput(file);
  } catch (error) {
    return error;
  }
}

test('unsupported formats are refused at once with advice, but a text with a similar beginning is a log', async () => {
  expect((await readAll(openInput(write('bz.log', 'BZ\n')))).content).toBe('BZ\n');
  expect((await readAll(openInput(write('pk.log', 'PKI: ready\n')))).content).toBe('PKI: ready\n');
});

test("a missing file, a folder, and a path through a file are refused, with the system's error as the cause", () => {
  mkdirSync(path('folder'));
  const through = `${write('through.log', 'x')}/kern.log`;
  for (const [file, cause] of [
    [path('missing.log'), { code: 'ENOENT' }],
    [path('folder'), undefined],
    [through, { code: 'ENOTDIR' }],
  ] as const) {
    const error = refusal(file) as Error;
    expect(error).toBeInstanceOf(InputError);
    expect(subjectOf(error.message)).toBe(file);
    if (cause === undefined) expect(error.cause).toBeUndefined();
    else expect(error.cause).toMatchObject(cause);
  }
});

test('a file without permission is refused', async () => {
  const file = write('secret.log', 'x');
  chmodSync(file, 0);
  // Root may read everything, so the child gives up root right after it has loaded its modules.
  const script = `
      const { openInput } = await import(${JSON.stringify(new URL('../../../src/read/sources/framing/input.ts', import.meta.url).href)});
      if (process.getuid() === 0) { process.setgid(65534); process.setuid(65534); }
      try { openInput(process.argv[1]); } catch (error) { console.log(error.name, error.cause.code, error.message); }`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, file]);
  expect(stdout.startsWith(`InputError EACCES ${file}: `)).toBe(true);
});

test.each([[['one\n', 'two']], [[]]])('standard input of %j is read, and has no time', async (blocks) => {
  const input = openInput('-', () => Readable.from(blocks.map((block) => Buffer.from(block))));
  expect([input.name, input.modified]).toStrictEqual(['-', undefined]);
  expect(await readAll(input)).toStrictEqual({ content: blocks.join(''), error: undefined });
});

const flipped = Buffer.from(frames);
flipped.writeUInt8(0, skipped.length + zstdCompressSync('one\n').length);

describe.each<[string, Buffer]>([
  ['whose second frame begins with another byte', flipped],
  ['with a few other bytes behind a frame', Buffer.concat([zstdCompressSync('one\n'), Buffer.from('garbage')])],
  ['with zeros behind a frame', Buffer.concat([zstdCompressSync('one\n'), Buffer.alloc(512)])],
  ['with many other bytes behind a frame', Buffer.concat([zstdCompressSync('one\n'), Buffer.alloc(300_000, 'x')])],
])('Zstandard data %s', (_, bytes) => {
  test.each([
    ['a file', () => openInput(write('damaged.zst', bytes))],
    ['a pipe', () => openInput('-', () => Readable.from([bytes]))],
  ])('counts as damaged: %s', async (_from, open) => {
    const { content, error } = await readAll(open());
    expect(content).toBe('one\n');
    expect(error).toBeInstanceOf(InputError);
    // A later error of the stream would end the test run.
    await turn();
  });
});

describe.each(Object.entries(packings))('a pipe of %s data', (_, pack) => {
  test.each<[string, size: number, middle: string]>([
    ['a single chunk', 1_000_000, large],
    ['chunks of 100,000 bytes', 100_000, large],
    ['chunks of 1000 bytes', 1000, large],
    ['chunks of 13 bytes', 13, 'short\n'],
    ['chunks of 5 bytes', 5, 'short\n'],
    ['chunks of one byte', 1, 'short\n'],
  ])('is read completely in %s', async (_chunks, size, middle) => {
    const packed = pack('one\n', middle, 'two\n');
    const { content, error } = await readAll(openInput('-', () => inChunks(packed, size)));
    expect(error).toBeUndefined();
    expect(content === `one\n${middle}two\n`).toBe(true);
  });
});

function inChunks(bytes: Buffer, size: number): Readable {
  const count = Math.ceil(bytes.length / size);
  return Readable.from(Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size)));
}

test.each(['x', 'x\ny\nz\n', '\x1f', '(\n'])('a pipe of the text %j is read in chunks of one byte', async (text) => {
  const input = openInput('-', () => inChunks(Buffer.from(text), 1));
  expect(await readAll(input)).toStrictEqual({ content: text, error: undefined });
});

test.each(['one\n', 'o'])(
  'a broken stream: earlier content is handed over, and the place is named: %j',
  async (text) => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from(text);
      await turn();
      throw Object.assign(new Error('read EIO'), { code: 'EIO' });
    }
    const { content, error } = await readAll(openInput('-', () => Readable.from(broken())));
    expect(content).toBe(text);
    expect(error).toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(new RegExp(`^-: .*\\b${text.length}\\b`)),
      cause: { code: 'EIO' },
    });
  },
);

test('streams: a named pipe is read', async () => {
  await run('mkfifo', [path('fifo')]);
  // Opening a pipe waits for its other end, so both ends are in processes that can be ended.
  const writer = spawn('sh', ['-c', 'exec cat "$1" > "$2"', 'sh', write('piped.log', large), path('fifo')]);
  const script = `
      const { openInput } = await import(${JSON.stringify(new URL('../../../src/read/sources/framing/input.ts', import.meta.url).href)});
      const input = openInput(process.argv[1]);
      let bytes = 0;
      await input.read((block) => { bytes += block.length; });
      console.log(JSON.stringify([input.name, input.modified, bytes]));`;
  try {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, path('fifo')], {
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    expect(JSON.parse(stdout)).toStrictEqual([path('fifo'), null, large.length]);
  } finally {
    writer.kill('SIGKILL');
  }
});

test('an error of the reader passes through unchanged even if it has a code', async () => {
  // Writing to a closed pipe throws this; it says nothing of the file that was read.
  const own = Object.assign(new Error('EPIPE: broken pipe, write'), { code: 'EPIPE' });
  const fail = (): never => {
    throw own;
  };
  await expect(openInput(write('code.log', 'x')).read(fail)).rejects.toBe(own);
  await expect(openInput(write('code.gz', gzipSync('x'))).read(fail)).rejects.toBe(own);
  await expect(openInput('-', () => Readable.from([Buffer.from('x')])).read(fail)).rejects.toBe(own);
  await expect(openInput('-', () => Readable.from([gzipSync('x')])).read(fail)).rejects.toBe(own);
});
