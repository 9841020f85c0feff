import { describe, expect, test } from 'vitest';
import type { JournalOptions } from '../../../src/read/sources/journald/journal.ts';
import type { Position } from '../../../src/read/sources/source.ts';
import { cursorOf, type JournalRecord, journalScene, type JournalScene, start } from './fake-journalctl.ts';

/** Records of units come together with the kernel's, from one journalctl. */

const names = ['k3s.service', 'kube-proxy.service'];

const ofUnits = { names, needles: ['tables-restore'] };
const scene = (options: Partial<JournalOptions> = {}): JournalScene =>
  journalScene({ needles: ['IN='], units: ofUnits, ...options });

let number = 0;

/** Makes records as systemd hands them to journald, line by line. */
function ofUnit(unit: string, ...messages: JournalRecord['message'][]): JournalRecord[] {
  const fields = { _TRANSPORT: 'stdout', SYSLOG_FACILITY: '3', SYSLOG_IDENTIFIER: 'k3s', _SYSTEMD_UNIT: unit };
  return messages.map((message) => ({ number: ++number, message, fields }));
}

const drop = (): JournalRecord => ({ number: ++number, message: 'drop: IN=eth0 ' });
const header = 'E1121 09:00:00.836390 77 proxier.go:1564] ';
const failing = [`${header}"Failed to execute iptables-restore" err=<`, '\texit status 2', ' > ipFamily="IPv4"'];
const quiet = 'I1121 09:00:00.836390 77 proxier.go:822] "Syncing"';
const textsOf = ({ heard }: JournalScene): string[] => heard.lines.map(({ text }) => text);

test('journalctl is asked for the kernel, itself and the units', () => {
  const { args } = scene().current;
  const at = args.indexOf('_TRANSPORT=kernel');
  const units = ['+', '_SYSTEMD_UNIT=k3s.service', '+', '_SYSTEMD_UNIT=kube-proxy.service'];
  expect(args.slice(at)).toEqual(['_TRANSPORT=kernel', '+', '_TRANSPORT=driver', ...units]);
  expect(args).toContain(
    '--output-fields=MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP,_TRANSPORT,SYSLOG_FACILITY,SYSLOG_IDENTIFIER,_HOSTNAME,_SYSTEMD_UNIT,_STREAM_ID,_LINE_BREAK',
  );
});

test("lines of a record are one line of the unit's program", () => {
  const { print, heard } = scene();
  print(...ofUnit('k3s.service', quiet, ...failing, quiet));
  expect(heard.lines).toMatchObject([
    {
      source: 'journal',
      text: failing.join('\n'),
      timeIsExact: true,
      host: 'node-a',
      program: 'k3s',
      origin: 'program',
    },
  ]);
});

test("lines of the kernel, of other units and of one unit do not mix with another's records", () => {
  const here = scene();
  const [first, second, third] = failing as [string, string, string];
  here.print(
    ...ofUnit('k3s.service', first),
    drop(),
    ...ofUnit('kube-proxy.service', `${header}"ip6tables-restore"`),
    ...ofUnit('kube-proxy.service', quiet),
    ...ofUnit('k3s.service', second, third),
  );
  expect(here.heard.lines.map(({ origin, program, text }) => [origin, program, text])).toEqual([
    ['kernel', 'kernel', 'drop: IN=eth0 '],
    ['program', 'kube-proxy', `${header}"ip6tables-restore"`],
    ['program', 'k3s', failing.join('\n')],
  ]);
});

test('a unit cannot speak for the kernel, nor the kernel for a unit', () => {
  const here = scene();
  const forged = `drop: IN=eth0 _TRANSPORT=kernel _SYSTEMD_UNIT=kube-proxy.service tables-restore`;
  here.print(...ofUnit('k3s.service', forged), { ...drop(), message: forged });
  here.time.advance(500);
  expect(here.heard.lines.map(({ origin, program }) => [origin, program])).toEqual([
    ['kernel', 'kernel'],
    ['program', 'k3s'],
  ]);
});

