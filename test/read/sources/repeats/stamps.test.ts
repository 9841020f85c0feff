import { expect, test } from 'vitest';
import { createStamps } from '../../../../src/read/sources/repeats/line-bytes.ts';

/** Reads each line with the same stamps, after bytes that are not looked at, and notes which text was asked about. */
function readAll(lines: readonly string[]) {
  const asked: string[] = [];
  const stamps = createStamps((text) => {
    asked.push(text);
    return 0;
  });
  const times = lines.map((line) => {
    const bytes = Buffer.from(`before${line}`);
    const time = stamps.read(bytes, 'before'.length, bytes.length);
    return time === undefined ? undefined : [time, stamps.length];
  });
  return { asked, times };
}

const minute = '2026-11-21T12:00:';

test.each<[string, number, number]>([
  ['Nov 21 12:00:00 node-a', 0, 16],
  [`${minute}00Z IN=eth0`, 0, 21],
  [`${minute}59Z IN=eth0`, 59_000, 21],
  [`${minute}07+02:00 IN=`, 7000, 26],
  [`${minute}07 IN=eth0`, 7000, 20],
  [`${minute}07.5Z IN=`, 7500, 23],
  [`${minute}07.123456789+02:00 IN=`, 7123.456789, 36],
  // At least four characters follow the minute: two digits, a zone and a space.
  [`${minute}09Z `, 9000, 21],
])('%j is %d ms, a stamp of %d bytes', (line, milliseconds, length) => {
  expect(readAll([line]).times).toEqual([[milliseconds, length]]);
});

test.each([
  ['shorter than any stamp', `${minute}09 `],
  ['a 60th second', `${minute}60Z IN=`],
  ['seconds of one digit', `${minute}7Z IN=eth0`],
  ['seconds before the digits', `${minute}/0Z IN=eth0`],
  ['seconds behind the digits', `${minute}0:Z IN=eth0`],
  ['tens behind the digits', `${minute}:0Z IN=eth0`],
  ['ones before the digits', `${minute}0/Z IN=eth0`],
  ['a point without digits', `${minute}07.Z IN=`],
  ['ten digits of a second', `${minute}07.1234567890Z IN=`],
  ['no space to its end', `${minute}07Z|IN`],
  ['a zone that is too long', `${minute}07+02:000 IN=`],
  ['no zone', `${minute}07x IN=eth0`],
  ['an end within its digits', `${minute}07.123`],
  ['no month', 'Nov_21 12:00:00 node-a'],
  ['no time of day', 'Nov 21_12:00:00 node-a'],
  ['no minute', 'Nov 21 12.00:00 node-a'],
  ['no second', 'Nov 21 12:00.00 node-a'],
  ['no space behind it', 'Nov 21 12:00:00_node-a'],
])('%s: returns nothing', (_, line) => {
  expect(readAll([line])).toEqual({ asked: [], times: [undefined] });
});

test('text is read once for each minute and zone, and once for each second without a year', () => {
  const lines = [
    `${minute}01Z IN=`,
    `${minute}02.5Z IN=`,
    `${minute}03+02:00 IN=`,
    `${minute}04+02:00 IN=`,
    '2026-11-21T12:01:05+02:00 IN=',
    'Nov 21 12:00:00 node-a',
    'Nov 21 12:00:00 node-b',
    'Nov 21 12:00:01 node-a',
  ];
  expect(readAll(lines).asked).toEqual([
    `${minute}00Z `,
    `${minute}00+02:00 `,
    '2026-11-21T12:01:00+02:00 ',
    'Nov 21 12:00:00 ',
    'Nov 21 12:00:01 ',
  ]);
});
