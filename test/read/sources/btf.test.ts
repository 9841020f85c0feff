import { expect, test } from 'vitest';
import { readBtf } from '../../../src/read/sources/tracefs/btf.ts';
import { btfOf } from './made-btf.ts';

const tables: { types: Parameters<typeof btfOf>[0] } = {
  // Types in the form of made-btf.ts.
  types: [
    { name: 'other', kind: 'struct', members: [['data', 'int', 64]] },
    { name: 'inner', kind: 'struct', members: [['number', 'int', 192]] },
    {
      name: '',
      kind: 'union',
      members: [
        ['head', 'int', 0],
        ['tail', 'int', 32],
      ],
    },
    { name: 'alias', kind: 'typedef', of: 'inner' },
    {
      name: 'outer',
      kind: 'struct',
      members: [
        ['first', 'int', 0],
        ['', 2, 128],
        ['ns', 'alias', 512],
      ],
    },
  ],
};

/**
 * Tests how the places of fields are read from the kernel's own description of its types. test/e2e/kernel-drops tests
 * it with real kernels.
 */

const btf = readBtf(btfOf(tables.types));

test('a field is where its structure says', () => {
  expect(btf.offsetOf('outer', 'first')).toBe(0);
  expect(btf.offsetOf('other', 'data')).toBe(8);
});

test('fields of unnamed members are found', () => {
  expect(btf.offsetOf('outer', 'tail')).toBe(20);
});

test('finds a field of a field, behind another name of its type', () => {
  expect(btf.offsetOf('outer', 'ns', 'number')).toBe(88);
});

test.each([
  ['none', 'first'],
  ['outer', 'none'],
  ['outer', 'first', 'number'],
] as const)('a missing field %s %s is an error', (structure, ...path) => {
  expect(() => btf.offsetOf(structure, ...(path as [string, ...string[]]))).toThrow(`the kernel's ${structure}`);
});

test('bytes that do not describe types are refused', () => {
  for (const data of [Buffer.alloc(0), Buffer.from('a file of another kind, longer than a header')])
    expect(() => readBtf(data)).toThrow('types');
});
