import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createClock } from '../../src/sources/envelopes/clock.ts';
import { readEnvelope } from '../../src/sources/envelopes/read-envelope.ts';

const latest = Date.parse('2026-11-21T20:00:00Z');
const boot = Date.parse('2026-11-21T00:00:00Z');

interface Expected {
  text: string;
  time: string | undefined;
  host: string | undefined;
  origin: 'kernel' | 'userspace' | 'unknown';
  program: string | undefined;
}

/** A field that is not stated is that of a bare line. */
type Row = [line: string, expected: Partial<Expected>];

/** Lines are one character a byte, as they come from the scanner. */
function read(line: string): Expected {
  const { text, time, host, origin, program } = readEnvelope(
    Buffer.from(line).toString('latin1'),
    createClock({ latest, boot }),
  );
  return { text, time: time === undefined ? undefined : new Date(time).toISOString(), host, origin, program };
}

function check(line: string, expected: Partial<Expected>): void {
  expect(read(line)).toStrictEqual({
    ...bare,
    ...expected,
  });
}

const packet = 'calico-drop: IN=eth0 OUT=cali1c446d93d10 SRC=10.0.0.1 DST=10.0.0.2';
/** The packet without any envelope. */
const bare: Expected = {
  text: packet,
  time: undefined,
  host: undefined,
  origin: 'unknown',
  program: undefined,
};
const time = '2026-11-21T03:42:11.000Z';
const kernel = { time, host: 'node-a', origin: 'kernel' } as const;

describe('no envelope: the line comes back whole', () => {
  test.each<string>([
    packet,
    '[UFW BLOCK] IN=eth0 OUT=',
    'IN=eth0 OUT=',
    'DROP IN=eth0',
    'Dropped: IN=eth0',
    'Nov-drop: IN=eth0',
    'k3s-drop IN=eth0',
    'kernel:IN=eth0',
    '"filter_IN_public_REJECT: "IN=eth0',
    '[bri-FWD-filter-default-D]IN=eth2',
    '0 6 PVEFW-HOST-IN 02/Mar/2021:19:40:22 +0100 policy DROP: IN=enp1s0f0',
    '[12.5 IN=eth0',
    '[x12.5] IN=eth0',
    '<> IN=eth0',
    '<4444> IN=eth0',
    '{"log": 1}',
    '{"log": "cut off',
    '{}',
    '[]',
    '12',
    '2026',
    'Nov',
    'Nov 21',
    '',
  ])('%s', (line) => check(line, { text: line }));

  test('the line comes back whole but for leading blanks', () => check(` \t${packet}`, {}));
});

test.each<Row>([
  [`<4>${packet}`, {}],
  [`<0>${packet}`, {}],
  // Facility 1 and more is not the kernel (RFC 3164, 4.1.1).
  [`<12>${packet}`, { origin: 'userspace' }],
  [`<191>${packet}`, { origin: 'userspace' }],
  [`<12>kernel: ${packet}`, { origin: 'userspace' }],
  [`<4>[  132.500000] ${packet}`, { time: '2026-11-21T00:02:12.500Z' }],
])('syslog priority: %s', check);

const uptimes: Row[] = [
  `[  132.500000] ${packet}`,
  `[132.5] ${packet}`,
  `  [  132.500000] ${packet}`,
  `\t[  132.500000] ${packet}`,
  `[  132.500000][T12] ${packet}`,
  `[  132.500000][ T1234] ${packet}`,
  `[  132.500000] [  T1234] ${packet}`,
  `[  132.500000][   C0] ${packet}`,
  `[  132.500000]${packet}`,
  `kernel: [  132.500000] ${packet}`,
].map((line) => [
  line,
  { time: '2026-11-21T00:02:12.500Z', origin: line.startsWith('kernel: ') ? 'kernel' : 'unknown' },
]);

