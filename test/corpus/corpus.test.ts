import { expect, test } from 'vitest';
import { parse } from '../../src/parsing/formats.ts';
import { createPrefixTable } from '../../src/parsing/prefixes.ts';
import { lines } from './lines.ts';

const prefixes = createPrefixTable();

test.each(lines)('$id', ({ text, expected }) => {
  const found = parse(text, prefixes);
  if (expected === undefined) expect(found).toBeUndefined();
  else for (const part of [expected].flat()) expect(found).toMatchObject(part);
});

test('no two lines have the same name', () => {
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
});
