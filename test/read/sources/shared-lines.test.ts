import { expect, test } from 'vitest';
import { createSharedLines, type SharedLinesOptions } from '../../../src/read/sources/shared-lines.ts';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import type { JsonValue, LineOrigin } from '../../../src/read/sources/source.ts';
import { nine } from '../../builders.ts';

const record = (at: number): string =>
  `E1121 09:00:0${at}.836390       1 proxier.go:1564] "Failed to execute iptables-restore" err="x"`;
const [file, containers] = ['/var/log/kube-proxy.log', 'containers'];

function shared(given: Partial<SharedLinesOptions> = {}) {
  const clock = { now: nine };
  const { isFirstSeen, dedupe } = createSharedLines({
    kernelSource: 'journal',
    programSources: [containers, file],
    saved: undefined,
    now: () => clock.now,
    ...given,
  });
  const show = (source: string, text: string, origin: LineOrigin, program?: string, time = nine): boolean => {
    const line: LogLine = { source, line: 1, text, time, timeIsExact: true, host: undefined, program };
    return isFirstSeen(source, line, origin);
  };
  return { once: dedupe, show, clock, program: (source: string, text: string) => show(source, text, 'program') };
}

test('records of programs: a record that kube-proxy writes twice at once counts once, and one that it writes again later counts again', () => {
  const { program, once: dedupe } = shared();
  const seen = [
    program(file, record(1)),
    program(containers, record(1)),
    program(containers, record(2)),
    program(file, record(2)),
    program(file, record(2)),
    program(file, record(3)),
  ];
  expect(seen).toEqual([true, false, true, false, true, true]);
  expect(dedupe.repeats).toBe(2);
});

test('records of programs: a record in three sources counts once', () => {
  const { program } = shared({ programSources: ['journal', containers, file] });
  expect(['journal', containers, file].map((source) => program(source, record(1)))).toEqual([true, false, false]);
});

test('records of programs: a record without its own stamp may come again', () => {
  const { program } = shared();
  expect([program(file, 'bird: x'), program(containers, 'bird: x')]).toEqual([true, true]);
});

test('with one source, every record is new', () => {
  const { program } = shared({ programSources: [] });
  expect([program(containers, record(1)), program(containers, record(1))]).toEqual([true, true]);
});

test('white space and unprintable bytes do not make a different record', () => {
  const { program } = shared();
  expect([program(file, `${record(1)}\t\u0001é`), program(containers, `${record(1)} `)]).toEqual([true, false]);
});

test('the oldest of more than 1,024 records is forgotten', () => {
  const { program } = shared();
  for (let id = 0; id < 1025; id++) program(file, `${record(1)} ${id}`);
  expect([program(containers, `${record(1)} 0`), program(containers, `${record(1)} 2`)]).toEqual([true, false]);
});

test('the next run knows records that only one source has shown', () => {
  const first = shared();
  first.program(file, record(1));
  const second = shared({ saved: JSON.parse(JSON.stringify(first.once.state())) as JsonValue });
  expect(second.program(containers, record(1))).toBe(false);
});

test.each<[string, JsonValue]>([
  ['no object', 'x'],
  ['no list', { programs: 'x' }],
  ['entries that are none', { programs: [1, [], ['x', []], [1, 'x'], [1, [2]]] }],
])('a restart with %s saved begins with nothing', (_, saved) => {
  const { program } = shared({ saved });
  expect([program(file, record(1)), program(containers, record(1))]).toEqual([true, false]);
});

test('lines of the kernel come from one source, and those of other sources count as repeats, whichever comes first', () => {
  const { show, once: dedupe } = shared();
  expect(show('/dev/kmsg', 'IN=eth0', 'kernel')).toBe(false);
  expect([show('journal', 'IN=eth0', 'kernel'), show('journal', 'IN=eth0', 'kernel')]).toEqual([true, true]);
  expect(show('/var/log/kern.log', 'IN=eth0', 'kernel')).toBe(false);
  expect(dedupe.repeats).toBe(2);
});

test('lines of the kernel: are distinct from records of programs and from lines of unknown origin', () => {
  const { show } = shared();
  expect(show('journal', record(1), 'kernel')).toBe(true);
  expect(show(file, record(1), 'program')).toBe(true);
  expect(show('/var/log/ulog/syslogemu.log', 'IN=eth0', 'unknown')).toBe(true);
});

test("lines of the kernel: of ulogd come from the source that shows one first, because the kernel's own log has none of them", () => {
  const { show } = shared();
  const [messages, syslog] = ['/var/log/messages', '/var/log/syslog'];
  expect(show(messages, 'IN=eth0', 'kernel', 'ulogd')).toBe(true);
  expect(show(syslog, 'IN=eth0', 'kernel', 'ulogd')).toBe(false);
  expect(show(messages, 'IN=eth0', 'kernel', 'ulogd2')).toBe(true);
});

test('lines of the kernel: of ulogd come from another source after a silent minute of the first, so one stray line hides no log', () => {
  const { show, clock } = shared();
  const lineOf = (source: string, time = clock.now): boolean => show(source, 'IN=eth0', 'kernel', 'ulogd', time);
  expect([lineOf('journal'), lineOf('/var/log/syslog')]).toEqual([true, false]);
  clock.now += 60_000;
  expect([lineOf('/var/log/syslog'), lineOf('journal')]).toEqual([false, true]);
  clock.now += 60_001;
  // The same lines are read later.
  expect(lineOf('/var/log/syslog', clock.now - 1)).toBe(false);
  expect([lineOf('/var/log/syslog'), lineOf('journal')]).toEqual([true, false]);
});
