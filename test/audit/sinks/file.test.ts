import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createFileSink } from '../../../src/audit/sinks/file.ts';
import { temporaryFolder } from '../../sources/temporary-folder.ts';

const never = new AbortController().signal;
const folder = temporaryFolder();

function scene(name: string, given: { size?: number; total?: number } = {}) {
  const logs = folder(name);
  const path = join(logs, 'audit.ndjson');
  const sink = createFileSink({ path, size: 1, total: 10, ...given });
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

/** About 100 KiB that do not pack well. */
function rows(from: number): string[] {
  return Array.from(
    { length: 1000 },
    (_, index) => `{"n":${from + index},"x":"${Math.sin(from + index)}${'y'.repeat(60)}"}\n`,
  );
}

test('rows are in the file once they are confirmed, and go after those of an earlier run', async () => {
  const { sink, path } = scene('plain');
  expect(await sink.send(['{"n":1}\n', '{"n":2}\n'], never)).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
  await sink.close();
  const next = scene('plain').sink;
  await next.send(['{"n":3}\n'], never);
  await next.close();
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":3}\n');
});

test('a full file is packed, no row is lost or torn, and the folder holds nothing but rows', async () => {
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

test('packed files past the total are deleted, oldest first', async () => {
  const { sink, logs, files } = scene('total', { total: 1 });
  for (let batch = 0; batch < 80; batch++) await sink.send(rows(batch * 1000), never);
  await sink.close();
  const packed = files().filter((file) => file.endsWith('.gz'));
  expect(packed.length).toBeGreaterThan(1);
  expect(packed.reduce((sum, file) => sum + statSync(join(logs, file)).size, 0)).toBeLessThanOrEqual(1024 * 1024);
});

test('a folder that cannot be written rejects, and the next attempt after it was mended goes through', async () => {
  const { sink, logs, path } = scene('mended');
  writeFileSync(logs, 'a file where the folder belongs');
  await expect(sink.send(['{"n":1}\n'], never)).rejects.toMatchObject({ syscall: 'mkdir' });
  rmSync(logs);
  mkdirSync(logs);
  chmodSync(logs, 0o755);
  await sink.send(['{"n":1}\n'], never);
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n');
  await sink.close();
});
