import { expect, test } from 'vitest';
import { createKnownLines } from '../../../../src/read/sources/repeats/repeated-lines.ts';

test.for([
  ['of the text', 'node-a kernel: ', 'drop ID=4: IN=eth0 OUT= LEN=60 ', true],
  // The ID in the prefix could be taken for the packet's.
  ['of the envelope', 'IN=a OUT=b ', 'drop ID=4: IN=eth0 OUT= LEN=60 ', false],
] as const)('a line whose first IN= and OUT= are those %s', ([, envelope, text, isKept]) => {
  const line = `${envelope}${text}`;
  const bytes = Buffer.from(line);
  const place = { bytes, start: 0, text: envelope.length, header: line.indexOf('IN='), end: bytes.length };
  expect(createKnownLines(1).keep(0, place, -1)).toBe(isKept);
});

const learned =
  'node-a kernel: [12345.678901] drop: IN=eth0 OUT=cali1 SRC=10.65.1.4 DST=10.65.2.9 LEN=60 TTL=63 ID=1 PROTO=TCP SPT=40112 DPT=443 SEQ=1 ACK=0 WINDOW=64240 SYN';

test.each<[string, boolean, (line: string) => string]>([
  ['itself', true, (line) => line],
  [
    'other numbers of what varies',
    true,
    (line) =>
      line
        .replace('12345.678901', '99999.000001')
        .replace('LEN=60', 'LEN=1500')
        .replace('TTL=63', 'TTL=1')
        .replace('ID=1 ', 'ID=4294967295 ')
        .replace('SEQ=1', 'SEQ=4242')
        .replace('ACK=0', 'ACK=7')
        .replace('WINDOW=64240', 'WINDOW=0'),
  ],
  ['the least source port of a client', true, (line) => line.replace('SPT=40112', 'SPT=32768')],
  ['the last source port', true, (line) => line.replace('SPT=40112', 'SPT=65535')],
  ['a source port that is no client’s', false, (line) => line.replace('SPT=40112', 'SPT=32767')],
  ['a source port past the last', false, (line) => line.replace('SPT=40112', 'SPT=65536')],
  ['another port', false, (line) => line.replace('DPT=443', 'DPT=444')],
  ['another address', false, (line) => line.replace('10.65.2.9', '10.65.2.8')],
  ['another flag', false, (line) => line.replace('SYN', 'RST')],
  ['another host', false, (line) => line.replace('node-a', 'node-b')],
  ['another prefix', false, (line) => line.replace('drop', 'pass')],
  ['a length of eleven digits', false, (line) => line.replace('LEN=60', 'LEN=12345678901')],
  ['a length of no digits', false, (line) => line.replace('LEN=60', 'LEN=')],
  ['a length with a letter', false, (line) => line.replace('LEN=60', 'LEN=6O')],
  ['an end before its own', false, (line) => line.slice(0, -1)],
  ['more behind it', false, (line) => `${line} URGP=0`],
])('a line is recognized by its bytes: %s: %s', (_, isKnown, change) => {
  const lines = createKnownLines(2);
  const bytes = Buffer.from(learned);
  const [text, header, end] = [learned.indexOf('drop'), learned.indexOf('IN='), bytes.length];
  // It was not learned at this place first.
  expect(lines.keep(1, { bytes, start: 0, text, header, end }, 32_768)).toBe(true);
  const before = 'the line before it\n';
  const came = Buffer.from(`${before}${change(learned)}`);
  const hash = lines.hashOf(came, came.indexOf('IN='), came.length);
  expect(lines.isAt(1, came, before.length, came.length)).toBe(isKnown);
  if (isKnown) expect(hash).toBe(lines.hashOf(bytes, header, end));
});
