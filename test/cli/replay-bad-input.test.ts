import { mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { notedIn, replay as start, sample } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, drop, eventsIn, json, policyDeny, stamped, twoEvents, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

test('each unreadable log is named, and the others are read', async () => {
  mkdirSync(path('logs'));
  const bad = [path('missing.log'), path('logs'), process.execPath, `${policyDeny}/kern.log`];
  const outcome = await replay([...json, bad[0] as string, policyDeny, ...bad.slice(1)]);
  expect(outcome.status).toBe(1);
  expect(notedIn(outcome.err).toSorted()).toStrictEqual(bad.toSorted());
  expect(eventsIn(outcome)).toStrictEqual(eventsIn(await replay([...json, policyDeny])));
});

test('a log with only bad lines gives no Event and no age', async () => {
  const { status, out, err } = await replay(['--pods', cluster, path('none.log')]);
  expect([status, notedIn(err)]).toStrictEqual([1, [path('none.log')]]);
  expect(out).toContain('0 in 0 files');
  expect(out).not.toMatch(/NaN|Infinity|Invalid|undefined/);
});

test('an empty log has no Event', async () => {
  expect(await replay([...json, write('empty.log', '')])).toStrictEqual({ status: 0, out: '', err: '' });
});

test('a log without any packet or record: the summary says how to turn logging on', async () => {
  const nothing = await replay(['--pods', cluster, write('empty.log', '')]);
  expect(nothing.out).toMatch(/^lines +0 in 1 file, 0 bytes; .* needs root/m);
  const unrelated = await replay(['--pods', cluster, '-'], { stdin: 'Nov 21 10:00:00 node-a kernel: eth0: up\n' });
  expect(unrelated.out).toMatch(/^drops +0; .*docs\/logging\.md/m);
  expect((await replay(['--pods', cluster, policyDeny])).out).not.toContain('LOG rule');
});

test('a binary log: gives one warning, and its lines of text are read', async () => {
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

test('a sparse file of 100 MB without a newline is refused', async () => {
  const file = write('sparse.log', stamped);
  truncateSync(file, 100_000_000);
  const outcome = await replay(['--pods', cluster, '-o', 'json', file]);
  expect(outcome.status).toBe(0);
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
  expect(notedIn(outcome.err)).toContain(`${file}:2`);
  expect(outcome.err).toContain('2 in 1 file, 100 MB');
});

test('100 MB of text on standard input without a newline are refused', async () => {
  const block = Buffer.alloc(1_000_000, 'IN= ');
  function* blocks(): Generator<Buffer> {
    for (let i = 0; i < 100; i++) yield block;
    yield Buffer.from(`\n${stamped}`);
  }
  // The line would not fit into this heap.
  const outcome = await start([...json, '-'], { stdin: blocks(), env: { NODE_OPTIONS: '--max-old-space-size=64' } });
  expect([outcome.status, notedIn(outcome.err)]).toStrictEqual([0, ['-:1']]);
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

test('a line that ends within the addresses is not a packet', async () => {
  const half = stamped.slice(0, stamped.indexOf('DST=10.244.1.30') + 'DST=10.244.1.3'.length);
  const outcome = await replay([...json, '-'], { stdin: stamped + half });
  expect(outcome.status).toBe(0);
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

test('a line that ends within the port makes no Event about a wrong port', async () => {
  const half = stamped.slice(0, stamped.indexOf('DPT=5432') + 'DPT=543'.length);
  const outcome = await replay([...json, '-'], { stdin: stamped + half });
  expect(outcome.status).toBe(0);
  expect(outcome.out).not.toMatch(/port 543\//);
});

test('a complete line without a newline counts', async () => {
  const outcome = await replay([...json, '-'], { stdin: stamped + stamped.trimEnd() });
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z', 2));
});

test.each<[string, string]>([
  [
    'a journal far in the future',
    `{"MESSAGE":"${drop}","_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","__REALTIME_TIMESTAMP":"99999999999999999999999"}\n`,
  ],
  ['an uptime beyond all time', `4,1,1500000,-;${drop}\n4,2,99999999999999999999,-;${drop}\n`],
  ['a month and a minute that are none', `2026-99-99T99:99:99Z node-b kernel: ${drop}\n`],
  ['the year 0', `0000-01-01T00:00:00Z node-b kernel: ${drop}\n`],
])('an invalid time is reported: %s', async (name, text) => {
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
])('reading takes time in proportion to the length: %s', async (_, hostile) => {
  // If the time grew with the square of the length, this would take minutes. Only a process of its own can be killed in
  // a busy loop.
  const outcome = await start([...json, '-'], { stdin: `${`${hostile}\n`.repeat(50)}${stamped}` });
  expect(outcome).toMatchObject({ status: 0, err: '' });
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

/**
 * The Events of a sample that is cut before its second line with `marker`, for example `ServiceChainMissing node-a x2`.
 */
async function eventsBefore(name: string, marker: string): Promise<string[]> {
  const text = readFileSync(sample(`kube-proxy-lw8zd-${name}.log`), 'utf8');
  const end = text.indexOf(marker, text.indexOf(marker) + 1);
  const events = eventsIn(await replay([...json, write(`kube-proxy-lw8zd-${end}`, text.slice(0, end))]));
  return events.map((event) => event.replace(/ \S*\/(\S+ x\d+) .*$/, ' $1'));
}

test.each([
  ['twice', 'with the second failure', '"Sync failed"', 'ServiceChainMissing node-a x2'],
  ['twice', 'within the record of it', 'Error occurred at line: 33', 'ServiceChainMissing node-a x2'],
  ['lock', 'with the second failure', '"Sync failed"', 'XtablesLockHeld node-a x2'],
])('an incident in kube-proxy-lw8zd-%s.log, though the log ends %s', async (name, _, marker, event) => {
  await expect(eventsBefore(name, marker)).resolves.toContain(event);
});

test('a log that ends before the second failure has no incident', async () => {
  await expect(eventsBefore('twice', '"Failed to execute')).resolves.toEqual([]);
});

test('packet lines that a client makes sshd log are refused and counted', async () => {
  const packet = 'SIP: 10.244.0.41;SPORT: 40112;DIP: 10.244.1.30;DPORT: 5432;PROTOCOL: TCP;PolicyVerdict: DENY';
  const own = write('network-policy-agent.log', `Node: node-b;${packet}\n`);
  const sshd = write('auth.log', `Nov 21 10:15:03 node-b sshd[1]: Node: node-b;${packet}\n`);
  const options = ['--pods', cluster, '--now', '2026-11-21T12:00:00Z'];
  expect((await replay([...options, own])).out).toMatch(/PacketDrop .* 10\.244\.0\.41|PacketDrop .*worker/);
  const { out, err } = await replay([...options, sshd]);
  expect(`${out}${err}`).not.toMatch(/PacketDrop/);
  expect(`${out}${err}`).toMatch(/^refused +1 /m);
});

const failing = `E1121 09:00:00.836390 77 proxier.go:1564] "Failed to execute iptables-restore" err="exit status 4: Another app is currently holding the xtables lock"`;

/** A hook's line three times, each with its possible rest. */
function records(lineBreak: object): string {
  const ofStream = { _TRANSPORT: 'stdout', _STREAM_ID: 'a', _SYSTEMD_UNIT: 'k3s.service', SYSLOG_IDENTIFIER: 'k3s' };
  const made = [0, 30, 60].flatMap((second) => {
    const time = Date.parse('2026-11-21T10:00:00Z') + second * 1000;
    const common = { ...ofStream, _HOSTNAME: 'node-b', __REALTIME_TIMESTAMP: `${time}000` };
    return [
      { ...common, MESSAGE: '\tpwned', ...lineBreak },
      { ...common, MESSAGE: failing },
    ];
  });
  return made.map((record) => `${JSON.stringify(record)}\n`).join('');
}

test('the rest of a k3s line that journald stored as its own record is not a record of kube-proxy', async () => {
  expect(eventsIn(await replay([...json, write('whole.json', records({}))]))).not.toEqual([]);
  expect(eventsIn(await replay([...json, write('nul.json', records({ _LINE_BREAK: 'nul' }))]))).toEqual([]);
});
