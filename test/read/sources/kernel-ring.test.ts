import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { createKernelRing, type KernelRingOptions } from '../../../src/read/sources/kmsg/kernel-ring.ts';
import type { Device } from '../../../src/read/sources/kmsg/device.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { fakeRing } from './fake-ring.ts';
import { fakeTime } from './fake-time.ts';
import { kept } from './following.ts';
import { type Heard, listening } from './heard.ts';
import { forAll } from '../../for-all.ts';

const tables: { origins: [number, string, string][] } = {
  // Priorities and texts of records, and their writers.
  origins: [
    [0, 'IN=', 'kernel'],
    [7, 'IN=', 'kernel'],
    [8, 'IN=', 'userspace'],
    [12, 'IN=', 'userspace'],
    // Other sources believe ulogd's name; here anybody could have written it.
    [12, 'Nov 21 03:42:11 node-a ulogd[1]: IN=', 'userspace'],
    [12, 'kernel: IN=', 'userspace'],
    // A prefix that looks like a program is a prefix nevertheless.
    [4, 'fw[1]: IN=', 'kernel'],
  ],
};

const noon = Date.UTC(2026, 10, 21, 12);
/** The machine's uptime at that time. */
const uptime: Millis = 5000;
const minute: Millis = 60_000;

type Machine = ReturnType<typeof machine>;

function machine(firstNumber = 0) {
  const time = fakeTime(noon);
  const monotonic = (): Millis => uptime + time.elapsed();
  return { time, monotonic, ring: fakeRing(monotonic, firstNumber) };
}

type Options = Partial<KernelRingOptions> & { onLine?: (source: Source) => void };

interface RingHeard extends Heard {
  source: Source;
  texts: () => string[];
}

/** A source that has not been started. */
function prepare({ time, ring, monotonic }: Machine, { onLine, ...options }: Options = {}): RingHeard {
  const { heard, listener } = listening(() => onLine?.(source));
  const source: Source = createKernelRing({
    saved: undefined,
    since: 0,
    listener,
    timing: time,
    monotonic,
    bootId: () => 'this boot',
    device: ring,
    ...options,
  });
  onTestFinished(() => source.stop());
  return { ...heard, source, texts: () => heard.lines.map(({ text }) => text) };
}

/** A started source that has read the present records. */
function read(all: Machine, options?: Options): RingHeard {
  const reading = prepare(all, options);
  reading.source.start();
  all.time.advance(0);
  return reading;
}

const longest = 'x'.repeat(8192 - '4,0,5000000,-;\n'.length);

test('records have their content and their place', () => {
  const { time, ring, monotonic } = machine(100);
  ring.log('calico-drop: IN=eth0 ');
  ring.logRaw('6,101,4000500,-;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=+usb:1-1\n');
  const { lines, source } = read({ time, ring, monotonic });
  const common = { source: '/dev/kmsg', timeIsExact: true, host: undefined, origin: 'kernel' };
  expect(lines).toStrictEqual([
    { ...common, line: 100, text: 'calico-drop: IN=eth0 ', time: noon },
    { ...common, line: 101, text: 'usb 1-1: new device', time: noon - 999.5 },
  ]);
  expect([source.name, source.state]).toStrictEqual(['/dev/kmsg', 'reading']);
  expect(source.counts).toStrictEqual({ lines: 2, bytes: 106, tooLong: 0 });
  expect(source.position).toStrictEqual({ bootId: 'this boot', seq: 101 });
});

test.each([
  [
    'of escapes, which are bytes, and a newline among them does not end it',
    'one\\x0atwo \\xc3\\xa4\\xff \\x5cx',
    'one\ntwo \xc3\xa4\xff \\x',
  ],
  ['of bytes that are no UTF-8', '\xff\xfe\x80', '\xff\xfe\x80'],
  ['of nothing', '', ''],
  ['of the most that a kernel hands out', longest, longest],
])('a message %s is a record', (_, text, expected) => {
  const all = machine();
  all.ring.log(text);
  expect(read(all).texts()).toStrictEqual([expected]);
});

test('fields of a later kernel are accepted', () => {
  const all = machine();
  all.ring.logRaw('4,0,5000000,-,caller=T1,new=field;IN=\n');
  expect(read(all).lines).toMatchObject([{ text: 'IN=', line: 0, origin: 'kernel' }]);
});

