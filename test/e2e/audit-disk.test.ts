import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createFileSink } from '../../src/publish/audit/sinks/file.ts';
import { createOwnFolder } from './own-folder.ts';

/** The file of the audit on a real file system that is nearly full: the kernel writes a part of a batch, says so, and only refuses the next write. */

const never = new AbortController().signal;
const rows = Array.from({ length: 1000 }, (_, index) => `{"n":${index},"x":"${'y'.repeat(190)}"}\n`);
let mount: ChildProcess;
let folder: string;
let path: string;

/** When the tests end, in whatever way, its input ends too, and nothing stays mounted. */
const mounting = `
mount -t tmpfs -o size=8M none "$1"
trap 'umount --lazy "$1"' EXIT
echo mounted
cat > /dev/null
`;

beforeAll(async () => {
  folder = createOwnFolder('audit-disk');
  mount = spawn('sh', ['-ec', mounting, 'sh', folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  // It prints a line once it is mounted. Without the mount, the test would fill the machine's own disk.
  const [answer] = await Promise.race([once(mount, 'exit'), once(mount.stdout as NodeJS.ReadableStream, 'data')]);
  if (!Buffer.isBuffer(answer)) throw new Error(`nothing was mounted on ${folder}`);
  path = join(folder, 'audit.ndjson');
});
afterEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
});
afterAll(async () => {
  mount.stdin?.end();
  await once(mount, 'close');
});

/** Leaves this many KiB free, in pages of 4 KiB. */
function leave(kibibytes: number): void {
  const filler = join(folder, 'filler');
  const descriptor = openSync(filler, 'a');
  writeSync(descriptor, Buffer.alloc(8 * 1024 * 1024));
  closeSync(descriptor);
  truncateSync(filler, statSync(filler).size - kibibytes * 1024);
}

function names(): string[] {
  return readdirSync(folder);
}

function makeRoom(): void {
  rmSync(join(folder, 'filler'));
}

test('the kernel writes a part of a batch that does not fit', () => {
  leave(20);
  const file = join(folder, 'probe');
  const descriptor = openSync(file, 'a');
  const written = writeSync(descriptor, rows.join(''));
  closeSync(descriptor);
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(rows.join('').length);
});

test('a batch that does not fit leaves no row or part of one, and is written completely once there is room', async () => {
  const sink = createFileSink({ path, size: 10, total: 10 });
  await sink.send(['{"first":true}\n'], never);
  leave(20);
  for (let attempt = 0; attempt < 3; attempt++) {
    await expect(sink.send(rows, never)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readFileSync(path, 'utf8')).toBe('{"first":true}\n');
  }
  makeRoom();
  expect(await sink.send(rows, never)).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(`{"first":true}\n${rows.join('')}`);
  await sink.close();
});

test('a file that cannot be compressed stays as it is, and is compressed with the next one', async () => {
  const sink = createFileSink({ path, size: 1, total: 10 });
  const batch = Array.from({ length: 1000 }, (_, index) => `{"n":${index},"x":"${'y'.repeat(900)}"}\n`);
  await sink.send(batch, never);
  leave(4);
  await expect(sink.send(batch, never)).rejects.toMatchObject({ code: 'ENOSPC' });
  await sink.close();
  expect(names().filter((name) => name.endsWith('.ndjson') && name !== 'audit.ndjson')).toHaveLength(1);
  expect(names().filter((name) => name.endsWith('.gz') || name.endsWith('.part'))).toEqual([]);
  makeRoom();
  const next = createFileSink({ path, size: 1, total: 10 });
  await next.send(['{"n":0}\n'], never);
  await next.close();
  expect(names().filter((name) => name.endsWith('.ndjson') && name !== 'audit.ndjson')).toEqual([]);
  expect(names().filter((name) => name.endsWith('.gz'))).toHaveLength(1);
});
