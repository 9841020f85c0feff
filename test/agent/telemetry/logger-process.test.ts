import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, openSync, writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';

const program = fileURLToPath(new URL('log-and-exit.ts', import.meta.url));
const count = 2000;
const path = temporaryFolder();

function numbersIn(output: string): unknown[] {
  const lines = output.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line).number);
}

const all = Array.from({ length: count }, (_, number) => number);

test('a line that was logged right before the exit is printed', async () => {
  const child = spawn(process.execPath, [program, String(count)], { stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = once(child, 'close');
  expect(numbersIn(await text(child.stdout))).toEqual(all);
  expect(await closed).toEqual([3, null]);
});

test('the process waits until a full, non-blocking pipe has taken its output', async () => {
  execFileSync('mkfifo', [path('pipe')]);
  const pipe = openSync(path('pipe'), constants.O_RDWR | constants.O_NONBLOCK);
  const filling = fill(pipe);
  const child = spawn(process.execPath, [program, String(count)], { stdio: ['ignore', pipe, 'pipe'] });
  const closed = once(child, 'close');
  const errors = text(child.stderr as NodeJS.ReadableStream);
  await once(child.stderr as NodeJS.ReadableStream, 'data');
  const output = text(createReadStream(path('pipe')));
  expect(await closed).toEqual([3, null]);
  closeSync(pipe);
  expect(numbersIn((await output).slice(filling))).toEqual(all);
  expect(await errors).toBe('begins\n');
});

/** Fills the pipe; returns how many bytes it took. */
function fill(pipe: number): number {
  const block = Buffer.alloc(4096, ' ');
  for (let bytes = 0; ;) {
    try {
      bytes += writeSync(pipe, block);
    } catch (error) {
      expect(error).toMatchObject({ code: 'EAGAIN' });
      return bytes;
    }
  }
}
