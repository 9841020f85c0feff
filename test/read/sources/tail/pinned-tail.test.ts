import { execFile } from 'node:child_process';
import nodeFs, { appendFileSync, readdirSync, renameSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type Content, openPinnedTail } from '../../../../src/read/sources/tail/content.ts';
import { closeLog, openLog, type OpenLog } from '../../../../src/read/sources/tail/open-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The processor time of this thread, which only a test makes pass. */
const processor = vi.hoisted(() => ({ time: 0 }));

vi.mock(import('../../../../src/base/platform/clock.ts'), async (original) => ({
  ...(await original()),
  processorTime: () => processor.time,
}));

const path = temporaryFolder();
let files = 0;

function opened(written: string | Buffer, onBlock: (content: Content, block: Buffer) => void = () => {}) {
  const file = path(`${++files}.log`);
  writeFileSync(file, written);
  const log = openLog(file) as OpenLog;
  const [blocks, errors]: [Buffer[], unknown[]] = [[], []];
  let [changes, moves, turns] = [0, 0, 0];
  const content: Content = openPinnedTail(log, {
    block(block) {
      blocks.push(Buffer.from(block));
      onBlock(content, block);
    },
    failed: (error) => void errors.push(error),
    changed: () => void changes++,
    turnEnded: () => void turns++,
    moved: () => void moves++,
  });
  let isClosed = false;
  onTestFinished(() => {
    if (!isClosed) content.close();
    isClosed = true;
    closeLog(log);
  });
  const text = (): string => Buffer.concat(blocks).toString();
  return { file, log, content, blocks, errors, changes: () => changes, moves: () => moves, turns: () => turns, text };
}

/** Waits until `check` no longer throws. */
const until = (check: () => void): Promise<void> => vi.waitFor(check, { interval: 1, timeout: 60_000 });

function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

test('reads the present content from the given position as bytes, and reports its turn', () => {
  const wasBusy: boolean[] = [];
  const { content, text, turns, errors } = opened(Buffer.from('abc\u00ff\0\nIN=ä\n'), ({ isBusy }) => {
    wasBusy.push(isBusy);
  });
  expect([content.isWatched, content.isBusy, content.size()]).toStrictEqual([true, false, 13]);
  content.read(3);
  expect(text()).toBe('\u00ff\0\nIN=ä\n');
  expect([wasBusy, content.isBusy, turns(), errors]).toStrictEqual([[true], false, 1, []]);
});

test('at the end it reads nothing, and reports no turn', () => {
  const { content, blocks, turns } = opened('abc');
  content.read(3);
  expect([content.isBusy, blocks.length, turns()]).toStrictEqual([false, 0, 0]);
});

test('reads until its time is over, and the rest when asked again; of slow content it reads less', () => {
  const size = 10 * 1024 * 1024;
  const costs = { perKilobyte: 0 };
  const { content, blocks, turns } = opened(Buffer.alloc(size, 'x'), (_, { length }) => {
    processor.time += (costs.perKilobyte * length) / 1024;
  });
  const lengths = (): number[] => blocks.splice(0).map(({ length }) => length);
  content.read(0);
  expect(Math.max(...lengths())).toBe(64 * 1024);
  costs.perKilobyte = 1;
  for (let turn = 0; turn < 5; turn++) content.read(0);
  expect([turns(), lengths().at(-1)]).toStrictEqual([6, 4 * 1024]);
  content.read(0);
  expect([turns(), lengths()]).toStrictEqual([7, [4 * 1024]]);
  content.read(size - 10);
  expect([turns(), lengths()]).toStrictEqual([8, [10]]);
});

test('no other block is handed over during a block', () => {
  const { content, text } = opened('IN=1\nIN=2\n', (it) => it.read(5));
  content.read(0);
  expect(text()).toBe('IN=1\nIN=2\n');
});

test('notices appended bytes, even if the file was renamed and then deleted', async () => {
  const { file, content, text, changes, moves } = opened('IN=1\n');
  const appended = async (to: string, line: string): Promise<void> => {
    const [before, from] = [changes(), content.size()];
    appendFileSync(to, line);
    await until(() => expect(changes()).toBeGreaterThan(before));
    content.read(from);
    await until(() => expect(text()).toContain(line));
  };
  await appended(file, 'IN=2\n');
  expect(moves()).toBe(0);
  renameSync(file, `${file}.1`);
  await until(() => expect(moves()).toBeGreaterThan(0));
  writeFileSync(file, 'another file\n');
  await appended(`${file}.1`, 'IN=3\n');
  const fd = nodeFs.openSync(`${file}.1`, 'a');
  onTestFinished(() => nodeFs.closeSync(fd));
  unlinkSync(`${file}.1`);
  await appended(`/proc/self/fd/${fd}`, 'IN=4\n');
  expect(text()).toBe('IN=2\nIN=3\nIN=4\n');
});

