import { expect, test } from 'vitest';
import { join, type Joining, type PhysicalLine } from './joining.ts';

const tables: { records: [string, string[][]][] } = {
  // Lines of containers: a title, and the lines of each record.
  records: [
    [
      'klog as it is printed',
      [
        [
          'E1121 12:00:00.000000       1 proxier.go:1564] "Failed to execute iptables-restore" err=<',
          '\texit status 2: Ignoring deprecated --wait-interval option.',
          '\t',
          '\tError occurred at line: 177',
          ' > ipFamily="IPv4"',
        ],
        ['E1121 12:00:00.000000       1 proxier.go:1564] "Sync failed"'],
      ],
    ],
    [
      'klog as log viewers deliver it',
      [
        [
          'E1121 12:00:00.000000       1 proxier.go:1564] "Failed" err=',
          '    exit status 2:',
          "    iptables-restore v1.8.8 (legacy): Couldn't",
          ' > ipFamily="IPv4"',
        ],
      ],
    ],
    [
      'klog, oldest form',
      [
        ['E1121 12:00:00.000000       1 proxier.go:1564] Failed: exit status 1 (iptables-restore: line 7 failed', ')'],
        ['E1121 12:00:00.000000       1 proxier.go:1564] next'],
      ],
    ],
    [
      'klog without indentation',
      [
        [
          "E1121 12:00:00.000000       1 proxier.go:1564] exit status 2 (Bad argument `KUBE-SVC-X'",
          'Error occurred at line: 33',
        ],
      ],
    ],
    [
      'klog that lost the space before its thread',
      [
        ['E1012 13:47:04.628717268531 proxier.go:1447] "Failed" err=‹exit status 4:', "Can't lock"],
        ['E1121 12:00:00.000000       1 proxier.go:1564] next'],
      ],
    ],
    [
      'klog with two values of several lines',
      [['E1121 12:00:00.000000       1 proxier.go:1564] "x" err=<', '\ta', ' > rules=<', '\tb', ' >'], ['on its own']],
    ],
    [
      'klog that is closed, with nothing joined to it',
      [['E1121 12:00:00.000000       1 proxier.go:1564] "x" err=<', '\ta', ' > b="c"'], ['\tlate']],
    ],
    [
      'felix',
      [
        ['2026-11-21 12:00:00.000 [WARNING][56] felix/table.go 654: x'],
        ['2026-11-21 12:00:00.000 [WARNING][56] felix/table.go 654: x y', '\tindented'],
        ['panic: (*logrus.Entry) 0xc0'],
      ],
    ],
    ['JSON', [['{"ts":1}'], ['{"ts":2}'], ['plain']]],
    ['logrus without a terminal', [['time="2026-11-21T12:00:00Z" level=info'], ['plain']]],
    ['bird', [['bird: Mesh: Connecting'], ['bird6: Mesh: Connecting'], ['2016-06-15_07:05:27.75862 bird: device1']]],
    ['JSON after klog', [['E1121 12:00:00.000000       1 proxier.go:1564] x'], ['{"ts":1}']]],
    [
      'felix after klog',
      [
        ['E1121 12:00:00.000000       1 proxier.go:1564] x'],
        ['2026-11-21 12:00:00.000 [WARNING][56] felix/table.go 654: x'],
      ],
    ],
    ['bird after klog', [['E1121 12:00:00.000000       1 proxier.go:1564] x'], ['bird: y']]],
    ['text that only mentions klog', [['see E1121 12:00:00.000000       1 x.go:1] y'], ['next']]],
  ],
};

const klog = (message: string): string => `E1121 12:00:00.000000       1 proxier.go:1564] ${message}`;
const felix = '2026-11-21 12:00:00.000 [WARNING][56] felix/table.go 654: x';

/** `out` and `err` stand for the streams; a trailing `+` marks a part of a line. */
function physical(...lines: readonly (readonly ['out' | 'err' | 'out+' | 'err+' | 'none', string])[]): PhysicalLine[] {
  return lines.map(([where, text]) => ({
    stream: where === 'none' ? undefined : where.startsWith('out') ? 'stdout' : 'stderr',
    partial: where.endsWith('+'),
    text,
  }));
}

const errors = (...texts: string[]): PhysicalLine[] => physical(...texts.map((text) => ['err', text] as const));

const kib = (count: number): string => '\t'.padEnd(count * 1024, 'x');
const parts = (count: number): ['err+', string][] => Array.from({ length: count }, () => ['err+', kib(10)]);

function readAll(lines: readonly PhysicalLine[]): Joining {
  const joining = join(lines);
  joining.read(Infinity);
  return joining;
}

const texts = (joining: Joining): string[] => joining.records.map(({ text }) => text);

test.each<[string, string[][]]>(tables.records)('lines are joined into records: %s', (_, records) => {
  const joining = readAll(errors(...records.flat()));
  joining.finish();
  expect(texts(joining)).toStrictEqual(records.map((lines) => lines.join('\n')));
});

test('streams are not joined with each other, and the records of each stay in order', () => {
  const joining = readAll(
    physical(
      ['err', klog('a err=<')],
      ['out', felix],
      ['out', '\tmore of felix'],
      ['none', 'by hand'],
      ['err', '\tmore of a'],
      ['out', felix],
      ['err', ' > b="c"'],
    ),
  );
  joining.finish();
  expect(joining.records).toMatchObject([
    { time: undefined, text: 'by hand', number: 4 },
    { text: `${felix}\n\tmore of felix`, number: 2 },
    { text: `${klog('a err=<')}\n\tmore of a\n > b="c"`, number: 1 },
    { text: felix, number: 6 },
  ]);
  expect(joining.counts.unreadable).toBe(1);
});

