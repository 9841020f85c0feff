import { expect, test } from 'vitest';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { createJournal, type JournalOptions } from '../../../src/read/sources/journald/journal.ts';
import { fakeTime } from './fake-time.ts';
import {
  cursorOf,
  type JournalRecord,
  journalScene,
  type JournalScene,
  outputFor,
  printed,
  start,
} from './fake-journalctl.ts';
import { type Heard, listening } from './heard.ts';

const tables: { first: object } = {
  // The listener's call for the first record.
  first: {
    lines: [
      {
        source: 'journal',
        line: 1,
        text: 'drop: IN=eth0 N=1',
        time: 1795000001000,
        timeIsExact: true,
        host: 'node-a',
        program: 'kernel',
        origin: 'kernel',
      },
    ],
    losses: [],
    notices: [],
  },
};

const needles = ['IN=', 'callbacks suppressed', ' kernel messages'];

const scene = (options: Partial<JournalOptions> = {}, onLine?: () => void): JournalScene =>
  journalScene({ needles, ...options }, onLine);

const drop = (number: number): JournalRecord => ({ number, message: `drop: IN=eth0 N=${number}` });
const texts = ({ lines }: Heard): string[] => lines.map(({ text }) => text);

test('a record is a line', () => {
  const { source, heard, current } = scene();
  expect(source.name).toBe('journal');
  expect(source.state).toBe('reading');
  expect(source.position).toBeUndefined();
  current.print(printed(drop(1)));
  expect(heard).toEqual(tables.first);
  expect(source.position).toEqual({ cursor: cursorOf(1) });
  expect(source.counts).toEqual({ lines: 1, bytes: printed(drop(1)).length, tooLong: 0 });
});

test('a record without a time has the present one', () => {
  const { heard, current } = scene();
  current.print(printed({ ...drop(1), fields: { __REALTIME_TIMESTAMP: 'soon' } }));
  expect(heard.lines).toMatchObject([{ time: start, timeIsExact: false }]);
});

test('a first run asks for records since then, of every boot', () => {
  const { current } = scene();
  expect(current.args).toEqual(expect.arrayContaining(['--since=@1795000000.500', '--merge', '--no-tail', '--follow']));
  expect(current.args.join(' ')).toMatch(/ _TRANSPORT=kernel \+ _TRANSPORT=driver$/);
  expect(current.args.join(' ')).not.toMatch(/--directory|--cursor/);
});

test("uses the node's journal if it is mounted", () => {
  const { current } = scene({ directory: '/host/var/log/journal' });
  expect(current.args).toContain('--directory=/host/var/log/journal');
});

test('the position is after the line that is handed over, not after later ones', () => {
  const positions: unknown[] = [];
  const { source, current } = scene({}, () => positions.push(source.position));
  current.print(printed(drop(1)) + printed({ number: 2, message: 'usb' }) + printed(drop(3)));
  expect(positions).toEqual([{ cursor: cursorOf(1) }, { cursor: cursorOf(3) }]);
});

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['the kernel', {}, 'kernel'],
  ['a program, by facility', { SYSLOG_FACILITY: '1' }, 'userspace'],
  ['a program, by identifier', { SYSLOG_IDENTIFIER: 'evil' }, 'userspace'],
  [
    'journald, which says nothing that only the kernel may',
    { _TRANSPORT: 'driver', SYSLOG_FACILITY: '3', SYSLOG_IDENTIFIER: 'systemd-journald' },
    'userspace',
  ],
])('the writer of a record of the journal is known: %s', (_, fields, origin) => {
  const { heard, current } = scene();
  current.print(printed({ ...drop(1), fields }));
  expect(heard.lines).toMatchObject([{ origin }]);
});

test('output that is not a record is reported and not believed', () => {
  const { source, heard, current } = scene();
  current.print(printed(drop(1)) + 'kernel: drop: IN=eth0\n\nMESSAGE=IN=eth0\n\n{"MESSAGE":"IN=eth0"}\n\n');
  expect(texts(heard)).toEqual(['drop: IN=eth0 N=1']);
  expect(heard.notices).toHaveLength(3);
  expect(heard.notices[0]).toMatchObject({ level: 'warn', key: 'unreadable' });
  expect(source.position).toEqual({ cursor: cursorOf(1) });
});

