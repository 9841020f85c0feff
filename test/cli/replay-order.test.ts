import { execFile } from 'node:child_process';
import { linkSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { notedIn, program } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, eventsIn, json, line, policyDeny, policyDenyText, recordsIn, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

/** A log of one line, written at this time; its stamp has no year. */
const save = (name: string, time: number): string => {
  const [, date, month, , clock] = new Date(time).toUTCString().split(' ');
  const file = write(name, line(`${month} ${date} ${clock}`));
  utimesSync(file, time / 1000 + 60, time / 1000 + 60);
  return file;
};
test('several logs given newest first, as the shell sorts them, give the Events of the whole', async () => {
  const lines = policyDenyText.split(/(?<=\n)/);
  const third = Math.ceil(lines.length / 3);
  const newest = write('kern.log', lines.slice(2 * third).join(''));
  const older = write('kern.log.1', lines.slice(third, 2 * third).join(''));
  const oldest = write('kern.log.2.gz', gzipSync(lines.slice(0, third).join('')));
  const whole = await replay([...json, policyDeny]);
  expect(eventsIn(whole).length).toBeGreaterThan(2);
  expect(await replay([...json, newest, older, oldest])).toStrictEqual(whole);
  expect(await replay([...json, oldest, older, newest])).toStrictEqual(whole);
  expect(await replay(['--pods', cluster, '-q', '--writes', newest, older, oldest])).toStrictEqual(
    await replay(['--pods', cluster, '-q', '--writes', policyDeny]),
  );
});

test('the order of logs is right over New Year', async () => {
  const newer = write('january.log', line('Jan  1 00:00:10'));
  const older = write('december.log', line('Dec 31 23:59:50'));
  const args = ['--pods', cluster, '-q', '-o', 'audit', newer, older];
  const { out } = await program(['replay', '--now', '2027-01-02T00:00:00Z', ...args]);
  const times = recordsIn(out).map((row) => row['@timestamp']);
  expect(times).toStrictEqual(['2026-12-31T23:59:50.000Z', '2027-01-01T00:00:10.000Z']);
});

test('a log compressed to less than a hundredth is read in its place too', async () => {
  const newer = write('new.log.gz', gzipSync(line('Nov 21 11:00:00') + ' '.repeat(17 << 20)));
  const older = write('old.log', line('Nov 21 10:00:00'));
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'audit', newer, older]);
  expect(recordsIn(out).map((row) => row['log.file.path'])).toStrictEqual([older, newer]);
});

test('logs saved years ago: the last write gives each log its year, and so the order', async () => {
  // Around today's date two years ago, so that a year taken from today would be wrong.
  const today = Date.now() - 730 * 86_400_000;
  const newer = save('newer.log', today + 10 * 86_400_000);
  const older = save('older.log', today - 10 * 86_400_000);
  const { out } = await program(['replay', '--pods', cluster, '-q', '-o', 'audit', newer, older]);
  expect(recordsIn(out).map((row) => row['log.file.path'])).toStrictEqual([older, newer]);
});

const logOf = (name: string): string => write(name, policyDenyText);
const rows = (out: string): number => out.split('\n').length - 1;

describe('a log that is given twice is read once, with a note', () => {
  test('a log may be given by two paths, a link and a hard link', async () => {
    const log = logOf('twice.log');
    symlinkSync(log, path('link.log'));
    linkSync(log, path('hard.log'));
    const names = [log, log, `${path()}/./twice.log`, path('link.log'), path('hard.log')];
    const args = ['--pods', cluster, '-o', 'audit'];
    const once = await replay([...args, log]);
    const outcome = await replay([...args, ...names]);
    expect(outcome).toMatchObject({ status: 0, out: once.out });
    expect(outcome.err.endsWith(once.err)).toBe(true);
    expect(notedIn(outcome.err.slice(0, -once.err.length))).toStrictEqual(names.slice(1));
    expect(rows(once.out)).toBe(36);
    expect((await replay([...args, '-q', ...names])).err).toBe('');
  });

  test('a log may be given again if standard input was redirected from it', async () => {
    const log = logOf('redirected.log');
    const main = join(import.meta.dirname, '../../src/main.ts');
    const args = [process.execPath, main, 'replay', '--pods', cluster, '-o', 'audit', log, '-'];
    const { stdout, stderr } = await promisify(execFile)('sh', [
      '-c',
      'log=$1; shift; exec "$@" < "$log"',
      'sh',
      log,
      ...args,
    ]);
    expect(rows(stdout)).toBe(rows((await replay(['-q', '--pods', cluster, '-o', 'audit', log])).out));
    expect(notedIn(stderr)).toContain('-');
    expect(stderr).toContain(` ${log}`);
  });

  test.each(['gz', 'zst'])('a compressed log beside its original: %s', async (ending) => {
    const log = logOf(`kept.${ending}.log`);
    const packed = write(`kept.${ending}.log.${ending}`, gzipSync(policyDenyText));
    const args = ['--pods', cluster, '-o', 'audit'];
    const once = await replay([...args, log]);
    const { err, ...outcome } = await replay([...args, packed, log]);
    expect({ ...outcome, err: err.replace(/^.*\n/, '') }).toStrictEqual(once);
    expect(notedIn(err)[0]).toBe(packed);
    // A log that does not exist is not a copy.
    rmSync(log);
    expect(rows((await replay([...args, '-q', packed, log])).out)).toBe(36);
  });

  test('two missing logs are both named, and two empty logs are not copies', async () => {
    const { status, err } = await replay([
      ...json,
      path('no.log'),
      path('no.log'),
      write('0.log', ''),
      write('00.log', ''),
    ]);
    expect([status, notedIn(err)]).toStrictEqual([1, [path('no.log'), path('no.log')]]);
  });
});
