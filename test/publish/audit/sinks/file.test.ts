import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createFileSink } from '../../../../src/publish/audit/sinks/file.ts';
import { descriptorsOf } from '../../../read/sources/following.ts';
import { temporaryFolder } from '../../../read/sources/temporary-folder.ts';

const never = new AbortController().signal;
const folder = temporaryFolder();

function scene(name: string, given: { size?: number; total?: number } = {}) {
  const logs = folder(name);
  const path = join(logs, 'audit.ndjson');
  const sink = createFileSink({ path, size: 1, total: 10, ...given });
  onTestFinished(() => sink.close());
  return {
    sink,
    path,
    logs,
    files: () =>
      readdirSync(logs)
        .filter((file) => !file.startsWith('.'))
        .toSorted(),
  };
}

/** About 100 KiB that compress badly. */
function rows(from: number): string[] {
  return Array.from(
    { length: 1000 },
    (_, index) => `{"n":${from + index},"x":"${Math.sin(from + index)}${'y'.repeat(60)}"}\n`,
  );
}

test('confirmed rows are in the file, after those of an earlier run', async () => {
  const { sink, path } = scene('plain');
  expect(await sink.send(['{"n":1}\n', '{"n":2}\n'], never)).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
  await sink.close();
  const next = scene('plain').sink;
  await next.send(['{"n":3}\n'], never);
  await next.close();
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
});

test('a full file is compressed, no row is lost or torn, and the folder contains only rows', async () => {
  const { sink, logs, files } = scene('full');
  for (let batch = 0; batch < 35; batch++) await sink.send(rows(batch * 1000), never);
  await sink.close();
  expect(files().length).toBeGreaterThan(2);
  expect(files().filter((file) => !/^audit(?:-\d{4}-\d\d-\d\d-\d{6}-\d+\.ndjson\.gz|\.ndjson)$/.test(file))).toEqual(
    [],
  );
  const numbers = files()
    .map((file) => readFileSync(join(logs, file)))
    .flatMap((bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n'))
    .map((row) => (JSON.parse(row) as { n: number }).n);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 35_000 }, (_, index) => index));
});

test('one file is open while rows are sent, and none at the end', async () => {
  const { sink, path, logs, files } = scene('open');
  await sink.send(rows(0), never);
  for (let from = 1000; files().length < 3; from += 1000) await sink.send(rows(from), never);
  const open = () => ['', ...files()].flatMap((file) => descriptorsOf(join(logs, file)));
  await expect.poll(() => open().length).toBe(1);
  const modes = files().map((file) => [file.endsWith('.gz'), statSync(join(logs, file)).mode & 0o777]);
  expect(modes).toContainEqual([true, 0o640]);
  expect(modes).not.toContainEqual([true, 0o644]);
  expect(descriptorsOf(path)).toHaveLength(1);
  await sink.close();
  expect(open()).toEqual([]);
});

test('compressed files past the total are deleted, oldest first', async () => {
  const { sink, logs, files } = scene('total', { total: 1 });
  for (let batch = 0; batch < 80; batch++) await sink.send(rows(batch * 1000), never);
  await sink.close();
  const packed = files().filter((file) => file.endsWith('.gz'));
  expect(packed.length).toBeGreaterThan(1);
  expect(packed.reduce((sum, file) => sum + statSync(join(logs, file)).size, 0)).toBeLessThanOrEqual(1024 * 1024);
});

test.each([
  ['a part of a row', '{"n":1}\n{"n":2}\n{"n":', '{"n":1}\n{"n":2}\n'],
  ['the rest after a power failure', '{"n":1}\n\0\0\0', '{"n":1}\n'],
  ['a part of the only row', '{"n"', ''],
])('%s after the last row is removed, and all rows before it stay', async (_, left, kept) => {
  const { sink, path, logs } = scene('torn');
  mkdirSync(logs, { recursive: true });
  writeFileSync(path, left);
  await sink.send(['{"n":3}\n'], never);
  expect(readFileSync(path, 'utf8')).toBe(`${kept}{"n":3}\n`);
});

test.each<[string, Buffer]>([
  ['a large picture', Buffer.alloc(1024 * 1024 + 1, 1)],
  ['a large file without lines that has a brace there', Buffer.alloc(1024 * 1024 + 1, '{')],
  ['a small picture', Buffer.alloc(1024, 1)],
  ['a token', Buffer.from('c2VjcmV0')],
  ['a text without a last newline', Buffer.from('one\ntwo')],
])('%s is refused and not changed, however often rows are sent', async (_, content) => {
  const { sink, path, logs } = scene('foreign');
  mkdirSync(logs, { recursive: true });
  writeFileSync(path, content);
  for (let attempt = 0; attempt < 2; attempt++) await expect(sink.send(['{"n":1}\n'], never)).rejects.toThrow(path);
  expect(readFileSync(path).equals(content)).toBe(true);
  expect(readdirSync(logs)).toEqual(['audit.ndjson']);
});

