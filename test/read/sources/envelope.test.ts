import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../../src/read/sources/envelopes/read-envelope.ts';
import { expectLines } from '../../expected-file.ts';
import { forAll } from '../../for-all.ts';

const tables: { stamps: string[]; messages: string[] } = {
  // Parts of envelopes, from which generated tests make hostile lines.
  stamps: [
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
    String.raw`\xff`,
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
    '\u0000',
    'ÿ',
    ' ',
  ],
  // Messages that begin with a prefix which looks like a host or a program.
  messages: [
    'calico-drop: IN=eth0 OUT=',
    '[UFW BLOCK] IN=eth0 OUT=',
    'IN=eth0 OUT=',
    'my-drop IN=eth0 OUT=',
    'kube-drop IN=eth0 OUT=',
    'kernel-drop[1]: IN=eth0 OUT=',
  ],
};

const latest = Date.parse('2026-11-21T20:00:00Z');
const boot = Date.parse('2026-11-21T00:00:00Z');

/** Lines have one character for each byte, as they come from the scanner. */
function read(line: string) {
  const clock = createClock({ latest, boot });
  const { text, time, host, origin, program, layers } = readEnvelope(Buffer.from(line).toString('latin1'), clock);
  return { time: time === undefined ? undefined : new Date(time).toISOString(), host, origin, program, layers, text };
}

const packet = 'calico-drop: IN=eth0 OUT=cali1c446d93d10 SRC=10.0.0.1 DST=10.0.0.2';
const time = '2026-11-21T03:42:11.000Z';

test('all fields read from lines with envelopes are as expected', async () => {
  // The file also has the lines to read.
  const rows = readFileSync(join(import.meta.dirname, 'envelopes.expected.txt'), 'utf8')
    .split('\n')
    .slice(0, -1);
  const said = rows.flatMap((row) => {
    if (row.startsWith('    {"')) return [];
    if (row.startsWith('# ')) return [row];
    return [row, `    ${JSON.stringify(read(row.replaceAll('$PACKET', packet))).replaceAll(packet, '$PACKET')}`];
  });
  await expectLines(import.meta.dirname, 'envelopes.expected.txt', said);
});

test('an empty line has no envelope', () => {
  expect(read('')).toMatchObject({ text: '', time: undefined, origin: 'unknown' });
});

// If nothing names a host, the message's first word is the prefix, which decides the verdict.

const messages = tables.messages;

test.each(messages)('a LOG prefix is not a host after an uptime, a kmsg record, a container runtime: %s', (text) => {
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

test.each(messages)('a LOG prefix is not a host after a host: %s', (text) => {
  for (const before of ['Nov 21 03:42:11 node-a kernel: ', '2026-11-21T03:42:11Z node-a kernel: [  132.500000] ']) {
    expect({ before, ...read(before + text) }).toMatchObject({ before, text, host: 'node-a', origin: 'kernel' });
  }
});

test.each(messages.slice(0, 3))('a LOG prefix is not a host after a stamp alone: %s', (text) => {
  for (const before of ['Nov 21 03:42:11 ', '2026-11-21T03:42:11Z ', '1795232531.836530 '])
    expect({ before, ...read(before + text) }).toMatchObject({ before, text, host: undefined });
});

test('an exact time after a guessed one counts as exact', () => {
  const clock = createClock({ latest });
  const { time: found, timeIsExact } = readEnvelope(`[  132.500000] Nov 21 03:42:11 node-a kernel: ${packet}`, clock);
  expect([found, timeIsExact]).toStrictEqual([Date.parse(time), true]);
});

test('guessed times are marked as guessed', () => {
  expect(readEnvelope(`[  132.500000] ${packet}`, createClock({ latest }))).toMatchObject({
    time: latest,
    timeIsExact: false,
  });
});

test('lines of one clock do not affect each other', () => {
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
    expect(layers.length).toBeLessThanOrEqual(12);
    expect(text.length).toBeGreaterThan(line.length / 2);
  });

  test('JSON in JSON ends after a few layers', () => {
    let line = packet;
    for (let i = 0; i < 13; i++) line = JSON.stringify({ log: line });
    expect(readEnvelope(line, createClock({ latest })).text).toMatch(/^\{"log":/);
  });

  const hostileLine = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc
      .array(fc.oneof(fc.constantFrom(...tables.stamps), fc.string({ maxLength: 5 })), { maxLength: 12 })
      .map((parts) => parts.join('')),
    fc
      .object({
        key: fc.constantFrom('MESSAGE', 'log', 'message', 'time', 'host', '_TRANSPORT', '__REALTIME_TIMESTAMP'),
      })
      .map((object) => JSON.stringify(object)),
  );

  test('never throw, and always give a usable answer', () => {
    forAll([hostileLine], { numRuns: 5000 }, (hostile) => {
      const { text, time: found, host, origin, layers } = readEnvelope(hostile, createClock({ latest }));
      expect(typeof text).toBe('string');
      expect(found === undefined || Number.isFinite(found)).toBe(true);
      // Times are shown and stored as dates, which end 100 million days from 1970.
      if (found !== undefined) expect(() => new Date(found).toISOString()).not.toThrow();
      expect(host).not.toBe('');
      expect(['kernel', 'userspace', 'pod', 'unknown']).toContain(origin);
      // Eight rounds: a stamp and the tag after it count as one.
      expect(layers.length).toBeLessThanOrEqual(16);
    });
  });
});

test('a kernel record that journald received late has the time at which the kernel wrote it', () => {
  const stamps = { __REALTIME_TIMESTAMP: '1795000000000000', __MONOTONIC_TIMESTAMP: '90000000' };
  const record = { MESSAGE: 'x', _TRANSPORT: 'kernel', SYSLOG_IDENTIFIER: 'kernel', ...stamps };
  const timeOf = (more: object): number | undefined =>
    readEnvelope(JSON.stringify({ ...record, ...more }), createClock({ latest: 0 })).time;
  expect(timeOf({ _SOURCE_MONOTONIC_TIMESTAMP: '30000000' })).toBe(1_795_000_000_000 - 60_000);
  expect(timeOf({ _SOURCE_MONOTONIC_TIMESTAMP: '90000001' })).toBe(1_795_000_000_000);
  expect(timeOf({})).toBe(1_795_000_000_000);
});

test("if the kernel's clock has drifted by minutes in a month, journald does not count as late", () => {
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