test.each([1, 60_000, 4_000_000])('a record over 1 MiB is skipped and counted, in pieces of %i bytes', (size) => {
  const long = printed({ number: 2, message: `IN=${'x'.repeat(1_048_576)}` });
  const longest = 'IN='.padEnd(1_048_576 - printed({ number: 4, message: '' }).length, 'x');
  const output = Buffer.from(
    printed(drop(1)) + long + printed(drop(3)) + printed({ number: 4, message: longest }) + long,
  );
  const { source, heard, current } = scene();
  const bytewise = size === 1 ? output.length - 100 : 0;
  if (bytewise > 0) current.print(output.subarray(0, bytewise));
  for (let at = bytewise; at < output.length; at += size) current.print(output.subarray(at, at + size));
  expect(texts(heard)).toEqual(['drop: IN=eth0 N=1', 'drop: IN=eth0 N=3', longest]);
  expect(source.counts).toEqual({ lines: 5, bytes: output.length, tooLong: 2 });
  expect(source.position).toEqual({ cursor: cursorOf(4) });
  expect(heard.notices).toMatchObject([{ level: 'warn', key: 'too-long' }]);
});

test('a journal that was moved to another disk still has the record', () => {
  const { heard, current } = scene({ saved: { cursor: cursorOf(2).replace('s=5e1;i=2', 's=077;i=99') } });
  current.print(outputFor([], [2, 3].map(drop)));
  expect(texts(heard)).toEqual(['drop: IN=eth0 N=3']);
  expect(heard.losses).toEqual([]);
});

test('a record that journald has deleted may mean a loss, and nothing is skipped', () => {
  const { source, heard, current, time } = scene({ saved: { cursor: cursorOf(2) } });
  expect(heard.losses).toEqual([]);
  current.print(outputFor(current.args, [5, 6].map(drop)));
  expect(texts(heard)).toEqual(['drop: IN=eth0 N=5', 'drop: IN=eth0 N=6']);
  expect(heard.losses).toMatchObject([{ count: undefined, unit: 'records', time: time.now() }]);
  expect(source.counts.lines).toBe(2);
});

test('a cursor that journalctl does not accept is reported, and reading starts at the beginning of this run', () => {
  const run = scene({ saved: { cursor: 'rubbish' } });
  run.current.printError('Failed to seek to cursor: Invalid argument\n');
  run.current.end(1);
  expect(run.heard.losses).toMatchObject([{ count: undefined, unit: 'records' }]);
  expect(run.heard.notices).toEqual([]);
  expect(run.source.position).toBeUndefined();
  run.time.advance(1000);
  expect(run.current.args).toContain('--since=@1795000000.500');
  run.current.print(printed(drop(1)));
  expect(texts(run.heard)).toEqual(['drop: IN=eth0 N=1']);
});

test.each([{ cursor: 5 }, { seq: 1 }])('an invalid position is ignored: %o', (saved) => {
  expect(scene({ saved }).current.args).toContain('--since=@1795000000.500');
});

test('after its end it continues from its place; a cut-off record comes again', () => {
  const journal = [1, 2, 3].map(drop);
  const run = scene();
  run.current.print(outputFor(run.current.args, journal).slice(0, -10));
  expect(run.source.position).toEqual({ cursor: cursorOf(2) });
  run.current.end(null, 'SIGKILL');
  expect(run.source.state).toBe('waiting');
  run.time.advance(999);
  expect(run.started).toHaveLength(1);
  run.time.advance(1);
  run.current.print(outputFor(run.current.args, journal));
  expect(texts(run.heard)).toEqual(journal.map(({ message }) => message));
  expect(run.source.state).toBe('reading');
  expect(run.heard.notices).toMatchObject([
    { level: 'warn', key: 'ended' },
    { level: 'info', key: 'well' },
  ]);
});

