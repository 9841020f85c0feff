import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSavedLogReader, isProgramLog, kindOfLine } from '../../../../src/read/sources/kubelet/saved-log.ts';
import type { RecordLine } from '../../../../src/read/sources/records/joiner.ts';
import { join, joinedByTheBook, type PhysicalLine } from '../records/joining.ts';
import { forAll } from '../../../for-all.ts';

/** Saved logs: a title, and their lines. */
const tables: {
  ofPrograms: [string, string[]][];
  ofOthers: [string, string[]][];
  kinds: [ReturnType<typeof kindOfLine>, string[]][];
  times: [string, string, string | undefined][];
} = {
  // Logs of programs in a container.
  ofPrograms: [
    ['klog', ['E1121 10:00:00.250000       1 proxier.go:1564] x']],
    ['klog JSON', ['{"ts":1795255200250.5,"caller":"a.go:1","msg":"x"}']],
    [
      'the end of a record first',
      ['\tError occurred at line: 3', ' > ipFamily="IPv4"', 'E1121 10:00:00.250000       1 proxier.go:1564] x'],
    ],
    ['logrus', ['2026-11-21 10:00:00.125 [WARNING][56] felix/table.go 654: x']],
    ['logrus without a terminal', ['time="2026-11-21T10:00:00Z" level=info msg=x']],
    ['bird', ['2026-11-21_10:00:00.12345 bird: device1: x', 'bird: BGP: x']],
    ['with stamps', ['2026-11-21T12:00:00.5Z E1121 10:00:00.250000       1 proxier.go:1564] x']],
    ['with Pods', ['[pod/a/b] 2026-11-21 10:00:00.125 [WARNING][56] felix/table.go 654: x']],
    [
      'the first line of kubectl',
      [
        'Defaulted container "calico-node" out of: calico-node, flexvol (init)',
        '2026-11-21 10:00:00.125 [WARNING][56] felix/table.go 654: x',
      ],
    ],
    [
      'CRI',
      [
        '2026-11-21T12:00:00.5Z stderr F E1121 10:00:00.250000       1 proxier.go:1564] x',
        '2026-11-21T12:00:00.5Z stderr F \tx',
      ],
    ],
    ['CRI of whatever', ['2026-11-21T12:00:00.5Z stdout F whatever']],
    ['Docker', [String.raw`{"log":"whatever\n","stream":"stdout","time":"2026-11-21T12:00:00Z"}`]],
  ],
  // Other logs.
  ofOthers: [
    ['nothing', []],
    ['plain text', ['hello', 'world']],
    [
      'kern.log',
      [
        'Nov 21 10:00:00 node-a kernel: [ 12.345678] calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2',
      ],
    ],
    [
      'syslog with kube-proxy in it',
      [
        'Nov 21 10:00:00 node-a kube-proxy[12]: E1121 10:00:00.250000       1 proxier.go:1564] x',
        'Nov 21 10:00:00 node-a systemd[1]: x',
      ],
    ],
    [
      'syslog of RFC 3339',
      ['2026-11-21T10:00:00.123456+00:00 node-a kube-proxy[12]: E1121 10:00:00.250000       1 proxier.go:1564] x'],
    ],
    [
      'dmesg',
      ['[   12.345678] calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2'],
    ],
    [
      '/dev/kmsg',
      ['4,100,12345678,-;calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2'],
    ],
    ['journal', ['{"__REALTIME_TIMESTAMP":"1","MESSAGE":"x","_TRANSPORT":"kernel"}']],
    ['journal of a program', ['{"_PID":"1","MESSAGE":"E1121 10:00:00.250000       1 proxier.go:1564] x"}']],
    ['bare packets', ['calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2']],
    [
      'CRI around the kernel',
      [
        '2026-11-21T12:00:00.5Z stdout F Nov 21 10:00:00 node-a kernel: calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2',
      ],
    ],
    [
      'CRI around packets',
      [
        '2026-11-21T12:00:00.5Z stdout F calico-drop: IN=cali1 OUT=eth0 MAC= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 PROTO=TCP SPT=1 DPT=2',
        '2026-11-21T12:00:00.5Z stdout F starting',
      ],
    ],
    ['OVN', ['2026-06-13T19:33:11.590Z|00005|acl_log(ovn_pinctrl0)|INFO|name="a", verdict=drop']],
    [
      'one line of a container in a syslog',
      ['Nov 21 10:00:00 node-a a[1]: x', 'Nov 21 10:00:00 node-a a[1]: y', 'bird: x'],
    ],
  ],
  // Lines by kind; the kind of some is unknown.
  kinds: [
    [
      'other',
      [
        '<30>systemd[1]: x',
        'Nov 21 10:00:00 node-a systemd[1]: x',
        'Nov  1 10:00:00 node-a systemd[1]: x',
        'Sat Nov 21 10:00:00 2026 x',
        'Sat 2026-11-21 10:00:00 UTC node-a systemd[1]: x',
        '[   12.345678] x',
        '[12345.678901] x',
        '6,100,12345678,-;x',
        'kern  :info  : x',
        'kernel: x',
        '{"PRIORITY":"6","MESSAGE":"x"}',
        '{"__REALTIME_TIMESTAMP" : "1"}',
        'IN=eth0 OUT= x',
        'DROP:IN=eth0 OUT= x',
      ],
    ],
    [
      undefined,
      ['hello', '<>x', 'nov 21 10:00:00 x', 'Nov 21 10:00 x', '[12] x', '6,100,x;', 'kernel x', 'PLUGIN=x y'],
    ],
    [undefined, ['[INFO][71] felix/x.go 1: a record without a stamp']],
  ],
  // Lines, and their times.
  times: [
    ['klog', 'E1121 10:00:00.250000       1 proxier.go:1564] x', '2026-11-21T10:00:00.250Z'],
    ['klog of last year', 'E1231 10:00:00.250000       1 proxier.go:1564] x', '2025-12-31T10:00:00.250Z'],
    ['klog on a day that is none', 'E1341 10:00:00.250000       1 proxier.go:1564] x', undefined],
    ['klog JSON', '{"ts":1795255200250.5,"caller":"a.go:1","msg":"x"}', '2026-11-21T10:00:00.250Z'],
    ['felix', '2026-11-21 10:00:00.125 [WARNING][56] felix/table.go 654: x', '2026-11-21T10:00:00.125Z'],
    ['svlogd', '2026-11-21_10:00:00.12345 bird: x', '2026-11-21T10:00:00.123Z'],
    ['logrus', 'time="2026-11-21T10:00:00Z" level=info msg=x', '2026-11-21T10:00:00.000Z'],
    ['bird', 'bird: x', undefined],
    [
      '--timestamps',
      '2026-11-21T12:00:00.5+02:00 E1121 10:00:00.250000       1 proxier.go:1564] x',
      '2026-11-21T10:00:00.500Z',
    ],
    [
      '--prefix',
      '[pod/kube-proxy-abcde/kube-proxy] E1121 10:00:00.250000       1 proxier.go:1564] x',
      '2026-11-21T10:00:00.250Z',
    ],
  ],
};