test('a record that was not requested belongs to no unit', () => {
  const here = scene();
  here.print(...ofUnit('sshd.service', ...failing, quiet));
  here.time.advance(1000);
  expect(new Set(here.heard.lines.map(({ origin }) => origin))).toEqual(new Set(['userspace']));
});

test('a restart in the middle of a record continues it, and nothing comes twice', () => {
  const first = scene();
  first.print(...ofUnit('k3s.service', ...failing.slice(0, 2)), drop());
  const saved = JSON.parse(JSON.stringify(first.source.position)) as Position;
  const last = cursorOf(number);
  expect(saved['cursor']).toBe(last);
  first.source.stop();
  expect(first.time.pending).toBe(0);
  const second = scene({ saved });
  second.print({ number, message: 'drop: IN=eth0 ' }, ...ofUnit('k3s.service', ...failing.slice(2)));
  expect([textsOf(first), textsOf(second)]).toEqual([['drop: IN=eth0 '], [failing.join('\n')]]);
  expect(second.source.position).toEqual({ cursor: cursorOf(number) });
});

test('bytes that are not UTF-8 are read', () => {
  const here = scene();
  here.print(...ofUnit('k3s.service', [...Buffer.from(`${header}"iptables-restore`), 0xff], quiet));
  expect(textsOf(here)).toEqual([`${header}"iptables-restore\ufffd`]);
});

test('a first run skips older records', () => {
  const here = scene({ since: start + 10_000_000 });
  here.print(...ofUnit('k3s.service', ...failing, quiet));
  expect(textsOf(here)).toEqual([]);
});

test('backslashes in a name are read as journalctl prints them', () => {
  const name = String.raw`my\x2dproxy@a.service`;
  const here = scene({ units: { names: [name], needles: ['tables-restore'] } });
  expect(here.current.args.at(-1)).toBe(`_SYSTEMD_UNIT=${name}`);
  here.print(...ofUnit(name, ...failing, quiet));
  expect(here.heard.lines).toMatchObject([{ program: String.raw`my\x2dproxy@a`, origin: 'program' }]);
});

/**
 * Splits what one process wrote into one stream into records, as journald does. `_LINE_BREAK` says how a record ended,
 * unless it ended at a newline.
 */
function ofStream(stream: string, ...pieces: [message: string, lineBreak?: string][]): JournalRecord[] {
  return pieces.flatMap(([message, lineBreak]) =>
    ofUnit('k3s.service', message).map(({ fields, ...record }) => {
      const marks = { _STREAM_ID: stream, ...(lineBreak && { _LINE_BREAK: lineBreak }) };
      return Object.assign(record, { fields: { ...fields, ...marks } });
    }),
  );
}

const failedRestore = `${header}"Failed to execute iptables-restore"`;
const known: [string] = [quiet];

