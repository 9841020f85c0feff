import { expect, test } from 'vitest';
import { icmpName, isPacketTooBig } from '../../../src/explain/drops/names.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  lists: [protocol: string, type: number | undefined, first: number, names: string][];
  tooBig: [string, number | undefined, number | undefined, boolean][];
};

const lists: [protocol: string, type: number | undefined, first: number, names: string][] = tables.lists;

test.each(lists)('%s, of type %j, from %d on: %s', (protocol, type, first, names) => {
  const found = names.split(', ').map((_, index) => {
    const number = first + index;
    return type === undefined ? icmpName(protocol, number, undefined) : icmpName(protocol, type, number);
  });
  expect(found.join(', ')).toBe(names);
});

test.each(tables.tooBig)('%s %j.%j asks for smaller packets: %j', (protocol, type, code, expected) => {
  expect(isPacketTooBig(protocol, type, code)).toBe(expected);
});