const latest = Date.UTC(2026, 10, 22);
const klog = (message: string, day = '1121'): string => `E${day} 10:00:00.250000       1 proxier.go:1564] ${message}`;
const cri = (stream: string, text: string, tag = 'F'): string => `2026-11-21T12:00:00.5Z ${stream} ${tag} ${text}`;
const docker = (text: string): string =>
  JSON.stringify({ log: `${text}\n`, stream: 'stderr', time: '2026-11-21T12:00:00Z' });
const felix = '2026-11-21 10:00:00.125 [WARNING][56] felix/table.go 654: x';

function read(lines: readonly string[]): {
  records: RecordLine[];
  counts: ReturnType<typeof createSavedLogReader>['counts'];
} {
  const records: RecordLine[] = [];
  const reader = createSavedLogReader({ latest, onRecord: (record) => records.push(record) });
  for (const [index, line] of lines.entries()) reader.take(Buffer.from(line).toString('latin1'), index + 1);
  reader.finish();
  return { records, counts: reader.counts };
}

const texts = (lines: readonly string[]): string[] => read(lines).records.map(({ text }) => text);

const recordLines = [klog('"Failed" err=<'), '\texit status 2: é', '\t', ' > ipFamily="IPv4"'];

test('lines are joined, numbered by the first, and decoded', () => {
  const lines = [...recordLines, klog('"Sync failed"'), felix, '\tmore', 'panic: (*logrus.Entry) 0x1', 'bird: BGP: x'];
  expect(read(lines).records.map(({ number, text }) => [number, text])).toStrictEqual([
    [1, recordLines.join('\n')],
    [5, klog('"Sync failed"')],
    [6, `${felix}\n\tmore`],
    [8, 'panic: (*logrus.Entry) 0x1'],
    [9, 'bird: BGP: x'],
  ]);
});

test.each(tables.times)('time: %s', (_, line, time) => {
  const [first] = read([line]).records;
  expect(first?.time === undefined ? undefined : new Date(first.time).toISOString()).toBe(time);
});

test("prefixes that kubectl added are removed from each line, and so are editors' byte order mark and line ends", () => {
  const stamp = '2026-11-21T12:00:00.123456789Z ';
  expect(texts(recordLines.map((line) => stamp + line))).toStrictEqual([recordLines.join('\n')]);
  expect(texts(recordLines.map((line) => `[pod/a/b] ${stamp}${line}`))).toStrictEqual([recordLines.join('\n')]);
  expect(texts(recordLines.map((line, index) => `${index === 0 ? '\uFEFF' : ''}${line}\r`))).toStrictEqual([
    recordLines.join('\n'),
  ]);
});

