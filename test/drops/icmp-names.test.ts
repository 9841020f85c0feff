import { expect, test } from 'vitest';
import { icmpName, isPacketTooBig } from '../../src/drops/names.ts';
import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  lists: [protocol: string, type: number | undefined, first: number, names: string][];
};

const lists: [protocol: string, type: number | undefined, first: number, names: string][] = tables.lists;

test.each(lists)('%s, of type %j, from %d on: %s', (protocol, type, first, names) => {
  const found = names.split(', ').map((_, index) => {
    const number = first + index;
    return type === undefined ? icmpName(protocol, number, undefined) : icmpName(protocol, type, number);
  });
  expect(found.join(', ')).toBe(names);
});

test.each([
  ['ICMP', 3, 4, true],
  ['ICMP', 3, 3, false],
  ['ICMP', 2, 0, false],
  ['ICMPv6', 2, 0, true],
  ['ICMPv6', 3, 4, false],
  ['ICMP', undefined, undefined, false],
])('%s %j.%j asks for smaller packets: %j', (protocol, type, code, expected) => {
  expect(isPacketTooBig(protocol, type, code)).toBe(expected);
});