test('a record that arrives alone has the present time, whatever its stamp', () => {
  const all = machine();
  all.ring.log('IN=1', { stamp: 2000 });
  const { lines } = read(all);
  all.time.advance(1000);
  // By then it is looked at every 100 ms, next in 24.
  all.ring.log('IN=2', { stamp: 3000 });
  all.time.advance(1000);
  expect(lines.map(({ time }) => time - noon)).toStrictEqual([-3000, 1024]);
});

test('text that is not a record is skipped and reported', () => {
  const all = machine();
  all.ring.log('IN=1');
  all.ring.logRaw('no record\n');
  all.ring.logRaw('4,1,5000000,-;IN=2\n');
  const { texts, notices } = read(all);
  expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
  expect(notices).toMatchObject([{ level: 'warn', key: 'unreadable' }]);
});

test.each<[number, string, string]>(tables.origins)('priority %i, %s: from the %s', (priority, text, origin) => {
  const all = machine();
  all.ring.log(text, { priority });
  expect(read(all).lines).toMatchObject([{ origin, timeIsExact: true, time: noon }]);
});

test('turns: reads 256 records at a time; then after 2 ms, with doubled pauses up to 100 ms, until there are many again', () => {
  const all = machine();
  const { time, ring } = all;
  const log = (count: number): void => {
    for (let i = 0; i < count; i++) ring.log('IN=');
  };
  log(600);
  const { source } = prepare(all);
  source.start();
  const turn = (): [Millis, number] => [time.step(), source.counts.lines];
  const waits = (count: number): Millis[] => Array.from({ length: count }, () => time.step());
  expect([turn(), turn(), turn()]).toStrictEqual([
    [0, 256],
    [0, 512],
    [0, 600],
  ]);
  expect(waits(8)).toStrictEqual([2, 4, 8, 16, 32, 64, 100, 100]);
  log(300);
  expect([turn(), turn()]).toStrictEqual([
    [100, 856],
    [0, 900],
  ]);
  expect(time.step()).toBeCloseTo((100 * 48) / 300);
});

test.each([
  [10, 100],
  [100, 100],
  [1000, 48],
  [10_000, 4.8],
])('turns: at %i records a second it looks every %i ms, for about 48 of them', (rate, expected) => {
  const all = machine();
  const { time, ring } = all;
  let logged = 0;
  const device: Device = {
    ...ring,
    read(fd, buffer) {
      for (const due = (time.elapsed() * rate) / 1000; logged < due; logged++) ring.log('IN=');
      return ring.read(fd, buffer);
    },
  };
  const { source } = prepare(all, { device });
  source.start();
  let wait = 0;
  for (let turns = 0; turns < 500; turns++) wait = time.step();
  expect(wait).toBeGreaterThan(expected * 0.8);
  expect(wait).toBeLessThan(expected * 1.2);
});

test('without a position, it begins with records that are not older than `since`', () => {
  const all = machine();
  all.ring.log('IN=old', { stamp: uptime - 601 });
  all.ring.log('IN=young', { stamp: uptime - 600 });
  const { texts, source } = read(all, { since: noon - 600 });
  expect(texts()).toStrictEqual(['IN=young']);
  expect(source.counts.lines).toBe(2);
});

test('`since` only concerns records present at the start: later ones are new, even after the clock is set back', () => {
  const all = machine();
  all.ring.log('IN=old', { stamp: 0 });
  const { texts } = read(all, { since: noon });
  all.time.setWallClock(noon - 60 * minute);
  all.ring.log('IN=new');
  all.time.advance(minute);
  expect(texts()).toStrictEqual(['IN=new']);
});

test('a position survives a run that reads nothing', () => {
  const all = machine(7);
  const saved = { bootId: 'this boot', seq: 6 };
  expect(read(all, { saved }).source.position).toStrictEqual(saved);
  expect(read(all).source.position).toBeUndefined();
});

test.each<[string, Position, string]>([
  ['of another boot, damaged', { bootId: 'another boot', seq: 'x' }, 'this boot'],
  ['of a boot that was unknown', { bootId: '', seq: 5 }, 'this boot'],
  ['of a boot of which nothing is known now', { bootId: 'this boot', seq: 1 }, ''],
  ['of a file', { device: '1', inode: '2', offset: 3, head: '', headLength: 0, skipping: false }, 'this boot'],
  ['that was damaged', { bootId: 'this boot', seq: 'x' }, 'this boot'],
  ['of an unknown boot', { bootId: '', seq: 5 }, ''],
])('an invalid position %s is ignored', (_, saved, bootId) => {
  const all = machine();
  for (const stamp of [100, 200, uptime]) all.ring.log('IN=', { stamp });
  const { lines, losses } = read(all, { saved, since: noon, bootId: () => bootId });
  expect(lines).toMatchObject([{ line: 2 }]);
  expect(losses).toStrictEqual([]);
});