test('notices that the file is deleted', async () => {
  const { file, changes, moves, content, text } = opened('IN=1\n');
  unlinkSync(file);
  await until(() => expect(changes() + moves()).toBeGreaterThan(0));
  content.read(0);
  await until(() => expect(text()).toBe('IN=1\n'));
});

test('a file that is cut off between two blocks ends early, and can be read again', () => {
  let isCut = false;
  const size = 3 * 1024 * 1024;
  const { file, content, blocks, errors, text } = opened(Buffer.alloc(size, 'x'), () => {
    if (!isCut) truncateSync(file);
    isCut = true;
  });
  content.read(0);
  expect(blocks.map(({ length }) => length)).toStrictEqual([4 * 1024]);
  expect(content.size()).toBe(0);
  blocks.length = 0;
  appendFileSync(file, 'IN=1\n');
  content.read(0);
  expect(text()).toBe('IN=1\n');
  expect(errors).toStrictEqual([]);
});

test('hands over nothing more after it is closed within a block', async () => {
  const { content, blocks, changes, file } = opened(Buffer.alloc(1024 * 1024, 'x'), (it) => it.close());
  const before = descriptors();
  content.read(0);
  await until(() => expect(blocks).toHaveLength(1));
  appendFileSync(file, 'IN=1\n');
  await until(() => expect(descriptors()).toBeLessThanOrEqual(before));
  expect([blocks.length, changes(), content.isBusy]).toStrictEqual([1, 0, false]);
  content.read(0);
  expect(content.isBusy).toBe(false);
});

test('errors are handed over only before it is closed', () => {
  for (const isClosed of [true, false]) {
    const { content, log, errors, blocks, turns } = opened('IN=1\n');
    closeLog(log);
    if (isClosed) content.close();
    content.read(0);
    expect([errors.length, blocks.length, turns()]).toStrictEqual([isClosed ? 0 : 1, 0, 0]);
    log.fd = -1;
  }
});

test('closed: leaves no descriptor', async () => {
  const cycle = async (): Promise<number> => {
    const { content, log, text } = opened('IN=1\n');
    content.read(0);
    await until(() => expect(text()).toBe('IN=1\n'));
    content.close();
    closeLog(log);
    log.fd = -1;
    return descriptors();
  };
  await cycle();
  const before = descriptors();
  for (let i = 0; i < 30; i++) await cycle();
  await until(() => expect(descriptors()).toBeLessThanOrEqual(before));
});

test('closed: does not keep the process alive', async () => {
  const file = path('child.log');
  writeFileSync(file, 'IN=1\n');
  const folder = new URL('../../../../src/read/sources/tail/', import.meta.url).href;
  const script = `
      import { openLog, closeLog } from '${folder}open-log.ts';
      import { openPinnedTail } from '${folder}content.ts';
      const log = openLog('${file}');
      const nothing = () => {};
      const content = openPinnedTail(log, { block: end, turnEnded: nothing, failed: nothing, changed: nothing, moved: nothing });
      content.read(0);
      function end(block) {
        console.log(String(block));
        content.close();
        closeLog(log);
      }`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { timeout: 60_000 });
  expect(stdout).toBe('IN=1\n\n');
});

test.each(['EMFILE', 'ENOSPC'])('without a watch of the kernel: %s: says so, and reads', async (code) => {
  using watch = vi.spyOn(nodeFs, 'watch').mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  const { content, text, errors, file, changes } = opened('IN=1\n');
  expect(watch).toHaveBeenCalledOnce();
  expect(content.isWatched).toBe(false);
  content.read(0);
  await until(() => expect(text()).toBe('IN=1\n'));
  appendFileSync(file, 'IN=2\n');
  content.read(5);
  await until(() => expect(text()).toBe('IN=1\nIN=2\n'));
  expect([errors, changes()]).toStrictEqual([[], 0]);
});

test('a watch that breaks later has no effect', async () => {
  using watch = vi.spyOn(nodeFs, 'watch');
  const { content, text, errors } = opened('IN=1\n');
  const [{ value: watcher } = { value: undefined }] = watch.mock.results;
  (watcher as nodeFs.FSWatcher).emit('error', new Error('overrun'));
  expect(content.isWatched).toBe(false);
  content.read(0);
  await until(() => expect(text()).toBe('IN=1\n'));
  expect(errors).toStrictEqual([]);
});