test.each([
  ['folder', 'mkdir'],
  ['pipe', 'mkfifo'],
])('a %s in place of the file is refused', async (name, make) => {
  const { sink, path, logs } = scene(name);
  mkdirSync(logs);
  execFileSync(make, [path]);
  await expect(sink.send(['{"n":1}\n'], never)).rejects.toThrow(`${path} is not a file`);
});

test('an open file that is moved or removed is followed by a new one', async () => {
  const { sink, path, logs } = scene('moved');
  await sink.send(['{"n":1}\n'], never);
  renameSync(path, join(logs, 'moved'));
  await sink.send(['{"n":2}\n'], never);
  rmSync(path);
  await sink.send(['{"n":3}\n'], never);
  expect(readFileSync(path, 'utf8')).toBe('{"n":3}\n');
  expect(readFileSync(join(logs, 'moved'), 'utf8')).toBe('{"n":1}\n');
});

test('each day has its own files, and two files finished within one second have different names', async () => {
  let time = Date.UTC(2026, 10, 21, 23, 59, 59);
  const { logs, path, files } = scene('days');
  const sink = createFileSink({ path, size: 1, total: 10, now: () => time });
  await sink.send(['{"n":1}\n'], never);
  utimesSync(path, time / 1000, time / 1000);
  await sink.close();
  const next = createFileSink({ path, size: 1, total: 10, now: () => time });
  time += 1000;
  await next.send(['{"n":2}\n'], never);
  await next.close();
  expect(files()).toEqual(['audit-2026-11-22-000000-1.ndjson.gz', 'audit.ndjson']);
  expect(gunzipSync(readFileSync(join(logs, 'audit-2026-11-22-000000-1.ndjson.gz'))).toString()).toBe('{"n":1}\n');
  for (let n = 3; n < 13; n++) {
    const yesterday = time / 1000 - 86_400;
    utimesSync(path, yesterday, yesterday);
    const again = createFileSink({ path, size: 1, total: 10, now: () => time });
    await again.send([`{"n":${n}}\n`], never);
    await again.close();
  }
  expect(files()).toEqual([
    ...Array.from({ length: 11 }, (_, index) => `audit-2026-11-22-000000-${index + 1}.ndjson.gz`).toSorted(),
    'audit.ndjson',
  ]);
  expect(readFileSync(path, 'utf8')).toBe('{"n":12}\n');
});

test('a file from a run that was killed while compressing is compressed once', async () => {
  const { sink, logs, files } = scene('killed');
  mkdirSync(logs);
  writeFileSync(join(logs, 'audit-2026-11-20-000000-1.ndjson'), '{"n":1}\n');
  writeFileSync(join(logs, 'audit-2026-11-20-000000-1.ndjson.gz'), gzipSync('{"n":1}\n'));
  writeFileSync(join(logs, 'audit-2026-11-21-000000-1.ndjson'), '{"n":2}\n');
  writeFileSync(join(logs, '.audit.part'), 'half');
  writeFileSync(join(logs, 'audit-of-others.ndjson'), 'not ours');
  await sink.send(['{"n":3}\n'], never);
  await sink.close();
  expect(files()).toEqual([
    'audit-2026-11-20-000000-1.ndjson.gz',
    'audit-2026-11-21-000000-1.ndjson.gz',
    'audit-of-others.ndjson',
    'audit.ndjson',
  ]);
  expect(readdirSync(logs)).toHaveLength(4);
});

test('a finished file that cannot be compressed leaves no part behind, and rows continue', async () => {
  const { sink, logs, path } = scene('unreadable');
  mkdirSync(join(logs, 'audit-2026-11-20-000000-1.ndjson'), { recursive: true });
  await sink.send(['{"n":1}\n'], never);
  await sink.close();
  expect(readdirSync(logs).toSorted()).toEqual(['audit-2026-11-20-000000-1.ndjson', 'audit.ndjson']);
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n');
});

test('a folder that cannot be written to is an error, and the next attempt after its repair succeeds', async () => {
  const { sink, logs, path } = scene('mended');
  writeFileSync(logs, 'a file where the folder belongs');
  await expect(sink.send(['{"n":1}\n'], never)).rejects.toMatchObject({ syscall: 'mkdir' });
  rmSync(logs);
  mkdirSync(logs);
  chmodSync(logs, 0o755);
  await sink.send(['{"n":1}\n'], never);
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n');
});