const others = (count: number) => Array.from({ length: count }, () => ['out', '{'] as const);

test('a record is delivered when the other stream is half a second ahead of its last line', () => {
  const joining = readAll(
    physical(['err', klog('x err=<')], ...others(400), ['err', '\ta'], ...others(400), ['err', '\tb'], ...others(502)),
  );
  const record = joining.records.findIndex(({ text }) => text === `${klog('x err=<')}\n\ta\n\tb`);
  expect(record).toBe(1300);
});

test('a line without an end is delivered when the other stream is five seconds ahead', () => {
  const joining = readAll(physical(['err+', klog('x')], ...Array.from({ length: 5002 }, () => ['out', '{'] as const)));
  expect(joining.records.findIndex(({ text }) => text === klog('x'))).toBe(5000);
  expect(joining.counts.dangling).toBe(1);
});

test('a header in several parts of a line is recognized', () => {
  const joining = readAll(
    physical(['err+', klog('').slice(0, 9)], ['err+', ''], ['err', klog('x').slice(9)], ['err', 'y']),
  );
  joining.finish();
  expect(texts(joining)).toStrictEqual([`${klog('x')}\ny`]);
});

test('a character that is split between two parts of a line is decoded', () => {
  const bytes = Buffer.from('é').toString('latin1');
  const joining = readAll(physical(['out+', `{${bytes.charAt(0)}`], ['out', bytes.charAt(1)]));
  joining.finish();
  expect(texts(joining)).toStrictEqual(['{é']);
});

test('a record is complete after half a second without further lines', () => {
  const joining = readAll(errors(klog('x'), 'y'));
  joining.time.advance(499);
  expect(texts(joining)).toStrictEqual([]);
  joining.time.advance(1);
  expect(texts(joining)).toStrictEqual([`${klog('x')}\ny`]);
  expect(joining.time.pending).toBe(0);
});

test('each further line gives a record another half second', () => {
  const joining = join(errors(klog('x'), 'a', 'b'));
  for (let i = 0; i < 3; i++) {
    joining.read(1);
    joining.time.advance(400);
  }
  expect(texts(joining)).toStrictEqual([]);
  joining.time.advance(100);
  expect(texts(joining)).toStrictEqual([`${klog('x')}\na\nb`]);
});

test('the rest of a line is awaited for five seconds', () => {
  const joining = readAll(physical(['err', klog('x')], ['err+', klog('y')]));
  joining.time.advance(4999);
  expect(joining.records).toHaveLength(0);
  joining.time.advance(1);
  expect(texts(joining)).toStrictEqual([klog('x'), klog('y')]);
  expect(joining.counts.dangling).toBe(1);
});

test('the position contains the waiting records, and not the delivered ones', () => {
  const joining = readAll(physical(['err', 'plain'], ['out', felix], ['err', 'plain']));
  expect(joining.position).toMatchObject({ stdout: { open: { line: { text: felix } } } });
  joining.time.advance(500);
  expect(joining.position).toBeNull();
});

const header = klog('err=<');
const limit = 64 * 1024;

test.each<[string, PhysicalLine[]]>([
  ['in several lines', errors(header, ...Array<string>(9).fill(kib(10)), 'more', klog('next'))],
  ['in one line with parts', physical(['err+', header], ...parts(9), ['err', ''], ['err', klog('next')])],
  [
    'in a line with parts, after the header',
    physical(['err', header], ...parts(8), ['err', ''], ['err', klog('next')]),
  ],
  ['with a closing line after the limit', errors(header, kib(40), kib(40), 'more', ' > a="b"', 'next')],
])('a record %s is cut at 64 KiB, and its rest is skipped', (_, lines) => {
  const joining = readAll(lines);
  joining.finish();
  expect(joining.records).toHaveLength(2);
  expect(joining.records[0]?.text).toHaveLength(limit);
  expect(joining.counts).toMatchObject({ cut: 1, dangling: 0 });
});

test('of a record that is not klog, only indented lines are skipped', () => {
  const joining = readAll(errors('plain', kib(40), kib(40), '\tmore', 'next', 'last'));
  joining.finish();
  expect(joining.records.map(({ text }) => text.slice(0, 5))).toStrictEqual(['plain', 'next', 'last']);
});

const long = physical(
  ['out', felix],
  ['err', header],
  ['err', kib(40)],
  ['err+', kib(40)],
  ['err+', kib(40)],
  ['err', 'rest of the line'],
  ['out', '\tmore of felix'],
  ['err', 'rest of the record'],
  ['err', klog('next')],
  ['out', felix],
  ['err', klog('last')],
);

// After two or three lines, the record that is delivered before the restart is not yet too long.
test.each([0, 1, 4, 5, 6, 7, 8, 9, 10])(
  'after a restart at line %i, no record begins in the middle of another one',
  (count) => {
    const joining = join(long);
    joining.read(count);
    joining.time.advance(5000);
    joining.restart();
    joining.read(Infinity);
    joining.finish();
    expect(joining.records.filter(({ text }) => text.includes('rest of the record'))).toHaveLength(0);
    expect(joining.records.filter(({ text }) => text.startsWith('E1121')).map(({ text }) => text.length)).toStrictEqual(
      [limit, klog('next').length, klog('last').length],
    );
  },
);
