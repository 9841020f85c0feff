import { type ChildProcess, execFileSync, spawn as spawnProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type Child,
  type RunEnd,
  runJournalctl,
  type Spawn,
  spawnJournalctl,
} from '../../../src/read/sources/journald/journalctl.ts';
import { schedule } from '../../../src/base/platform/timer.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Real processes that stand in for journalctl. */

const inFolder = temporaryFolder();
const silent = { output: (): void => {}, errorOutput: (): void => {} };

/** Runs this script instead, and reports each process. */
function running(script: string, onSpawn: (child: ChildProcess) => void = () => {}): Spawn {
  return () => {
    const child = spawnProcess(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    onSpawn(child);
    return child;
  };
}

test('all output comes before the end', async () => {
  const output: string[] = [];
  const ending = await new Promise<RunEnd>((resolve) => {
    const listener = {
      output: (chunk: Buffer) => output.push(chunk.toString()),
      errorOutput: (chunk: Buffer) => output.push(chunk.toString()),
      ended: resolve,
    };
    const script = 'console.log("a".repeat(1e6)); console.error("oh"); process.exitCode = 3';
    runJournalctl(running(script), [], listener, schedule);
  });
  expect(ending).toEqual({ code: 3, signal: null });
  expect(output.join('').length).toBe(1_000_004);
});

test('a missing program is reported', async () => {
  const ending = await new Promise<RunEnd>((resolve) => {
    runJournalctl((_, args) => spawnJournalctl(inFolder('none'), args), [], { ...silent, ended: resolve }, schedule);
  });
  expect(ending).toMatchObject({ error: { code: 'ENOENT' } });
});

test('without free descriptors, there is no output to read, and an error is reported', async () => {
  const child = new EventEmitter();
  const outputless = Object.assign(child, { kill: () => false, unref: () => {} }) as unknown as Child;
  const endings: RunEnd[] = [];
  const kill = runJournalctl(() => outputless, [], { ...silent, ended: (ending) => endings.push(ending) }, schedule);
  child.emit('error', new Error('spawn EMFILE'));
  child.emit('error', new Error('kill ESRCH'));
  expect(endings).toEqual([{ error: new Error('spawn EMFILE') }]);
  kill();
});

test('an error of its pipes does not count as an error of the source, which learns of the end anyway', async () => {
  let child: ChildProcess | undefined;
  const ending = await new Promise<RunEnd>((resolve) => {
    runJournalctl(
      running('process.exitCode = 3', (started) => (child = started)),
      [],
      { ...silent, ended: resolve },
      schedule,
    );
    for (const output of [child?.stdout, child?.stderr]) output?.emit('error', new Error('read EIO'));
  });
  expect(ending).toEqual({ code: 3, signal: null });
});

test('it is ended at once even if it ignores the signal, and its output is no longer used', async () => {
  const heard: unknown[] = [];
  let isKilled = false;
  let child: ChildProcess | undefined;
  const script = 'process.on("SIGTERM", () => {}); setInterval(() => console.log("x"), 1); console.log("y")';
  const spawn = running(script, (started) => (child = started));
  const kill = await new Promise<() => void>((resolve) => {
    const listener = {
      output: (chunk: Buffer) => (isKilled ? void heard.push(chunk) : resolve(killing)),
      errorOutput: () => {},
      ended: (ending: RunEnd) => heard.push(ending),
    };
    const killing: () => void = runJournalctl(spawn, [], listener, schedule);
  });
  isKilled = true;
  kill();
  kill();
  // A listener would hear of the end here, not at `exit`.
  expect(await once(child as ChildProcess, 'close')).toEqual([null, 'SIGKILL']);
  expect(heard).toEqual([]);
});

test('output in many pieces is handed over completely in few batches', async () => {
  const pieces = 400;
  const node = inFolder('printing');
  writeFileSync(
    node,
    `#!${process.execPath}
    let piece = 0;
    const timer = setInterval(() => (piece++ < ${pieces} ? process.stdout.write('x'.repeat(100)) : clearInterval(timer)), 2);`,
    { mode: 0o755 },
  );
  const chunks: Buffer[] = [];
  await new Promise<RunEnd>((resolve) => {
    const listener = { ...silent, output: (chunk: Buffer) => void chunks.push(chunk), ended: resolve };
    runJournalctl((_, args) => spawnJournalctl(node, args), [], listener, schedule);
  });
  expect(Buffer.concat(chunks).length).toBe(pieces * 100);
  // At most two for each look: what was read before the pause, and the rest.
  expect(chunks.length).toBeLessThan(60);
});

test('a stopped source does not keep the process alive', () => {
  const script = `
    import { createJournal } from ${JSON.stringify(join(import.meta.dirname, '../../../src/read/sources/journald/journal.ts'))};
    const listener = { take() {}, lost() {}, notice() {} };
    const source = createJournal({ saved: undefined, since: 0, listener, needles: ['IN='] });
    source.start();
    source.stop();`;
  const sleeping = inFolder('journalctl');
  writeFileSync(sleeping, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${inFolder()}:${process.env['PATH']}` };
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env, timeout: 60_000 });
});
