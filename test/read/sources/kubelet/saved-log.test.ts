import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSavedLogReader, isProgramLog, kindOfLine } from '../../../../src/read/sources/kubelet/saved-log.ts';
import type { RecordLine } from '../../../../src/read/sources/records/joiner.ts';
import { join, joinedByTheBook, type PhysicalLine } from '../records/joining.ts';
import { forAll } from '../../../for-all.ts';
import { tablesOf } from '../../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  ofPrograms: [string, string[]][];
  ofOthers: [string, string[]][];
  kinds: [ReturnType<typeof kindOfLine>, string[]][];
  times: [string, string, string | undefined][];
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

test('prefixes that kubectl was asked to add are taken off each line, and the mark and line ends of editors', () => {
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

test('a line of something else stands for itself', () => {
  const { records, counts } = read([cri('stderr', klog('"a" err=<')), '\tb', cri('stderr', '\tc')]);
  expect(records.map(({ text, time }) => [text, time === undefined])).toStrictEqual([
    ['\tb', true],
    [`${klog('"a" err=<')}\n\tc`, false],
  ]);
  expect(counts.unreadable).toBe(1);
});

test('the same as the source that follows such a log makes of it', () => {
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

test('raw text is joined by the book', () => {
  forAll([fc.array(anyText, { maxLength: 40 })], { numRuns: 500 }, (lines) => {
    const physical = lines.map((each) => ({ stream: 'stdout' as const, partial: false, text: each }));
    expect(read(lines).records.map(({ text: printed, number }) => ({ number, text: printed }))).toStrictEqual(
      joinedByTheBook(physical),
    );
  });
});

test('records are handed over as soon as they are whole', () => {
  const seen: number[] = [];
  const reader = createSavedLogReader({ latest, onRecord: ({ number }) => seen.push(number) });
  reader.take(klog('"a"'), 1);
  expect(seen).toStrictEqual([]);
  reader.take(klog('"b"'), 2);
  expect(seen).toStrictEqual([1]);
  reader.finish();
  expect(seen).toStrictEqual([1, 2]);
});

test.each(tables.ofPrograms)('a log is recognised as that of programs in a container: %s', (_, lines) => {
  expect(isProgramLog(`${lines.join('\n')}\n`)).toBe(true);
});

test.each(tables.ofOthers)('a log is not taken for that of programs in a container: %s', (_, lines) => {
  expect(isProgramLog(`${lines.join('\n')}\n`)).toBe(false);
});

test('the samples are recognised', () => {
  const folder = new URL('../../../../samples/', import.meta.url);
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  const ofPrograms = logs.filter((name) => isProgramLog(readFileSync(new URL(name, folder), 'latin1')));
  expect(logs.length - ofPrograms.length).toBeGreaterThan(10);
  expect(
    ofPrograms.filter((name) => !/^(?:kube-(?:proxy|network-policies)|calico|bgp|felix)/.test(name)),
  ).toStrictEqual([]);
});

test('only the first 64 KiB show which kind a log is', () => {
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

test.each<[ReturnType<typeof kindOfLine>, string[]]>(tables.kinds)('a line is of %s', (kind, given) => {
  expect(given.filter((each) => kindOfLine(each) !== kind)).toEqual([]);
});