const physicalTexts = [klog('"Failed" err=<'), klog('"x"'), '\ta', '    b', ')', '', ' > a="b"', ' > rules=<', felix];
const anyText = fc.constantFrom(...physicalTexts, '{"ts":1}', 'bird: x');

test("Docker's log is read", () => {
  expect(texts([docker(klog('"é" err=<')), docker('\tb'), docker('bird: x')])).toStrictEqual([
    `${klog('"é" err=<')}\n\tb`,
    'bird: x',
  ]);
});

test('a line of another kind is left as it is', () => {
  const { records, counts } = read([cri('stderr', klog('"a" err=<')), '\tb', cri('stderr', '\tc')]);
  expect(records.map(({ text, time }) => [text, time === undefined])).toStrictEqual([
    ['\tb', true],
    [`${klog('"a" err=<')}\n\tc`, false],
  ]);
  expect(counts.unreadable).toBe(1);
});

test('gives the same result as the source that follows such a log', () => {
  const line = fc.record({
    stream: fc.constantFrom('stdout' as const, 'stderr' as const),
    partial: fc.boolean(),
    text: anyText,
  });
  forAll([fc.array(line, { maxLength: 40 })], { numRuns: 500 }, (physical: PhysicalLine[]) => {
    const live = join(physical);
    live.read(Infinity);
    live.finish();
    const saved = texts(
      physical.map(({ stream, partial, text: printed }) => cri(stream ?? '', printed, partial ? 'P' : 'F')),
    );
    expect(saved).toStrictEqual(live.records.map(({ text: printed }) => printed));
  });
});

test('joins raw text like the reference', () => {
  forAll([fc.array(anyText, { maxLength: 40 })], { numRuns: 500 }, (lines) => {
    const physical = lines.map((each) => ({ stream: 'stdout' as const, partial: false, text: each }));
    expect(read(lines).records.map(({ text: printed, number }) => ({ number, text: printed }))).toStrictEqual(
      joinedByTheBook(physical),
    );
  });
});

test('records are handed over as soon as they are complete', () => {
  const seen: number[] = [];
  const reader = createSavedLogReader({ latest, onRecord: ({ number }) => seen.push(number) });
  reader.take(klog('"a"'), 1);
  expect(seen).toStrictEqual([]);
  reader.take(klog('"b"'), 2);
  expect(seen).toStrictEqual([1]);
  reader.finish();
  expect(seen).toStrictEqual([1, 2]);
});

test.each(tables.ofPrograms)('a log counts as that of programs in a container: %s', (_, lines) => {
  expect(isProgramLog(`${lines.join('\n')}\n`)).toBe(true);
});

test.each(tables.ofOthers)('a log does not count as that of programs in a container: %s', (_, lines) => {
  expect(isProgramLog(`${lines.join('\n')}\n`)).toBe(false);
});

test('the samples are recognized', () => {
  const folder = new URL('../../../../samples/', import.meta.url);
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  const ofPrograms = logs.filter((name) => isProgramLog(readFileSync(new URL(name, folder), 'latin1')));
  expect(logs.length - ofPrograms.length).toBeGreaterThan(10);
  expect(
    ofPrograms.filter((name) => !/^(?:kube-(?:proxy|network-policies)|calico|bgp|felix)/.test(name)),
  ).toStrictEqual([]);
});

test('only the first 64 KiB decide which kind a log is', () => {
  expect(isProgramLog(`${'x\n'.repeat(40_000)}${klog('x')}`)).toBe(false);
});

test('any lines are read once each, without an error', () => {
  const line = fc
    .oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom(
          '2026-11-21T12:00:00Z ',
          'stderr F ',
          'stdout P ',
          klog(''),
          felix,
          '\t',
          ' >',
          '{"ts":1',
          '\r',
          '[pod/a/b] ',
        ),
      }),
    )
    .map((text) => text.replaceAll('\n', ''));
  forAll([fc.array(line, { maxLength: 20 })], { numRuns: 300 }, (lines) => {
    isProgramLog(lines.join('\n'));
    const { records } = read(lines);
    expect(new Set(records.map(({ number }) => number)).size).toBe(records.length);
    expect(lines.length === 0 ? 0 : records.length).toBeLessThanOrEqual(lines.length);
    expect(records.length > 0).toBe(lines.length > 0);
  });
});

test.each<[ReturnType<typeof kindOfLine>, string[]]>(tables.kinds)('a line belongs to %s', (kind, given) => {
  expect(given.filter((each) => kindOfLine(each) !== kind)).toEqual([]);
});
