import { expect, test } from 'vitest';
import { parse } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { expectLines } from '../expected-file.ts';
import { lines } from './lines.ts';

const prefixes = createPrefixTable();

test('all fields read from the lines of the corpus are as expected', async () => {
  const read = lines.map(({ id, text }) => `${id}: ${JSON.stringify(parse(text, prefixes)) ?? 'nothing of ours'}`);
  await expectLines(import.meta.dirname, 'meanings.expected.txt', read);
});

test('every ICMP error in the corpus goes back to the sender of the packet that it is about', () => {
  const errors = lines.map(({ text }) => parse(text, prefixes)).filter((each) => each?.kind === 'packet' && each.inner);
  expect(errors).toHaveLength(6);
  for (const error of errors)
    expect(error).toMatchObject({ inner: { source: error?.kind === 'packet' && error.packet.destination } });
});

test('no two lines have the same name', () => {
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
});
