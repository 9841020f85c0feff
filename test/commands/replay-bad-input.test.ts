import { mkdirSync, truncateSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { notedIn, replay } from './program.ts';
import { cluster, drop, eventsIn, json, policyDeny, stamped, twoEvents, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

describe.concurrent('logs that cannot be read', () => {
  test('missing, a folder, a program, a path through a file: each is named, the rest is read', async () => {
    mkdirSync(path('logs'));
    const bad = [path('missing.log'), path('logs'), process.execPath, `${policyDeny}/kern.log`];
    const outcome = await replay([...json, bad[0] as string, policyDeny, ...bad.slice(1)]);
    expect(outcome.status).toBe(1);
    expect(notedIn(outcome.err).toSorted()).toStrictEqual(bad.toSorted());
    expect(eventsIn(outcome)).toStrictEqual(eventsIn(await replay([...json, policyDeny])));
  });

  test('bad lines alone give no Event, and no age of nothing', async () => {
    const { status, out, err } = await replay(['--pods', cluster, path('none.log')]);
    expect([status, notedIn(err)]).toStrictEqual([1, [path('none.log')]]);
    expect(out).toContain('0 in 0 files');
    expect(out).not.toMatch(/NaN|Infinity|Invalid|undefined/);
  });

  test('empty', async () => {
    expect(await replay([...json, write('empty.log', '')])).toStrictEqual({ status: 0, out: '', err: '' });
  });

  test('a log without any line of a logger: the summary says how to turn logging on', async () => {
    const nothing = await replay(['--pods', cluster, write('empty.log', '')]);
    expect(nothing.out).toMatch(/^lines +0 in 1 file, 0 bytes; .* needs root/m);
    const unrelated = await replay(['--pods', cluster, '-'], { stdin: 'Nov 21 10:00:00 node-a kernel: eth0: up\n' });
    expect(unrelated.out).toMatch(/^drops +0; .*docs\/logging\.md/m);
    expect((await replay(['--pods', cluster, policyDeny])).out).not.toContain('LOG rule');
  });

  test('a binary log: one warning, its lines of text are read', async () => {
    const file = write(
      'binary.log',
      Buffer.concat([
        Buffer.from([1, 0, 2, 0, 10]),
        Buffer.from(stamped),
        Buffer.alloc(100_000),
        Buffer.from(`\n${stamped}`),
      ]),
    );
    const outcome = await replay([...json, file]);
    expect(outcome.status).toBe(0);
    expect(notedIn(outcome.err)).toStrictEqual([file, `${file}:3`]);
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z', 2));
  });

  test('100 MB of nothing on disk, without a newline, are refused', async () => {
    const file = write('sparse.log', stamped);
    truncateSync(file, 100_000_000);
    const outcome = await replay(['--pods', cluster, '-o', 'json', file]);
    expect(outcome.status).toBe(0);
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
    expect(notedIn(outcome.err)).toContain(`${file}:2`);
    expect(outcome.err).toContain('2 in 1 file, 100 MB');
  });

  test('100 MB of text on standard input, without a newline, are refused', async () => {
    const block = Buffer.alloc(1_000_000, 'IN= ');
    function* blocks(): Generator<Buffer> {
      for (let i = 0; i < 100; i++) yield block;
      yield Buffer.from(`\n${stamped}`);
    }
    // A heap that the line would not fit into.
    const outcome = await replay([...json, '-'], { stdin: blocks(), env: { NODE_OPTIONS: '--max-old-space-size=64' } });
    expect([outcome.status, notedIn(outcome.err)]).toStrictEqual([0, ['-:1']]);
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
  });
});

describe.concurrent('half a line at the end', () => {
  test('a line that ends within the addresses is no packet', async () => {
    const half = stamped.slice(0, stamped.indexOf('DST=10.244.1.30') + 'DST=10.244.1.3'.length);
    const outcome = await replay([...json, '-'], { stdin: stamped + half });
    expect(outcome.status).toBe(0);
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
  });

  test('a line that ends within the port makes no Event about a port that was never tried', async () => {
    const half = stamped.slice(0, stamped.indexOf('DPT=5432') + 'DPT=543'.length);
    const outcome = await replay([...json, '-'], { stdin: stamped + half });
    expect(outcome.status).toBe(0);
    expect(outcome.out).not.toMatch(/port 543\//);
  });

  test('a whole line that only lacks its newline counts', async () => {
    const outcome = await replay([...json, '-'], { stdin: stamped + stamped.trimEnd() });
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z', 2));
  });
});

describe.concurrent('hostile lines', () => {
  test.each<[string, string]>([
    [
      'a journal far in the future',
      `{"MESSAGE":"${drop}","_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","__REALTIME_TIMESTAMP":"99999999999999999999999"}\n`,
    ],
    ['an uptime beyond all time', `4,1,1500000,-;${drop}\n4,2,99999999999999999999,-;${drop}\n`],
    ['a month and a minute that are none', `2026-99-99T99:99:99Z node-b kernel: ${drop}\n`],
    ['the year 0', `0000-01-01T00:00:00Z node-b kernel: ${drop}\n`],
  ])('a time that is none: %s', async (name, text) => {
    for (const format of ['json', 'audit']) {
      const { status, err } = await replay([
        '-q',
        '--pods',
        cluster,
        '-o',
        format,
        write(`${name} ${format}.log`, text + stamped),
      ]);
      expect({ format, status, err }).toStrictEqual({ format, status: 0, err: '' });
    }
  });

  test.each<[string, string]>([
    ['an open bracket', `[${' '.repeat(60_000)}IN=`],
    ['a second open bracket', `[1.5][${' '.repeat(60_000)}IN=`],
    ['a long word behind a stamp', `Nov 21 10:15:04 ${'a'.repeat(60_000)}IN=`],
    ['spaces behind a stamp', `Nov 21 10:15:04 node-b kernel: ${' '.repeat(60_000)}IN=`],
    ['equal signs', `Nov 21 10:15:04 node-b kernel: IN=${'='.repeat(60_000)}`],
    ['open braces', `${'{"log":'.repeat(8000)}IN=}`],
  ])('reading takes no more than in proportion to the length: %s', async (_, hostile) => {
    // In the square of the length this would take minutes, and the program is ended before.
    const outcome = await replay([...json, '-'], { stdin: `${`${hostile}\n`.repeat(50)}${stamped}` });
    expect(outcome).toMatchObject({ status: 0, err: '' });
    expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
  });
});