const savedBefore = { bootId: 'another boot', seq: 12 };

test('after a reboot, it begins with the first record, however long the agent was away', () => {
  const all = machine();
  for (const stamp of [0, 1000, uptime]) all.ring.log('IN=', { stamp });
  const first = read(all, { saved: savedBefore, since: noon });
  expect(first.lines.map(({ line, time }) => [line, noon - time])).toStrictEqual([
    [0, 5000],
    [1, 4000],
    [2, 0],
  ]);
  expect(first.losses).toStrictEqual([]);
  expect(first.source.position).toStrictEqual({ bootId: 'this boot', seq: 2 });
  first.source.stop();
  all.ring.log('IN=new');
  expect(read(all, { saved: kept(first.source), since: noon }).texts()).toStrictEqual(['IN=new']);
});

test('after a reboot, a source that is stopped before it has read anything leaves its beginning to the next one', () => {
  const all = machine();
  const { source } = prepare(all, { saved: savedBefore, since: noon });
  source.stop();
  all.ring.log('IN=', { stamp: 0 });
  expect(read(all, { saved: kept(source), since: noon }).texts()).toStrictEqual(['IN=']);
});

test('with `since` at 0, it begins at the boot, even if that was years ago', () => {
  const all = machine();
  const years = 3 * 365 * 24 * 60 * minute;
  all.ring.log('Linux version 6.12', { stamp: 0 });
  all.ring.log('IN=', { stamp: years });
  const { texts } = read(all, { since: 0, monotonic: () => years + all.time.elapsed() });
  expect(texts()).toStrictEqual(['Linux version 6.12', 'IN=']);
});

test("the boot is recognized by the kernel's id for it", () => {
  const all = machine();
  all.ring.log('IN=1');
  const { time, ring, monotonic } = all;
  const { listener } = listening();
  const source = createKernelRing({ saved: undefined, since: 0, listener, timing: time, monotonic, device: ring });
  onTestFinished(() => source.stop());
  source.start();
  time.advance(0);
  expect(source.position).toStrictEqual({
    bootId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    seq: 0,
  });
});

function loss(count: number, time: Millis): unknown {
  return { count, unit: 'records', time, reason: expect.stringContaining(` ${count} `) };
}

test('a record too long for the buffer is counted', () => {
  const all = machine();
  all.ring.log('IN=0');
  all.ring.log('x'.repeat(9000));
  all.ring.log('IN=2');
  const { texts, losses } = read(all);
  expect([texts(), losses]).toStrictEqual([['IN=0', 'IN=2'], [loss(1, noon)]]);
});

test('records that are gone at the very start do not count as lost, nor do those older than `since`', () => {
  const all = machine();
  for (let number = 0; number < 9; number++) all.ring.log('IN=', { stamp: 1000 + number });
  all.ring.overwrite(3);
  let reads = 0;
  const device: Device = {
    ...all.ring,
    read(fd, buffer) {
      // More records are overwritten while the old ones are read.
      if (++reads === 2) all.ring.overwrite(3);
      return all.ring.read(fd, buffer);
    },
  };
  all.ring.log('IN=new');
  const { lines, losses } = read(all, { since: noon, device });
  expect(lines).toMatchObject([{ line: 9 }]);
  expect(losses).toStrictEqual([]);
});

test('a source that its listener stops at a loss leaves later records to the next one', () => {
  const all = machine();
  all.ring.log('IN=0');
  all.ring.log('IN=1');
  all.ring.overwrite(1);
  const saved = { bootId: 'this boot', seq: -1 };
  const { heard, listener } = listening();
  const { source } = prepare(all, { saved, listener: { ...listener, lost: () => source.stop() } });
  source.start();
  all.time.advance(0);
  expect(heard.lines).toStrictEqual([]);
  const next = read(all, { saved: kept(source) });
  expect([next.texts(), next.losses]).toStrictEqual([['IN=1'], []]);
});

