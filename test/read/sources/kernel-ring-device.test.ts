import { execFile } from 'node:child_process';
import { uptime } from 'node:os';
import { promisify } from 'node:util';
import { expect, test, type TestContext } from 'vitest';
import { createKernelRing } from '../../../src/read/sources/kmsg/kernel-ring.ts';
import { kmsgDevice, readKmsgRecord, recordSize } from '../../../src/read/sources/kmsg/device.ts';
import { fakeTime } from './fake-time.ts';
import { listening } from './heard.ts';

/** The real /dev/kmsg of the machine on which the tests run. */

const run = promisify(execFile);

interface RealRecord {
  number: number;
  isKernel: boolean;
}

/** Reads all records in the shortest way. Skips the test if the device may not be read. */
function recordsNow({ skip }: TestContext): RealRecord[] {
  let fd: number;
  try {
    fd = kmsgDevice.open('/dev/kmsg');
  } catch (error) {
    return skip(`no access to /dev/kmsg: ${String(error)}`);
  }
  const buffer = Buffer.alloc(recordSize);
  const records: RealRecord[] = [];
  try {
    for (;;) {
      const outcome = readKmsgRecord(kmsgDevice, fd, buffer);
      if (outcome === 'empty') return records;
      if (typeof outcome === 'object') throw outcome.error;
      if (outcome === 'again') continue;
      const [priority, number] = buffer.toString('latin1', 0, 40).split(',').map(Number);
      records.push({ number: number ?? NaN, isKernel: (priority ?? NaN) < 8 });
    }
  } finally {
    kmsgDevice.close(fd);
  }
}

test('every existing record is handed over once, in order, with its number, origin and a time since boot', (context) => {
  const before = recordsNow(context);
  const { heard, listener } = listening();
  const time = fakeTime(Date.now());
  const source = createKernelRing({ saved: undefined, since: -Infinity, listener, timing: time });
  source.start();
  // Nothing here really waits: if a read blocked, this would never end.
  time.advance(0);
  const after = recordsNow(context);
  source.stop();

  const numbers = heard.lines.map(({ line }) => line);
  expect(numbers).toStrictEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  // Records that are written or overwritten in the meantime are in only one of the two.
  const lasting = before.filter(({ number }) => number >= (after[0]?.number ?? 0));
  expect(lasting.some(({ isKernel }) => isKernel)).toBe(true);
  const origins = new Map(heard.lines.map(({ line, origin }) => [line, origin]));
  for (const { number, isKernel } of lasting) expect(origins.get(number)).toBe(isKernel ? 'kernel' : 'userspace');
  // The kernel's clock and the two clocks of the uptime do not start at the same moment.
  const booted = Date.now() - uptime() * 1000 - 60_000;
  for (const { time: at, timeIsExact } of heard.lines) {
    expect(at).toBeLessThanOrEqual(Date.now());
    expect(at).toBeGreaterThan(booted);
    expect(timeIsExact).toBe(true);
  }
  // A program that writes much in the meantime may overwrite records that were not read yet.
  const overwritten = (after[0]?.number ?? 0) - (before[0]?.number ?? 0);
  const lost = heard.losses.reduce((sum, { count }) => sum + (count ?? 0), 0);
  expect(lost).toBeLessThanOrEqual(overwritten);
  if (overwritten === 0) expect([heard.losses, heard.notices]).toStrictEqual([[], []]);
});

test('a process that reads it ends when it is stopped', async (context) => {
  recordsNow(context);
  const script = `
    const { createKernelRing } = await import(${JSON.stringify(new URL('../../../src/read/sources/kmsg/kernel-ring.ts', import.meta.url).href)});
    const source = createKernelRing({
      saved: undefined,
      since: -Infinity,
      listener: { take() {}, lost() {}, notice() {} },
    });
    source.start();
    const timer = setInterval(() => {
      if (source.counts.lines === 0) return;
      clearInterval(timer);
      source.stop();
      console.log(source.state);
    }, 1);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  expect(stdout).toBe('stopped\n');
});