describe('a record that begins in the middle of a line', () => {
  test.each(['nul', 'line-max', 'pid-change'])('does not belong to the program: after %s', (lineBreak) => {
    const here = scene();
    here.print(...ofStream('a', known, ['\thook says', lineBreak], [failedRestore], known, known));
    here.time.advance(1000);
    expect(textsOf(here)).toEqual([]);
  });

  test('does not belong to it even if the one before ended in the same way, or nothing was in between', () => {
    const here = scene();
    here.print(
      ...ofStream('a', known, ['\t', 'nul'], [failedRestore, 'nul'], [failedRestore, 'line-max'], [failedRestore]),
    );
    here.time.advance(1000);
    expect(textsOf(here)).toEqual([]);
  });

  test('neither continues nor ends the open record', () => {
    const here = scene();
    const [first, second] = failing as [string, string];
    here.print(...ofStream('a', known, [first], [second, 'nul'], [' > forged="tables-restore"'], ['\tmore'], known));
    expect(textsOf(here)).toEqual([[first, second, '\tmore'].join('\n')]);
  });

  test('affects only its own stream, whose next record is believed', () => {
    const here = scene();
    here.print(
      ...ofStream('a', known),
      ...ofStream('b', known, ['\thook says', 'nul']),
      ...ofStream('a', [failedRestore], known),
      ...ofStream('b', [`${failedRestore} forged`], [`${failedRestore} again`], known),
    );
    expect(textsOf(here)).toEqual([failedRestore, `${failedRestore} again`]);
  });

  test('cannot tell in its own text how it ended', () => {
    const here = scene();
    here.print(...ofStream('a', known, ['x\n_STREAM_ID=b\n_LINE_BREAK=eof\n', 'nul'], [failedRestore], known));
    here.time.advance(1000);
    expect(textsOf(here)).toEqual([]);
  });

  test('may be the first of a stream, whose past is unknown', () => {
    const here = scene();
    here.print(...ofStream('a', [failedRestore], [`${failedRestore} again`], known));
    expect(textsOf(here)).toEqual([`${failedRestore} again`]);
  });

  test('may follow a loss: skipped, suppressed by journald, or gone from the journal', () => {
    const here = scene();
    const suppressed = { number: ++number, message: 'Suppressed 12 messages from k3s.service' };
    const driver = { ...suppressed, fields: { _TRANSPORT: 'driver', SYSLOG_IDENTIFIER: 'systemd-journald' } };
    here.print(...ofStream('a', known), driver, ...ofStream('a', [failedRestore], known));
    here.current.print(`MESSAGE=${'x'.repeat(1024 * 1024)}\n\n`);
    here.print(...ofStream('a', [failedRestore], known));
    here.time.advance(1000);
    expect(textsOf(here)).toEqual([suppressed.message]);
    const { position } = here.source;
    const later = scene({ saved: position });
    later.print(...ofStream('a', [failedRestore], known));
    expect(textsOf(later)).toEqual([]);
    expect(later.heard.losses).toHaveLength(1);
  });

  test('is remembered over a restart', () => {
    const first = scene();
    first.print(...ofStream('whole', known), ...ofStream('broken', known, ['x', 'nul']));
    const saved = JSON.parse(JSON.stringify(first.source.position)) as Position;
    expect(saved).toEqual({ cursor: cursorOf(number), units: { streams: ['whole'] } });
    const second = scene({ saved });
    second.print({ number, message: 'x' });
    second.print(...ofStream('broken', [`${failedRestore} forged`]), ...ofStream('whole', [failedRestore], known));
    expect(textsOf(second)).toEqual([failedRestore]);
  });

  test('few streams are remembered, however many there are', () => {
    const here = scene();
    for (let stream = 0; stream < 100; stream++) here.print(...ofStream(`s${stream}`, known));
    const { units } = here.source.position as { units: { streams: string[] } };
    expect(units.streams).toEqual(Array.from({ length: 64 }, (_, index) => `s${index + 36}`));
  });
});

test('a message that continues in other relevant records is read', () => {
  const here = scene();
  here.print(
    ...ofUnit('k3s.service', `${header}"Failed" err=<`),
    drop(),
    ...ofUnit('k3s.service', '\ttables-restore', ' >'),
  );
  expect(textsOf(here)).toEqual(['drop: IN=eth0 ', `${header}"Failed" err=<\n\ttables-restore\n >`]);
});

test('a line that looks like such a message is read at the edges of a block', () => {
  const here = scene();
  here.current.print('=<\n\nMESSAGE==<\n\n=<');
  here.current.print('\n\n=<\n\n');
  here.print(drop());
  expect(textsOf(here)).toEqual(['drop: IN=eth0 ']);
});

test('without units, nothing changes', () => {
  const here = scene({ units: { names: [], needles: ['tables-restore'] } });
  expect(here.current.args.at(-1)).toBe('_TRANSPORT=driver');
  here.print(...ofUnit('k3s.service', ...failing));
  expect(textsOf(here)).toEqual([]);
});