describe('dmesg', () => {
  test.each<Row>(uptimes)('%s', check);

  // dmesg of util-linux 2.38 prints them so, by option.
  test.each<[string, ...Row]>([
    ['-T', `[Sat Nov 21 03:42:11 2026] ${packet}`, { time }],
    ['-T, day of one digit', `[Sat Nov  7 03:42:11 2026] ${packet}`, { time: '2026-11-07T03:42:11.000Z' }],
    ['-e, first line of a minute', `[Nov21 03:42] ${packet}`, { time: '2026-11-21T03:42:00.000Z' }],
    ['-e, the others', `[  +0.600018] ${packet}`, {}],
    ['-d', `[  132.500000 <    0.600018>] ${packet}`, { time: '2026-11-21T00:02:12.500Z' }],
    ['-T -d', `[Sat Nov 21 03:42:11 2026 <    0.600018>] ${packet}`, { time }],
    ['--time-format delta', `[<    0.600018>] ${packet}`, {}],
    ['-x', `kern  :warn  : [  132.500000] ${packet}`, { time: '2026-11-21T00:02:12.500Z' }],
    [
      '-x, of another facility',
      `user  :warn  : [  132.500000] ${packet}`,
      { time: '2026-11-21T00:02:12.500Z', origin: 'userspace' },
    ],
    ['-r', `<4>[  132.500000] ${packet}`, { time: '2026-11-21T00:02:12.500Z' }],
    ['--time-format iso', `2026-11-21T03:42:11,500000+00:00 ${packet}`, { time: '2026-11-21T03:42:11.500Z' }],
    [
      '--time-format iso, prefix without a colon',
      '2026-11-21T03:42:11,500000+00:00 my-drop IN=eth0 OUT=',
      { time: '2026-11-21T03:42:11.500Z', text: 'my-drop IN=eth0 OUT=' },
    ],
  ])('%s', (_, line, expected) => check(line, expected));
});

