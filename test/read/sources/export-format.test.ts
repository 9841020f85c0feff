import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readFields } from '../../../src/read/sources/journald/export-format.ts';
import { forAll } from '../../for-all.ts';

type Field = [name: string, value: string];

const unused = ['__SEQNUM', '__SEQNUM_ID', '_BOOT_ID'];
const names = [
  'MESSAGE',
  '__CURSOR',
  '__REALTIME_TIMESTAMP',
  '_TRANSPORT',
  '_HOSTNAME',
  'SYSLOG_FACILITY',
  'SYSLOG_IDENTIFIER',
  '_SYSTEMD_UNIT',
  ...unused,
  // The name is as long as the right one, but different.
  'MESSAGF',
  '_HOSTNAMF',
  'X',
];
const bytes = fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value).toString('latin1'));
const values = fc.oneof(fc.constantFrom('', 'kernel', 'kernem', 'node-a', 'x'.repeat(65)), bytes);
const records = fc.array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 12 });

function exported([name, value]: Field): Buffer {
  if (/^[\x20-\x7e]*$/.test(value)) return Buffer.from(`${name}=${value}\n`, 'latin1');
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(value.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, Buffer.from(`${value}\n`, 'latin1')]);
}

function firstOfEach(fields: readonly Field[]): Record<string, string> {
  return Object.fromEntries(fields.toReversed().filter(([name]) => !unused.includes(name)));
}

test('consecutive records whose fields repeat or differ by a byte have the first value of each name, without unused names', () => {
  forAll([fc.array(records, { maxLength: 6 })], {}, (all) => {
    const parts = all.map((fields) => Buffer.concat([...fields.map(exported), Buffer.from('\n')]));
    const block = Buffer.concat(parts);
    let start = 0;
    const found = parts.map(({ length }) => readFields(block, start, (start += length)));
    expect(found).toStrictEqual(all.map(firstOfEach));
  });
});

test('text without a name is kept without one, to be shown', () => {
  const block = Buffer.from('no journal\n\n');
  expect(readFields(block, 0, block.length)).toStrictEqual({ '': 'no journal' });
});
