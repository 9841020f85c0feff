import { expect, test } from 'vitest';
import { createKnownLines } from '../../../src/sources/repeats/known-lines.ts';

test.for([
  ['of the text', 'node-a kernel: ', 'drop ID=4: IN=eth0 OUT= LEN=60 ', true],
  // The ID of the prefix would pass for that of the packet.
  ['of the envelope', 'IN=a OUT=b ', 'drop ID=4: IN=eth0 OUT= LEN=60 ', false],
] as const)('a line whose first IN= and OUT= are those %s', ([, envelope, text, isKept]) => {
  const line = `${envelope}${text}`;
  const bytes = Buffer.from(line);
  const place = { bytes, start: 0, text: envelope.length, header: line.indexOf('IN='), end: bytes.length };
  expect(createKnownLines(1).keep(0, place, -1)).toBe(isKept);
});
