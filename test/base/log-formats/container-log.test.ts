import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText, readContainerRecord } from '../../../src/base/log-formats/container-log.ts';
import { forAll } from '../../for-all.ts';

/** Lines of the logs of containers. */
const tables: { others: string[]; docker: [string, object][] } = {
  // Lines that have neither the CRI's nor Docker's format.
  others: [
    '',
    'I1121 10:00:00.000000       1 proxier.go:1] plain klog',
    '2026-11-21 10:00:00.000 [INFO][77] felix/x.go 1: no envelope',
    '2026-11-21T10:00:00Z stdlog F no such stream',
    '2026-11-21T10:00:00 stderr F no zone',
    '2026-13-21T10:00:00Z stderr F no such month',
    '2026-11-21T25:00:00Z stderr F no such hour',
    '2026-11-21T10:00:00Z stderr',
    String.raw`{"log":"x\n","stream":"stderr"}`,
    '{"log":1,"stream":"stderr","time":"2026-11-21T10:00:00Z"}',
    String.raw`{"log":"x\n","stream":"stdin","time":"2026-11-21T10:00:00Z"}`,
    '{"log":"cut off',
    '{"msg":"a log of its own"}',
  ],
  // Docker's lines, and the fields read from them in addition to stream and time.
  docker: [
    [String.raw`{"log":"some text\n","stream":"stderr","time":"2026-11-21T10:00:00.25Z"}`, { text: 'some text' }],
    ['{"log":"no end","stream":"stderr","time":"2026-11-21T10:00:00.25Z"}', { text: 'no end', partial: true }],
    [String.raw`{"log":"\n","stream":"stderr","time":"2026-11-21T10:00:00.25Z"}`, { text: '' }],
    [
      String.raw`{"log":"\ta \u003c b \u00e9\n","stream":"stderr","time":"2026-11-21T10:00:00.25Z"}`,
      { text: '\ta < b Ã©' },
    ],
    [String.raw`{"time":"2026-11-21T10:00:00.25Z","attrs":{"a":1},"stream":"stderr","log":"Ã©\n"}`, { text: 'Ã©' }],
  ],
};

const ten = Date.UTC(2026, 10, 21, 10);
const stderr = { stream: 'stderr', partial: false };

test.each([
  ['2026-11-21T10:00:00.123456789Z stderr F some text', { ...stderr, time: ten + 123.456789, text: 'some text' }],
  ['2026-11-21T12:00:00.5+02:00 stdout F x', { ...stderr, stream: 'stdout', time: ten + 500, text: 'x' }],
  ['2026-11-21T06:30:00-03:30 stdout P x', { stream: 'stdout', partial: true, time: ten, text: 'x' }],
  ['2026-11-21T10:00:00Z stderr P:x:y half', { ...stderr, partial: true, time: ten, text: 'half' }],
  ['2026-11-21T10:00:00Z stderr F:P  > indented', { ...stderr, time: ten, text: ' > indented' }],
  ['2026-11-21T10:00:00Z stderr F \ttab ', { ...stderr, time: ten, text: '\ttab ' }],
  ['2026-11-21T10:00:00Z stderr F ', { ...stderr, time: ten, text: '' }],
  ['2026-11-21T10:00:00Z stderr F', { ...stderr, time: ten, text: '' }],
])('CRI: %s', (line, record) => {
  expect(readContainerRecord(line)).toStrictEqual(record);
});

test.each(tables.docker)("Docker's JSON: %s", (line, record) => {
  expect(readContainerRecord(line)).toStrictEqual({ ...stderr, time: ten + 250, ...record });
});

test.each(tables.others)('a line that is neither CRI nor Docker: %s', (line) => {
  expect(readContainerRecord(line)).toBeUndefined();
});

test('any text is read back from either format byte for byte and as text', () => {
  forAll([fc.string({ unit: 'grapheme' })], {}, (text) => {
    const written = text.replaceAll('\n', ' ').toWellFormed();
    const bytes = Buffer.from(written).toString('latin1');
    const json = JSON.stringify({ log: `${written}\n`, stream: 'stdout', time: '2026-11-21T10:00:00Z' });
    const docker = readContainerRecord(Buffer.from(json).toString('latin1'));
    expect(docker?.text).toBe(bytes);
    expect(readContainerRecord(`2026-11-21T10:00:00Z stdout F ${bytes}`)).toStrictEqual(docker);
    expect(decodeText(bytes)).toBe(written);
  });
});

test('bytes that are not UTF-8 become U+FFFD', () => {
  expect(decodeText('caf\xe9 \xc3')).toBe('caf\ufffd \ufffd');
});

test('no line causes an exception', () => {
  const part = fc.constantFrom(
    '2026-11-21T10:00:00Z',
    ' ',
    'stderr',
    'F',
    'P',
    '{',
    '}',
    '"log":',
    '"x\\n"',
    ':',
    'null',
  );
  const bytes = fc.uint8Array().map((array) => Buffer.from(array).toString('latin1'));
  const line = fc.oneof(
    fc.array(part).map((parts) => parts.join('')),
    bytes,
  );
  fc.assert(fc.property(line, (text) => void readContainerRecord(text)));
});
