import { expect, test } from 'vitest';
import { type ReplayOptions, readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { UsageError } from '../../src/cli/options/command.ts';
import { asksForHelp, parsed } from './parsed.ts';

const tables: {
  /** Times are given as texts. */
  lines: [string[], Partial<Record<keyof ReplayOptions, unknown>>][];
  zones: [string, string][];
} = {
  // Command lines of replay, run at 2026-11-22T08:00:00Z, and the options that are not the default.
  lines: [
    [['kern.log'], {}],
    [['a.log', 'b.log'], { logs: ['a.log', 'b.log'] }],
    [['-'], { logs: ['-'] }],
    [['--policies', 'a.yaml', '--policies=b.json', 'kern.log'], { policies: ['a.yaml', 'b.json'] }],
    [['--', '--quiet'], { logs: ['--quiet'] }],
    [['--pods', 'a.json', '--pods=b.json', 'kern.log'], { pods: ['a.json', 'b.json'] }],
    [['--pods', '-', 'kern.log'], { pods: ['-'] }],
    [['kern.log', '-o', 'json'], { output: 'json' }],
    [['kern.log', '--output', 'audit'], { output: 'audit' }],
    [
      ['kern.log', '-o', 'audit', '--audit-peers', 'redacted', '--audit-ipv4-prefix=24', '--audit-opt-out', 'true'],
      { output: 'audit', privacy: { peers: 'redacted', bits: { ipv4: 24, ipv6: 128 }, optOut: true } },
    ],
    [['kern.log', '--writes', '-o', 'json'], { writes: true, output: 'json' }],
    [['kern.log', '--node', 'node-a'], { node: 'node-a' }],
    [['kern.log', '--prefix', '=dropped'], { prefixes: [{ prefix: '', verdict: 'dropped' }] }],
    [
      ['kern.log', '--prefix', 'a=rejected', '--prefix', 'b=logged'],
      {
        prefixes: [
          { prefix: 'a', verdict: 'rejected' },
          { prefix: 'b', verdict: 'logged' },
        ],
      },
    ],
    [['kern.log', '--prefix', 'in=eth0 =accepted'], { prefixes: [{ prefix: 'in=eth0 ', verdict: 'accepted' }] }],
    [['kern.log', '--include-noise'], { includeNoise: true }],
    [['kern.log', '--now', '2026-11-21T20:00:00.5+02:00'], { now: '2026-11-21T18:00:00.5Z' }],
    [['kern.log', '--boot-time', '2026-11-21T00:00:00Z'], { bootTime: '2026-11-21T00:00:00Z' }],
    [['kern.log', '--since', '2026-11-21T20:00:00Z'], { since: '2026-11-21T20:00:00Z' }],
    [['kern.log', '--since', '90s'], { since: '2026-11-22T07:58:30Z' }],
    [
      ['kern.log', '--since', '2d', '--now', '2026-11-21T20:00:00Z'],
      { since: '2026-11-19T20:00:00Z', now: '2026-11-21T20:00:00Z' },
    ],
    [['kern.log', '-n', 'shop', '--pod', 'web-0'], { namespace: 'shop', pod: 'web-0' }],
    [['kern.log', '-o', 'wide', '--color=always'], { output: 'wide', color: 'always' }],
    [['kern.log', '-q'], { quiet: true }],
    [['--explain=-a line'], { explain: '-a line', logs: [] }],
  ],
  // Zones, and the time of a stamp in them.
  zones: [
    ['Europe/Berlin', '2026-07-01T10:00:00.000Z'],
    ['America/New_York', '2026-07-01T16:00:00.000Z'],
    ['Asia/Kolkata', '2026-07-01T06:30:00.000Z'],
    ['+02:00', '2026-07-01T10:00:00.000Z'],
    ['+0200', '2026-07-01T10:00:00.000Z'],
    ['+02', '2026-07-01T10:00:00.000Z'],
    ['-05:30', '2026-07-01T17:30:00.000Z'],
    ['UTC', '2026-07-01T12:00:00.000Z'],
  ],
};

const defaults: ReplayOptions = {
  pods: [],
  policies: [],
  logs: ['kern.log'],
  output: 'table',
  color: 'auto',
  namespace: undefined,
  pod: undefined,
  since: undefined,
  writes: false,
  explain: undefined,
  node: undefined,
  prefixes: [],
  includeNoise: false,
  now: undefined,
  zone: undefined,
  bootTime: undefined,
  quiet: false,
  privacy: { peers: 'shown', bits: { ipv4: 32, ipv6: 128 }, optOut: false },
};

const clock = Date.parse('2026-11-22T08:00:00Z');
const times = new Set(['now', 'since', 'bootTime']);

test.each(tables.lines)('the command line %j is refused', (args, expected) => {
  const given = Object.entries(expected).map(([key, value]) => [
    key,
    times.has(key) ? Date.parse(String(value)) : value,
  ]);
  expect(readReplayOptions(parsed('replay', ...args), { clock })).toStrictEqual({
    ...defaults,
    ...Object.fromEntries(given),
  });
});

test.each([[['--help']], [['-h']], [['--help', '-o', 'xml']], [['kern.log', '-h']]])(
  'help is shown for the command line %j',
  (args) => {
    expect(asksForHelp('replay', ...args)).toBe(true);
  },
);

test('a page is not written to a terminal', () => {
  expect(() => readReplayOptions(parsed('replay', 'kern.log', '-o', 'html'), { isTerminal: true })).toThrow(UsageError);
});

test.each(tables.zones)('noon of 1 July in the time zone %s', (zone, expected) => {
  const options = readReplayOptions(parsed('replay', 'kern.log', `--time-zone=${zone}`));
  expect(new Date(options.zone?.(2026, 6, 1, 12, 0, 0) ?? NaN).toISOString()).toBe(expected);
});
