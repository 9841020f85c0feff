import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { programNeedles } from '../../../src/explain/incidents/catalogue/catalogue.ts';
import { parseProgramRecord } from '../../../src/read/parsing/components/program-record.ts';
import {
  createFollowProgram,
  findProgramLogs,
  type FollowProgramOptions,
} from '../../../src/read/sources/tail/follow-file.ts';
import type { Position } from '../../../src/read/sources/source.ts';
import { fakeTime } from './fake-time.ts';
import { openAtOnce } from './tail/at-once.ts';
import { type Heard, listening } from './heard.ts';
import { temporaryFolder } from './temporary-folder.ts';

const newPath = temporaryFolder();
let files = 0;
const present = Date.UTC(2026, 10, 21, 12);

const failing = [
  'E1121 11:59:00.836000   20506 proxier.go:1564] "Failed to execute iptables-restore" err=<',
  '\texit status 2: iptables-restore v1.8.9 (legacy): Couldn’t load target',
  ' > ipFamily="IPv4"',
];
const quiet = 'I1121 11:59:01.000000   20506 proxier.go:822] "Syncing iptables rules" ipFamily="IPv4"';

const anHourAhead: FollowProgramOptions['zone'] = (...parts) => Date.UTC(...parts) - 3_600_000;

function scene(options: Partial<FollowProgramOptions> = {}) {
  const path = options.path ?? newPath(`kube-proxy-${files++}.log`);
  if (options.path === undefined) writeFileSync(path, '');
  const { heard, listener } = listening();
  const time = fakeTime(present);
  const common = { program: 'kube-proxy', needles: programNeedles, saved: undefined, from: 'end', listener } as const;
  const source = createFollowProgram({ ...common, path, timing: time, openContent: openAtOnce, ...options });
  source.start();
  return {
    source,
    heard,
    time,
    path,
    write: (...lines: string[]): void => appendFileSync(path, lines.map((line) => `${line}\n`).join('')),
  };
}

test('a NUL in the middle of a line, or its sixty-fourth kilobyte, does not begin a record', () => {
  const { write, time, heard, source } = scene();
  const [first = ''] = failing;
  write(quiet, first, `\tpwned\0${first}`, `\t${'x'.repeat(64 * 1024)}${first}`, quiet);
  time.advance(5000);
  expect(heard.lines.map(({ text }) => text)).toEqual([`${first}\n\tpwned\0${first}`]);
  expect(source.counts.tooLong).toBe(1);
});

test("several lines are one record, with its own stamp and its program's name", () => {
  const { write, time, heard } = scene();
  write(quiet, ...failing, quiet);
  time.advance(5000);
  expect(heard.lines).toEqual([
    {
      source: expect.stringMatching(/kube-proxy-\d+\.log$/) as string,
      line: 2,
      text: failing.join('\n'),
      time: Date.UTC(2026, 10, 21, 11, 59, 0, 836),
      timeIsExact: true,
      host: undefined,
      program: 'kube-proxy',
      origin: 'program',
    },
  ]);
  const [{ text, program }] = heard.lines as [Heard['lines'][0]];
  expect(parseProgramRecord(text, program)).toMatchObject({ program: 'kube-proxy', fields: { ipFamily: 'IPv4' } });
});

test('stamps are read in the zone of the node', () => {
  const { write, time, heard } = scene({ zone: anHourAhead });
  write(...failing);
  time.advance(5000);
  expect(heard.lines[0]?.time).toBe(Date.UTC(2026, 10, 21, 10, 59, 0, 836));
});

test('a record without a stamp has the time of the one before, and the first one has the present time', () => {
  const { write, time, heard } = scene();
  write('iptables-restore: line 7 failed');
  time.advance(500);
  write(failing[0] ?? '', ' >');
  time.advance(500);
  write('iptables-restore: line 8 failed');
  time.advance(5000);
  const times = heard.lines.map(({ time: at, timeIsExact }) => [at, timeIsExact]);
  expect(times[1]).toEqual([Date.UTC(2026, 10, 21, 11, 59, 0, 836), true]);
  expect(times[2]).toEqual([times[1]?.[0], false]);
  expect(times[0]?.[1]).toBe(false);
  expect(Math.abs((times[0]?.[0] as number) - present)).toBeLessThan(5000);
});

test('lines from a syslog daemon are read without its prefix', () => {
  const { write, time, heard } = scene();
  write(...failing.map((line) => `Nov 21 11:59:03 node-a kube-proxy[77]: ${line}`));
  time.advance(5000);
  expect(heard.lines).toMatchObject([{ time: Date.UTC(2026, 10, 21, 11, 59, 3), program: 'kube-proxy' }]);
  expect(parseProgramRecord(heard.lines[0]?.text ?? '', 'kube-proxy')).toMatchObject({
    message: 'Failed to execute iptables-restore',
    error: expect.stringContaining('exit status 2') as string,
  });
});

test('a record survives a restart in its middle and a rotation before its end', () => {
  const first = scene();
  first.write(...failing.slice(0, 1));
  first.time.advance(100);
  const saved = JSON.parse(JSON.stringify(first.source.position)) as Position;
  first.source.stop();
  renameSync(first.path, `${first.path}.1`);
  writeFileSync(first.path, '');
  const second = scene({ path: first.path, saved });
  second.write(...failing.slice(1), quiet);
  second.time.advance(5000);
  expect(first.heard.lines).toEqual([]);
  expect(second.heard.lines.map(({ text }) => text)).toEqual([failing.join('\n')]);
  expect(second.heard.losses).toEqual([]);
});

test('existing files are found, including empty ones and links; folders and missing files are not', () => {
  writeFileSync(newPath('a.log'), '');
  symlinkSync(newPath('a.log'), newPath('b.log'));
  mkdirSync(newPath('c.log'));
  const logs = ['a', 'b', 'c', 'd'].map((program) => ({ program, path: newPath(`${program}.log`) }));
  expect(findProgramLogs(logs)).toEqual(logs.slice(0, 2));
});
