import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { program, replay as start } from './program.ts';
import { replay } from './replaying.ts';
import { eventsIn, json, policyDeny, policyDenyText, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

test('standard input is read like any other log', async () => {
  const outcome = await start([...json, '-'], { stdin: policyDenyText });
  expect(outcome).toMatchObject({ status: 0, err: '' });
  expect(eventsIn(outcome)).toStrictEqual(eventsIn(await replay([...json, policyDeny])));
});

test('standard input may be compressed: the help says that .gz and .zst are unpacked', async () => {
  const outcome = await replay([...json, '-'], { stdin: gzipSync(policyDenyText) });
  expect(eventsIn(outcome)).toStrictEqual(eventsIn(await replay([...json, policyDeny])));
});

test('a named pipe is read', async () => {
  await promisify(execFile)('mkfifo', [path('fifo')]);
  const writer = spawn('sh', ['-c', 'exec cat "$1" > "$2"', 'sh', policyDeny, path('fifo')]);
  try {
    const outcome = await replay([...json, path('fifo')]);
    expect(outcome).toMatchObject({ status: 0, err: '' });
    expect(eventsIn(outcome)).toStrictEqual(eventsIn(await replay([...json, policyDeny])));
  } finally {
    writer.kill('SIGKILL');
  }
});

test.each([['audit'], ['json'], ['table']])('the reader of the output may close it: %s', async (format) => {
  // Two Events for each, which is far more than a pipe holds.
  const addresses = Array.from({ length: 1000 }, (_, i) => `10.7.${i >> 8}.${i & 255}`);
  const items = addresses.map((ip, i) => ({
    kind: 'Pod',
    metadata: { name: `db-${i}`, namespace: 'shop', uid: `uid-${i}` },
    status: { phase: 'Running', podIPs: [{ ip }] },
  }));
  const objects = write(`many-${format}.json`, JSON.stringify({ kind: 'List', items }));
  const stdin = addresses.map((address) => stamped.replace('10.244.1.30', address)).join('');
  const args = ['-q', '--pods', objects, '-o', format, '-'];
  expect((await replay(args, { stdin })).out.length).toBeGreaterThan(300_000);
  expect(await start(args, { stdin, readsOnlyTheStart: true })).toMatchObject({ status: 0, err: '' });
});

test('the reader of the help may close it', async () => {
  expect(await program(['replay', '--help'], { readsOnlyTheStart: true })).toMatchObject({ status: 0, err: '' });
});