test.each<Row>([
  [`Nov 21 03:42:11 node-a kernel: ${packet}`, kernel],
  [`Nov 21 03:42:11 node-a kernel: [ 1156.246182] ${packet}`, kernel],
  [`Nov  7 03:42:11 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-07T03:42:11.000Z' }],
  [`Nov 7 03:42:11 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-07T03:42:11.000Z' }],
  [`Nov 07 03:42:11 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-07T03:42:11.000Z' }],
  [`Dec 24 03:42:11 node-a kernel: ${packet}`, { ...kernel, time: '2025-12-24T03:42:11.000Z' }],
  [`Nov 21 03:42:11 node-a.example.com kernel: ${packet}`, { ...kernel, host: 'node-a.example.com' }],
  [`Nov 21 03:42:11 192.0.2.7 kernel: ${packet}`, { ...kernel, host: '192.0.2.7' }],
  [`Nov 21 03:42:11 fd00::7 kernel: ${packet}`, { ...kernel, host: 'fd00::7' }],
  [`Nov 21 03:42:11 kernel: ${packet}`, { ...kernel, host: undefined }],
  [`Nov 21 03:42:11 node-a ${packet}`, { time, host: 'node-a' }],
  [`Nov 21 03:42:11 ${packet}`, { time }],
  [
    `Nov 21 03:42:11 node-a kube-proxy[12085]: ${packet}`,
    { time, host: 'node-a', origin: 'userspace', program: 'kube-proxy' },
  ],
  [`Nov 21 03:42:11 node-a ulogd[99]: ${packet}`, { ...kernel, program: 'ulogd' }],
  [`Nov 21 03:42:11 node-a app[7]: kernel: ${packet}`, { time, host: 'node-a', origin: 'userspace', program: 'app' }],
  [`<4>Nov 21 03:42:11 node-a kernel: ${packet}`, kernel],
  [`<30>Nov 21 03:42:11 node-a kernel: ${packet}`, { ...kernel, origin: 'userspace' }],
  [`Nov 21 03:42:11.836530 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T03:42:11.836Z' }],
  [`Sat 2026-11-21 03:42:11 UTC node-a kernel: ${packet}`, kernel],
  // Zones without a name of letters are shown by their offset.
  [`Sat 2026-11-21 03:42:11 +03 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T00:42:11.000Z' }],
  [`1795232531.836530 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T03:42:11.836Z' }],
  [`2026-11-21T03:42:11+0000 node-a kernel: ${packet}`, kernel],
  [`Sat Nov 21 03:42:11 2026 node-a kernel: ${packet}`, kernel],
  [`Sat Nov  7 03:42:11 2026 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-07T03:42:11.000Z' }],
  // busybox syslogd and OpenWrt's logread name facility and severity.
  [`Nov 21 03:42:11 node-a kern.warn kernel: ${packet}`, kernel],
  [`Nov 21 03:42:11 node-a daemon.info kernel: ${packet}`, { ...kernel, origin: 'userspace' }],
  [`Sat Nov 21 03:42:11 2026 kern.warn kernel: [  132.500000] ${packet}`, { ...kernel, host: undefined }],
])('syslog and journalctl: %s', check);

test.each<Row>([
  [`2026-11-21T03:42:11Z node-a kernel: ${packet}`, kernel],
  [
    `2026-11-21T03:42:11.346165Z node-a kernel: [ 1156.246182] ${packet}`,
    { ...kernel, time: '2026-11-21T03:42:11.346Z' },
  ],
  [`2026-11-21T03:42:11.346165+00:00 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T03:42:11.346Z' }],
  [`2026-11-21T03:42:11+01:00 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T02:42:11.000Z' }],
  [`2026-11-21T03:42:11-0330 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T07:12:11.000Z' }],
  [`2026-11-21T03:42:11 node-a kernel: ${packet}`, kernel],
  [`2026-11-21 03:42:11 node-a kernel: ${packet}`, kernel],
  [`2026-11-21 03:42:11.5 node-a kernel: ${packet}`, { ...kernel, time: '2026-11-21T03:42:11.500Z' }],
  [`2026-11-21T03:42:11Z ${packet}`, { time }],
  [`2026-11-21T03:42:11Z node-a ${packet}`, { time, host: 'node-a' }],
  ['2026-11-21T03:42:11Z node-a [UFW BLOCK] IN=eth0', { time, host: 'node-a', text: '[UFW BLOCK] IN=eth0' }],
  // Go's log package names no host.
  ['2026/11/21 03:42:11 my-drop IN=eth0 OUT=', { time, text: 'my-drop IN=eth0 OUT=' }],
  [`2026/11/21 03:42:11.346165 ${packet}`, { time: '2026-11-21T03:42:11.346Z' }],
])('RFC 3339 and its like: %s', check);

test.each<Row>([
  [`<4>1 2026-11-21T03:42:11Z node-a kernel - - - ${packet}`, kernel],
  [`<4>1 2026-11-21T03:42:11Z node-a kernel - - - [  132.500000] ${packet}`, kernel],
  [`<4>1 2026-11-21T03:42:11Z node-a kernel - - [meta sequenceId="1"] ${packet}`, kernel],
  [`<4>1 2026-11-21T03:42:11Z node-a kernel - - [timeQuality tzKnown="1"][meta sequenceId="1"] ${packet}`, kernel],
  // RFC 5424, 6.4: UTF-8 may begin with a byte order mark.
  [`<4>1 2026-11-21T03:42:11Z node-a kernel - - - \uFEFF${packet}`, kernel],
  // RFC 5424, 6.2.4: "-" is no host name but the absence of one.
  [`<4>1 2026-11-21T03:42:11Z - kernel - - - ${packet}`, { ...kernel, host: undefined }],
  [
    `<12>1 2026-11-21T03:42:11Z node-a app 12 - - ${packet}`,
    { time, host: 'node-a', origin: 'userspace', program: 'app' },
  ],
  [`<12>1 2026-11-21T03:42:11Z node-a kernel 12 - - ${packet}`, { time, host: 'node-a', origin: 'userspace' }],
])('RFC 5424: %s', (line, expected) => {
  // Whether the kernel is named as a program too is not of interest here.
  const { program, ...found } = read(line);
  const { program: named, ...rest } = {
    ...bare,
    ...expected,
  };
  expect(found).toStrictEqual(rest);
  if (rest.origin !== 'kernel' && named !== undefined) expect(program).toBe(named);
});

// Its facility is what its configuration says, and never the kernel's.
test.each([
  `Nov 21 03:42:11 node-a ulogd[99]: ${packet}`,
  `<30>Nov 21 03:42:11 node-a ulogd[99]: ${packet}`,
  `<30>1 2026-11-21T03:42:11Z node-a ulogd 99 - - ${packet}`,
])('ulogd speaks for the kernel: %s', (line) => check(line, { ...kernel, program: 'ulogd' }));

test.each<Row>([
  [`4,123,132500000,-;${packet}`, { time: '2026-11-21T00:02:12.500Z', origin: 'kernel' }],
  [`4,123,132500000,-,caller=T12;${packet}`, { time: '2026-11-21T00:02:12.500Z', origin: 'kernel' }],
  [`7,18446744073709551615,132500000,c;${packet}`, { time: '2026-11-21T00:02:12.500Z', origin: 'kernel' }],
  [`12,123,132500000,-;${packet}`, { time: '2026-11-21T00:02:12.500Z', origin: 'userspace' }],
  [
    '4,123,132500000,-;a\\x0ab \\xc3\\xa9 \\x5c \\xZZ',
    { time: '2026-11-21T00:02:12.500Z', origin: 'kernel', text: 'a\nb \xc3\xa9 \\ \\xZZ' },
  ],
  [`4,123,132500000 ${packet}`, { text: `4,123,132500000 ${packet}` }],
])('kmsg record: %s', check);

describe('talosctl dmesg', () => {
  const stamp = '[2026-11-21T03:42:11.000000000Z]';

  test.each<Row>([
    [`192.168.7.12: kern: warning: ${stamp}: ${packet}`, { time, host: '192.168.7.12' }],
    [`fd00:7::12: kern: warning: ${stamp}: ${packet}`, { time, host: 'fd00:7::12' }],
    [`node-a: kern:  notice: ${stamp}: ${packet}`, { time, host: 'node-a' }],
    [`kern:     err: ${stamp}: ${packet}`, { time }],
    [`node-a: user: warning: ${stamp}: ${packet}`, { time, host: 'node-a', origin: 'userspace' }],
    [`node-a: kern: warning: [2026-11-21T04:42:11+01:00]: ${packet}`, { time, host: 'node-a' }],
  ])('%s', check);

  test.each<string>([
    `node-a: kern: warning: [soon and soon and soon]: ${packet}`,
    `node-a: kern: warning: [2026-11-21T03:42:11]${packet}`,
    `node-a: kern2: warning: ${stamp}: ${packet}`,
    `node a: kern: warning: ${stamp}: ${packet}`,
  ])('is not: %s', (line) => check(line, { text: line }));
});

describe('journald JSON', () => {
  const fields = {
    MESSAGE: packet,
    _TRANSPORT: 'kernel',
    SYSLOG_FACILITY: '0',
    SYSLOG_IDENTIFIER: 'kernel',
    _HOSTNAME: 'node-a',
    __REALTIME_TIMESTAMP: '1795232531000000',
  };
  const found = { ...kernel, program: 'kernel' };

  test.each<[string, object, Partial<Expected>]>([
    ['as the kernel says it', {}, found],
    ['without a facility, as older versions write', { SYSLOG_FACILITY: undefined }, found],
    ['bytes that are no UTF-8', { MESSAGE: [...Buffer.from(packet), 0xff] }, { ...found, text: `${packet}\xff` }],
    ['characters beyond ASCII', { MESSAGE: 'é-drop: IN=eth0' }, { ...found, text: 'é-drop: IN=eth0' }],
    [
      "the time it was received, where the kernel's is not known",
      { __REALTIME_TIMESTAMP: undefined, _SOURCE_REALTIME_TIMESTAMP: '1795232532500000' },
      { ...found, time: '2026-11-21T03:42:12.500Z' },
    ],
    ['no time', { __REALTIME_TIMESTAMP: undefined }, { ...found, time: undefined }],
    ['a time that is none', { __REALTIME_TIMESTAMP: 'soon' }, { ...found, time: undefined }],
    ['written to /dev/kmsg by a program: its facility', { SYSLOG_FACILITY: '3' }, { ...found, origin: 'userspace' }],
    [
      'written to /dev/kmsg by a program: its identifier',
      { SYSLOG_IDENTIFIER: 'evil' },
      { ...found, origin: 'userspace', program: 'evil' },
    ],
    ["the kernel's name by another transport", { _TRANSPORT: 'syslog' }, { ...found, origin: 'userspace' }],
    ["the kernel's name on standard output", { _TRANSPORT: 'stdout' }, { ...found, origin: 'userspace' }],
    [
      "a message that claims to be the kernel's",
      { _TRANSPORT: 'journal', SYSLOG_IDENTIFIER: 'evil', MESSAGE: `kernel: ${packet}` },
      { ...found, origin: 'userspace', program: 'evil' },
    ],
    [
      'ulogd',
      { _TRANSPORT: 'syslog', SYSLOG_FACILITY: '3', SYSLOG_IDENTIFIER: 'ulogd', _COMM: 'ulogd', _UID: '0' },
      { ...found, program: 'ulogd' },
    ],
    [
      'ulogd, not of root',
      { _TRANSPORT: 'syslog', SYSLOG_IDENTIFIER: 'ulogd', _COMM: 'ulogd', _UID: '1000' },
      { ...found, origin: 'userspace', program: 'ulogd' },
    ],
    [
      'ulogd by its own word only',
      { _TRANSPORT: 'syslog', SYSLOG_IDENTIFIER: 'ulogd', _COMM: 'evil', _UID: '0' },
      { ...found, origin: 'userspace', program: 'evil' },
    ],
  ])('%s', (_, change, expected) => check(JSON.stringify({ ...fields, ...change }), expected));

  test.each<[string, object]>([
    ['as ulogd', { MESSAGE: `Nov 21 03:42:11 node-a ulogd[1]: ${packet}`, _HOSTNAME: undefined }],
    ['as the kernel', { MESSAGE: `Nov 21 03:42:11 kernel: ${packet}` }],
    ['as a record', { MESSAGE: `4,1,1000,-;${packet}` }],
    ['as journald JSON', { MESSAGE: JSON.stringify(fields) }],
    ['by another transport, as journald JSON', { _TRANSPORT: 'stdout', MESSAGE: JSON.stringify(fields) }],
  ])('written to /dev/kmsg by a program without a name: %s', (_, change) => {
    const line = { ...fields, SYSLOG_FACILITY: '1', SYSLOG_IDENTIFIER: undefined, ...change };
    expect(read(JSON.stringify(line))).toMatchObject({ text: packet, origin: 'userspace' });
  });

  test('journald itself, whose records no other program can have written', () => {
    const itself = { _TRANSPORT: 'driver', SYSLOG_FACILITY: '3', SYSLOG_IDENTIFIER: 'systemd-journald' };
    check(JSON.stringify({ ...fields, ...itself, MESSAGE: 'Missed 12 kernel messages' }), {
      ...found,
      text: 'Missed 12 kernel messages',
      origin: 'userspace',
      program: 'systemd-journald',
    });
  });

  test('a message too large comes as null and stays what it is', () => {
    const line = JSON.stringify({ ...fields, MESSAGE: null });
    check(line, { text: line });
  });

  test('blanks may stand between, as some exporters write them', () => {
    check(`{ "MESSAGE" : "${packet}", "_TRANSPORT" : "kernel", "SYSLOG_IDENTIFIER" : "kernel" }`, {
      origin: 'kernel',
      program: 'kernel',
    });
  });
});

test.each<Row>([
  [`2026-11-21T03:42:11.346165Z stdout F ${packet}`, { time: '2026-11-21T03:42:11.346Z' }],
  [`2026-11-21T03:42:11.346165789+01:00 stderr F ${packet}`, { time: '2026-11-21T02:42:11.346Z' }],
  [`2026-11-21T03:42:11Z stdout P Nov 21 03:42:10 node-a kernel: ${packet}`, kernel],
  [`2026-11-21T03:42:11Z stdout F <4>[  132.500000] ${packet}`, { time }],
  ['2026-11-21T03:42:11Z stdout F my-drop IN=eth0 OUT=', { time, text: 'my-drop IN=eth0 OUT=' }],
  [
    `2026-11-21T03:42:11Z stdout F {"MESSAGE":"${packet}","_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","_HOSTNAME":"node-a"}`,
    { ...kernel, program: 'kernel' },
  ],
])('the envelope of a container runtime: %s', check);

test.each<[string, string, Partial<Expected>]>([
  [
    'a name and a number before a message without a time',
    `sshd[1]: ${packet}`,
    { origin: 'userspace', program: 'sshd' },
  ],
  [
    'the same with a capital',
    `CRON[1]: Nov 21 03:42:11 node-a kernel: ${packet}`,
    { time, host: 'node-a', origin: 'userspace', program: 'CRON' },
  ],
  ['a LOG prefix of such a form', 'fw-drop[1]: IN=eth0', { text: 'fw-drop[1]: IN=eth0' }],
  [
    'the outermost of two',
    `Nov 21 03:42:11 node-a sshd[1]: Nov 21 03:42:11 node-b ovn-controller[2]: ${packet}`,
    { time, host: 'node-a', origin: 'userspace', program: 'sshd', text: `node-b ovn-controller[2]: ${packet}` },
  ],
  [
    'who has written to /dev/kmsg',
    '30,1,132500000,-;systemd-journald[99]: Missed 3 kernel messages',
    {
      time: '2026-11-21T00:02:12.500Z',
      origin: 'userspace',
      program: 'systemd-journald',
      text: 'Missed 3 kernel messages',
    },
  ],
  [
    'Fluent Bit, of a syslog',
    JSON.stringify({ ident: 'sshd', pid: '1', message: packet }),
    { origin: 'userspace', program: 'sshd' },
  ],
  [
    'Vector, of a syslog',
    JSON.stringify({ appname: 'kernel', message: packet }),
    { origin: 'kernel', program: 'kernel' },
  ],
  [
    'Fluent Bit, of a container, whatever that is called',
    JSON.stringify({ log: packet, kubernetes: { container_name: 'ulogd' } }),
    { origin: 'userspace', program: 'ulogd' },
  ],
  [
    'journald: the process, whatever it calls itself',
    JSON.stringify({ MESSAGE: packet, SYSLOG_IDENTIFIER: 'kernel', _COMM: 'evil' }),
    { origin: 'userspace', program: 'evil' },
  ],
  [
    'journald: the process, of whose name the kernel keeps 15 bytes',
    JSON.stringify({
      MESSAGE: packet,
      _TRANSPORT: 'stdout',
      SYSLOG_IDENTIFIER: 'systemd-journald',
      _COMM: 'systemd-journal',
    }),
    { origin: 'userspace', program: 'systemd-journald' },
  ],
  [
    'journald: a process without any other name',
    JSON.stringify({ MESSAGE: packet, _COMM: 'app' }),
    { origin: 'userspace', program: 'app' },
  ],
])('the writer: %s', (_, line, expected) => check(line, expected));

test.each<[string, object, Partial<Expected>]>([
  [
    'Docker',
    { log: `${packet}\n`, stream: 'stdout', time: '2026-11-21T03:42:11.346165Z' },
    { time: '2026-11-21T03:42:11.346Z' },
  ],
  [
    'Docker around a kernel line',
    { log: `Nov 21 03:42:10 node-a kernel: ${packet}\n`, stream: 'stdout', time: '2026-11-21T03:42:11Z' },
    kernel,
  ],
  ['Docker: only one newline is taken off', { log: `${packet}\n\n`, stream: 'stdout' }, { text: `${packet}\n` }],
  ['a collector', { '@timestamp': '2026-11-21T03:42:11Z', host: 'node-a', message: `kernel: ${packet}` }, kernel],
  [
    'a collector, other names',
    { timestamp: '2026-11-21T03:42:11Z', hostname: 'node-a', log: packet },
    { time, host: 'node-a' },
  ],
  // Fluent Bit's own name and form, unless `json_date_format` says otherwise.
  ['Fluent Bit', { date: 1795232531, log: packet }, { time }],
  ['milliseconds', { timestamp: 1795232531000, message: packet }, { time }],
  ['microseconds', { timestamp: 1795232531000000, message: packet }, { time }],
  ['nanoseconds', { timestamp: 1795232531000000000, message: packet }, { time }],
  [
    'a collector with seconds since 1970',
    { '@timestamp': 1795232531.5, message: packet },
    { time: '2026-11-21T03:42:11.500Z' },
  ],
  ['a collector with a time that is none', { time: 'soon', message: packet }, {}],
  [
    'JSON in JSON',
    { log: JSON.stringify({ message: `kernel: ${packet}`, host: 'node-a' }), time: '2026-11-21T03:42:11Z' },
    kernel,
  ],
])('an envelope in JSON: %s', (_, record, expected) => check(JSON.stringify(record), expected));

test.each([
  ['ulogd', { timestamp: '2026-11-21T03:42:11', 'oob.prefix': 'drop', 'oob.family': 2 }, time],
  [
    'ulogd, the time of the packet',
    { timestamp: '2026-11-21T04:42:12', 'oob.time.sec': 1795232531, 'oob.time.usec': 500000, 'oob.family': 2 },
    '2026-11-21T03:42:11.500Z',
  ],
  ['ulogd, a packet without a time', { timestamp: '2026-11-21T03:42:11Z', 'oob.time.sec': 0, 'oob.family': 2 }, time],
  ['an agent that logs by zap', { level: 'info', ts: '2026-11-21T03:42:11Z', msg: 'Flow Info' }, time],
  ['no time', { 'oob.family': 2 }, undefined],
])('JSON that is the message itself stays as it is, but for its time: %s', (_, record, expected) => {
  const line = Buffer.from(JSON.stringify(record)).toString('latin1');
  check(line, { text: line, time: expected });
});

// Where nothing names a host, the first word of the message is the prefix, by which the verdict is known.
describe('a LOG prefix is never taken for a host', () => {
  const messages = [
    'calico-drop: IN=eth0 OUT=',
    '[UFW BLOCK] IN=eth0 OUT=',
    'IN=eth0 OUT=',
    'my-drop IN=eth0 OUT=',
    'kube-drop IN=eth0 OUT=',
    'kernel-drop[1]: IN=eth0 OUT=',
  ];

  test.each(messages)('a LOG prefix is no host behind an uptime, a kmsg record, a container runtime: %s', (text) => {
    for (const before of [
      '[  132.500000] ',
      '<4>[  132.500000] ',
      '4,123,132500000,-;',
      'Nov 21 03:42:11 kernel: ',
      'Nov 21 03:42:11 kernel: [  132.500000] ',
      '2026-11-21T03:42:11Z stdout F ',
    ]) {
      expect({ before, ...read(before + text) }).toMatchObject({ before, text, host: undefined, program: undefined });
    }
  });

  test.each(messages)('a LOG prefix is no host behind a host: %s', (text) => {
    for (const before of ['Nov 21 03:42:11 node-a kernel: ', '2026-11-21T03:42:11Z node-a kernel: [  132.500000] ']) {
      expect({ before, ...read(before + text) }).toMatchObject({ before, text, host: 'node-a', origin: 'kernel' });
    }
  });

  test.each(messages.slice(0, 3))('a LOG prefix is no host behind a stamp alone: %s', (text) => {
    for (const before of ['Nov 21 03:42:11 ', '2026-11-21T03:42:11Z ', '1795232531.836530 '])
      expect({ before, ...read(before + text) }).toMatchObject({ before, text, host: undefined });
  });
});

describe('what is inside cannot say otherwise', () => {
  test('the outer stamp counts', () => check(`2026-11-21T03:42:11Z node-a kernel: [99999.5] ${packet}`, kernel));

  test('a prefix that looks like a line of another host cannot say otherwise either', () => {
    expect(read('Nov 21 03:42:11 node-a kernel: [ 12.5] Dec 24 11:11:11 evil kernel: IN=eth0')).toMatchObject({
      time,
      host: 'node-a',
      origin: 'kernel',
    });
  });

  test('an exact time behind a guessed one does count', () => {
    const clock = createClock({ latest });
    const { time: found, timeIsExact } = readEnvelope(`[  132.500000] Nov 21 03:42:11 node-a kernel: ${packet}`, clock);
    expect([found, timeIsExact]).toStrictEqual([Date.parse(time), true]);
  });

  test('a guessed time says so', () => {
    expect(readEnvelope(`[  132.500000] ${packet}`, createClock({ latest }))).toMatchObject({
      time: latest,
      timeIsExact: false,
    });
  });
});

test('layers are named, outermost first', () => {
  const { layers } = readEnvelope(
    `2026-11-21T03:42:11Z stdout F <4>Nov 21 03:42:10 node-a kernel: [  132.500000] ${packet}`,
    createClock({ latest }),
  );
  expect(layers).toStrictEqual(['CRI', 'syslog priority', 'syslog stamp', 'kernel tag', 'uptime']);
});

test('lines of one clock do not stain one another', () => {
  const clock = createClock({ latest, boot });
  const lines = [
    `Nov 21 03:42:11 node-a kernel: ${packet}`,
    `Nov 21 03:42:11 node-b kernel: ${packet}`,
    `Nov 21 03:42:12 node-a kernel: ${packet}`,
    `2026-11-21T03:42:11Z node-a kernel: ${packet}`,
    `2026-11-21T03:42:59+01:00 node-a kernel: ${packet}`,
    `2026-11-21T03:42:59 node-a kernel: ${packet}`,
    `Nov 21 03:42:11.5 node-a kernel: ${packet}`,
    `Nov 21 03:42:11 ${packet}`,
  ];
  for (const line of [...lines, ...lines.toReversed()])
    expect(readEnvelope(line, clock)).toStrictEqual(readEnvelope(line, createClock({ latest, boot })));
});

describe('hostile lines', () => {
  test.each<[string, string]>([
    ['priorities', '<4>'.repeat(20_000)],
    ['uptimes', '[1.5] '.repeat(10_000)],
    ['stamps', 'Nov 21 03:42:11 '.repeat(4000)],
    ['kernel tags', 'kernel: '.repeat(8000)],
    ['open braces', `${'{"log":'.repeat(8000)}}`],
    ['brackets', `${'['.repeat(60_000)}]`],
    ['blanks', `[${' '.repeat(2000)}`],
    ['blanks in a second bracket', `[1.5][${' '.repeat(2000)}`],
    ['digits', '1'.repeat(60_000)],
    ['commas', `1,1,1,${','.repeat(60_000)}`],
  ])('%s', (_, line) => {
    const { text, layers } = readEnvelope(line, createClock({ latest }));
    expect(layers.length).toBeLessThanOrEqual(6);
    expect(text.length).toBeGreaterThan(line.length / 2);
  });

  test('JSON in JSON ends after a few layers', () => {
    let line = packet;
    for (let i = 0; i < 9; i++) line = JSON.stringify({ log: line });
    expect(readEnvelope(line, createClock({ latest })).text).toMatch(/^\{"log":/);
  });

  const stamps = [
    'Nov 21 03:42:11 ',
    'Nov 99 99:99:99 ',
    'Sat Nov 21 03:42:11 2026 ',
    'Sat 2026-11-21 03:42:11 UTC ',
    '2026-11-21T03:42:11Z ',
    '2026-99-99T99:99:99.999999999+99:99 ',
    '<4>',
    '<4>1 ',
    '[1.5] ',
    '[9999999999.999999999]',
    '4,1,99999999999999999999,-;',
    '\\xff',
    '{"MESSAGE":[999,-1,1e9,"x"],"_TRANSPORT":"kernel"}',
    '{"log":"',
    '"}',
    ' stdout F ',
    'node-a ',
    'kernel: ',
    'app[1]: ',
    'kern.warn ',
    '- - - ',
    'IN=',
    '\0',
    '\xff',
    ' ',
  ];
  const line = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc
      .array(fc.oneof(fc.constantFrom(...stamps), fc.string({ maxLength: 5 })), { maxLength: 12 })
      .map((parts) => parts.join('')),
    fc
      .object({
        key: fc.constantFrom('MESSAGE', 'log', 'message', 'time', 'host', '_TRANSPORT', '__REALTIME_TIMESTAMP'),
      })
      .map((object) => JSON.stringify(object)),
  );

  test('never throw, and every answer is usable', () => {
    fc.assert(
      fc.property(line, (hostile) => {
        const { text, time: found, host, origin, layers } = readEnvelope(hostile, createClock({ latest }));
        expect(typeof text).toBe('string');
        expect(found === undefined || Number.isFinite(found)).toBe(true);
        // Times are shown and stored as dates, which end 100 million days from 1970.
        if (found !== undefined) expect(() => new Date(found).toISOString()).not.toThrow();
        expect(host).not.toBe('');
        expect(['kernel', 'userspace', 'unknown']).toContain(origin);
        // Six rounds; a stamp and the tag behind it are one.
        expect(layers.length).toBeLessThanOrEqual(12);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('what stands in a message cannot say that the kernel wrote it, if an outer layer says otherwise', () => {
  test.each<[string, string]>([
    ['a record of a program, as ulogd', `12,1,1000,-;Nov 21 03:42:11 node-a ulogd[1]: ${packet}`],
    ['without a host', `12,1,1000,-;Nov 21 03:42:11 ulogd[1]: ${packet}`],
    ['a record of a program, as a record', `12,1,1000,-;4,1,1000,-;${packet}`],
    ['a record of a program, as the kernel', `12,1,1000,-;Nov 21 03:42:11 node-a kernel: ${packet}`],
    ['a program, as ulogd', `Nov 21 03:42:11 app[1]: Nov 21 03:42:11 ulogd[1]: ${packet}`],
    [
      'a program, as ulogd behind a priority',
      `<13>Nov 21 03:42:11 node-a app[1]: <30>1 2026-11-21T03:42:11Z node-a ulogd 9 - - ${packet}`,
    ],
    ['a program, as a record', `Nov 21 03:42:11 node-a app[1]: 4,1,1000,-;${packet}`],
  ])('%s', (_, forged) => {
    expect(read(forged)).toMatchObject({ text: packet, origin: 'userspace' });
  });

  test('the kernel is not doubted for what a rule has as its prefix', () => {
    expect(read(`4,1,1000,-;ulogd[1]: ${packet}`)).toMatchObject({ text: `ulogd[1]: ${packet}`, origin: 'kernel' });
    expect(read(`4,1,1000,-;4,1,1000,-;${packet}`)).toMatchObject({ origin: 'kernel' });
  });
});

test('a kernel record that journald took in late has the time at which the kernel wrote it', () => {
  const stamps = { __REALTIME_TIMESTAMP: '1795000000000000', __MONOTONIC_TIMESTAMP: '90000000' };
  const record = { MESSAGE: 'x', _TRANSPORT: 'kernel', SYSLOG_IDENTIFIER: 'kernel', ...stamps };
  const timeOf = (more: object): number | undefined =>
    readEnvelope(JSON.stringify({ ...record, ...more }), createClock({ latest: 0 })).time;
  expect(timeOf({ _SOURCE_MONOTONIC_TIMESTAMP: '30000000' })).toBe(1_795_000_000_000 - 60_000);
  expect(timeOf({ _SOURCE_MONOTONIC_TIMESTAMP: '90000001' })).toBe(1_795_000_000_000);
  expect(timeOf({})).toBe(1_795_000_000_000);
});

test('the clock of the kernel has drifted by minutes in a month: journald was not late', () => {
  const monotonic = 30 * 86_400_000_000;
  const drifted = monotonic - 200_000_000;
  const late = monotonic - 3_600_000_000;
  const timeOf = (source: number): number | undefined => {
    const stamps = { __REALTIME_TIMESTAMP: '1795000000000000', __MONOTONIC_TIMESTAMP: String(monotonic) };
    const record = { MESSAGE: 'x', ...stamps, _SOURCE_MONOTONIC_TIMESTAMP: String(source) };
    return readEnvelope(JSON.stringify(record), createClock({ latest: 0 })).time;
  };
  expect(timeOf(drifted)).toBe(1_795_000_000_000);
  expect(timeOf(late)).toBe(1_795_000_000_000 - 3_600_000);
});