test('without journalctl, one error says what to do, and it is looked for again', () => {
  const run = scene();
  const waits: Millis[] = [];
  for (let attempt = 0; attempt < 8; attempt++) {
    run.current.fail('ENOENT');
    expect(run.source.state).toBe('failed');
    waits.push(run.time.step());
    expect(run.source.state).toBe('failed');
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  expect(run.started).toHaveLength(9);
  expect(run.heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
});

test('a system that cannot start it, immediately or later, gives a notice', () => {
  const time = fakeTime(start);
  const { heard, listener } = listening();
  let attempts = 0;
  const spawn = (): never => {
    attempts++;
    throw Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' });
  };
  const source = createJournal({ saved: undefined, since: start, listener, needles, timing: time, spawn });
  source.start();
  time.advance(1000);
  expect(attempts).toBe(2);
  expect(source.state).toBe('failed');
  expect(heard.notices).toMatchObject([{ level: 'error', key: 'failed' }]);
});

test("journalctl's last error output is in the notice, once per cause", () => {
  const run = scene();
  for (let attempt = 0; attempt < 3; attempt++) {
    run.current.printError('Hint: something\nNo journal files were opened due to insuff');
    run.current.printError('icient permissions.\n');
    run.current.end(1);
    run.time.step();
  }
  run.current.printError('Failed to open /host: No such file or directory\n');
  run.current.end(1);
  expect(run.source.state).toBe('failed');
  expect(run.heard.notices).toMatchObject([
    { level: 'error', key: 'failed', text: expect.stringContaining('No journal files were opened') },
    { level: 'error', key: 'failed', text: expect.stringContaining('Failed to open /host') },
  ]);
});

test('its error output is limited and made printable', () => {
  const run = scene();
  for (let i = 0; i < 1000; i++) run.current.printError('\u001b[31m'.padEnd(1000, 'x'));
  run.current.end(1);
  expect(run.heard.notices[0]?.text.length).toBeLessThan(600);
  run.time.step();
  run.current.printError('\u001b[31mred\n');
  run.current.end(1);
  expect(run.heard.notices[1]?.text).toContain('code 1: \\x1b[31mred.');
});

test('the pause is short again after new records, but not after known ones', () => {
  const run = scene({ saved: { cursor: cursorOf(1) } });
  const endsAfter = (records: number[]): Millis => {
    run.current.print(records.map((number) => printed(drop(number))).join(''));
    run.current.end(0);
    return run.time.step();
  };
  expect([endsAfter([1]), endsAfter([1]), endsAfter([1, 2]), endsAfter([2])]).toEqual([1000, 2000, 1000, 2000]);
});

test('a quiet journal counts as healthy after five seconds', () => {
  const run = scene();
  run.current.printError('Failed to open /host: No such file or directory\n');
  run.current.end(1);
  run.time.advance(1000);
  expect(run.source.state).toBe('failed');
  run.time.advance(4999);
  expect(run.source.state).toBe('failed');
  run.time.advance(1);
  expect(run.source.state).toBe('reading');
  expect(run.heard.notices.at(-1)).toMatchObject({ level: 'info', key: 'well' });
  expect(run.time.pending).toBe(0);
});

test('files that a running journalctl leaves out are reported, however many there were before', () => {
  const run = scene();
  run.current.printError('Journal file a uses an unsupported feature, ignoring file.\n');
  expect(run.heard.notices).toEqual([]);
  run.current.print(printed(drop(1)));
  for (let i = 0; i < 100; i++) run.current.printError(`Journal file ${i} is truncated, ignoring file.\n`);
  expect(run.heard.notices[0]).toMatchObject({
    level: 'warn',
    key: 'complaint',
    text: expect.stringContaining('unsupported'),
  });
  expect(run.heard.notices.at(-1)?.text).toContain('Journal file 99 is truncated');
});

test('stop kills journalctl, and no more output is used', () => {
  const run = scene();
  run.current.print(printed(drop(1)) + printed(drop(2)).slice(0, 20));
  run.source.stop();
  expect(run.current.killed).toBe(true);
  run.current.print(printed(drop(2)).slice(20) + printed(drop(3)));
  run.current.printError('oh\n');
  run.current.end(null, 'SIGKILL');
  run.time.advance(100_000);
  expect(run.started).toHaveLength(1);
  expect(run.time.pending).toBe(0);
  expect(texts(run.heard)).toEqual(['drop: IN=eth0 N=1']);
  expect(run.heard.notices).toEqual([]);
  expect(run.source.state).toBe('stopped');
  expect(run.source.position).toEqual({ cursor: cursorOf(1) });
});

test('stop also works while it waits for the next start', () => {
  const run = scene();
  run.current.end(0);
  run.source.stop();
  expect(run.time.pending).toBe(0);
});
