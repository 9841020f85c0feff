import { utimesSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { program, replay } from './program.ts';
import { cluster, eventsIn, json, line, policyDeny, policyDenyText, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

/** A log of one line, written then; its stamp has no year. */
const save = (name: string, time: number): string => {
  const [, date, month, , clock] = new Date(time).toUTCString().split(' ');
  const file = write(name, line(`${month} ${date} ${clock}`));
  utimesSync(file, time / 1000 + 60, time / 1000 + 60);
  return file;
};
describe.concurrent('several logs', () => {
  test('given newest first, as the shell sorts them, they give the Events of the whole', async () => {
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

  test('over New Year', async () => {
    const newer = write('january.log', line('Jan  1 00:00:10'));
    const older = write('december.log', line('Dec 31 23:59:50'));
    const { out } = await program([
      'replay',
      '--now',
      '2027-01-02T00:00:00Z',
      '--pods',
      cluster,
      '-q',
      '-o',
      'audit',
      newer,
      older,
    ]);
    expect(
      out
        .split('\n')
        .slice(0, 2)
        .map((row) => (JSON.parse(row) as { time: string }).time),
    ).toStrictEqual(['2026-12-31T23:59:50.000Z', '2027-01-01T00:00:10.000Z']);
  });

  test('saved years ago: the time of the last write tells the year of each, and with it the order', async () => {
    // Around the day of today two years ago, where the year would be another one if it were told from today.
    const today = Date.now() - 730 * 86_400_000;
    const newer = save('newer.log', today + 10 * 86_400_000);
    const older = save('older.log', today - 10 * 86_400_000);
    const { out } = await program(['replay', '--pods', cluster, '-q', '-o', 'audit', newer, older]);
    expect(
      out
        .split('\n')
        .slice(0, 2)
        .map((row) => (JSON.parse(row) as { file: string }).file),
    ).toStrictEqual([older, newer]);
  });
});