test('each record is handed over once, or counted as lost, whatever is written and overwritten', () => {
  const action = fc.oneof(
    fc.record({ do: fc.constant('log' as const), count: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ do: fc.constant('overwrite' as const), count: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ do: fc.constant('wait' as const), count: fc.integer({ min: 0, max: 100 }) }),
    fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ do: fc.constant('restart' as const), count: fc.integer({ min: 0, max: 100 }) }),
    fc.record({ do: fc.constant('fail' as const), count: fc.integer({ min: 0, max: 30_000 }) }),
  );
  forAll([fc.array(action, { maxLength: 30 })], { numRuns: 300 }, (actions) => {
    const all = machine(1000);
    const { time, ring } = all;
    const seen: number[] = [];
    let lost = 0;
    let stopAt = Infinity;
    const begin = (saved: Position | undefined): Source => {
      const { heard, listener } = listening();
      const { source: begun } = read(all, {
        saved,
        listener: {
          ...listener,
          take(line) {
            seen.push(line.line);
            if (--stopAt === 0) source.stop();
          },
          lost: ({ count }) => void (lost += count ?? NaN),
        },
      });
      expect(heard.losses).toStrictEqual([]);
      return begun;
    };
    let source = begin({ bootId: 'this boot', seq: 999 });
    let next = 1000;
    for (const { do: what, count } of actions) {
      if (what === 'log') for (let i = 0; i < count; i++) next = ring.log('IN=') + 1;
      if (what === 'overwrite') ring.overwrite(count);
      if (what === 'wait') time.advance(count);
      if (what === 'turns') for (let i = 0; i < count; i++) time.step();
      if (what === 'fail') {
        ring.readError = 'EIO';
        time.advance(count);
        ring.readError = undefined;
      }
      if (what === 'restart') {
        stopAt = count;
        if (count > 0) time.advance(60);
        source.stop();
        expect(ring.descriptors).toBe(0);
        stopAt = Infinity;
        source = begin(kept(source));
      }
    }
    next = ring.log('IN=') + 1;
    // By then it has been tried again after a failure.
    time.advance(10_050);
    expect(seen).toStrictEqual(seen.toSorted((a, b) => a - b));
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length + lost).toBe(next - 1000);
  });
});

describe('an unreadable device is published once as failed, and tried again every 10 s', () => {
  test.each(['EPERM', 'EACCES', 'ENOENT', 'ENODEV'])('%s', (code) => {
    const all = machine();
    all.ring.log('IN=1');
    all.ring.openError = code;
    const { source, notices, texts } = read(all);
    all.time.advance(minute);
    expect(source.state).toBe('failed');
    expect(notices).toMatchObject([{ level: 'error', key: 'failed' }]);
    all.ring.openError = undefined;
    all.time.advance(9999);
    expect(texts()).toStrictEqual([]);
    all.time.advance(1);
    expect(source.state).toBe('reading');
    expect(texts()).toStrictEqual(['IN=1']);
    expect(notices[1]).toMatchObject({ level: 'info', key: 'well' });
  });

  test('after a failed read, the device is opened again, and nothing is lost or comes twice', () => {
    const all = machine();
    all.ring.log('IN=1');
    const { source, notices, texts, losses } = read(all);
    all.ring.readError = 'EIO';
    all.time.advance(minute);
    expect([source.state, all.ring.descriptors]).toStrictEqual(['failed', 0]);
    expect(notices).toHaveLength(1);
    all.ring.log('IN=2');
    all.ring.readError = undefined;
    all.time.advance(10_000);
    expect(texts()).toStrictEqual(['IN=1', 'IN=2']);
    expect(losses).toStrictEqual([]);
  });

  test.each(['EPIPE', 'EINVAL', 'EINTR'])('reads that return only %s do not cause a busy loop', (code) => {
    const all = machine();
    all.ring.readError = code;
    const { source, notices } = read(all);
    all.time.advance(60_000);
    expect(source.state).toBe('failed');
    expect(notices).toHaveLength(1);
    expect(all.ring.reads).toBeLessThanOrEqual(7 * 256);
  });

  test('a file without records cannot be read', () => {
    const all = machine();
    let reads = 0;
    const read0: Device['read'] = (_, buffer) => {
      reads++;
      return buffer.write('0'.repeat(100));
    };
    const { source, notices } = read(all, { device: { ...all.ring, read: read0 } });
    all.time.advance(60_000);
    expect(source.state).toBe('failed');
    expect(notices.filter(({ key }) => key === 'failed')).toMatchObject([{ level: 'error' }]);
    expect(reads).toBeLessThanOrEqual(7 * 256);
  });

  test('a device that ends like a file is waited for', () => {
    const all = machine();
    const { source } = read(all, { device: { ...all.ring, read: () => 0 } });
    all.time.advance(1000);
    expect(source.state).toBe('reading');
  });
});
