import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import {
  type Address,
  contains,
  parseAddress,
  parseRange,
  type Range,
} from '../../../src/explain/policies/clauses/networks.ts';
import { forAll } from '../../for-all.ts';

const tables: { others: string[][] } = {
  // Texts that are not a range of addresses.
  others: [
    ['10.0.0.0'],
    ['10.0.0.0/33'],
    ['::/129'],
    ['10.0.0.0/08'],
    ['10.0.0/8'],
    ['10.0.0.0/'],
    ['/8'],
    ['10.0.0.0/-1'],
    ['fe80::%eth0/64'],
    ['010.0.0.0/8'],
  ],
};

/** The address with some bits changed, so that it is in the range or near it. */
const near = fc.tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128), fc.nat(127)).map(([text, bits, changed]) => {
  const address = ipaddr.parse(text);
  const bytes = address.toByteArray();
  const bit = changed % (bytes.length * 8);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (128 >> (bit & 7));
  return {
    first: address.toString(),
    bits: bits % (bytes.length * 8 + 1),
    other: ipaddr.fromByteArray(bytes).toString(),
  };
});

test('finds an address in a range exactly if ipaddr.js does', () => {
  const seen = new Set<boolean>();
  forAll([near], { numRuns: 2000 }, ({ first, bits, other }) => {
    const range = parseRange(`${first}/${bits}`) as Range;
    const expected = ipaddr.parse(other).match(ipaddr.parse(first), bits);
    seen.add(expected);
    expect(contains(range, parseAddress(other) as Address)).toBe(expected);
    expect(contains(range, parseAddress(first) as Address)).toBe(true);
  });
  expect(seen.size).toBe(2);
});

test.each(tables.others)('is not a range: %s', (text) => {
  expect(parseRange(text)).toBeUndefined();
});
