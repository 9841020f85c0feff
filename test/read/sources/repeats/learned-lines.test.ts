import { expect, test } from 'vitest';
import { createRepeatedLines } from '../../../../src/read/sources/repeats/repeated-lines.ts';
import { line, nine } from '../../../builders.ts';

const text = 'drop: IN=eth0 OUT=cali1 SRC=10.65.1.4 DST=10.65.2.9 LEN=60 PROTO=TCP SPT=40112 DPT=443 SYN';
const stamped = `Nov 21 09:00:00 node-b kernel: ${text}`;

/**
 * Reads lines as a log is read: each line that is not counted becomes text, with the previous line's time if it has
 * none.
 */
function countedOf(lines: readonly string[]): boolean[] {
  const repeated = createRepeatedLines({
    timeOf: () => nine,
    onTaken: () => {},
    last: () => ({ sourcePortsFrom: 32_768 }),
    again: () => true,
    flush: () => {},
  });
  return lines.map((each) => {
    const bytes = Buffer.from(each);
    const isCounted = repeated.take(bytes, 0, bytes.length, each.indexOf('IN='));
    if (!isCounted) repeated.learn(line({ text, time: nine }));
    return isCounted;
  });
}

test('a line with a stamp is counted without its text after it has come twice', () => {
  expect(countedOf([stamped, stamped, stamped])).toEqual([false, false, true]);
});

test('the same text without a stamp does not replace the learned line, because it has no host', () => {
  expect(countedOf([stamped, text, stamped, stamped])).toEqual([false, false, false, true]);
});
