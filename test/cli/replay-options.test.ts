import { expect, test } from 'vitest';
import { type ReplayOptions, readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { UsageError } from '../../src/cli/options/command.ts';
import { asksForHelp, parsed } from './parsed.ts';
import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  /** Times are texts. */
  lines: [string[], Partial<Record<keyof ReplayOptions, unknown>>][];
  zones: [string, string][];
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

test.each(tables.lines)('the command line %j', (args, expected) => {
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
  'help is shown for the command line: the command line %j',
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
