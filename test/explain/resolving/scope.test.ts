import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { rangeOf, scopeOf } from '../../../src/explain/resolving/endpoints.ts';
import { forAll } from '../../for-all.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { ranges: [string, string][]; roles: [string, string][] };

test.each(tables.ranges)('%s is %s', (address, range) => {
  expect(scopeOf(address)).toMatchObject({ range, role: undefined });
});

test.each(tables.roles)('%s plays the part of %s', (address, role) => {
  expect(scopeOf(address).role).toBe(role);
});

test('IPv4 by hand agrees with ipaddr.js', () => {
  const ours: Record<string, string> = { linkLocal: 'link-local', carrierGradeNat: 'private' };
  const same = new Set(['multicast', 'broadcast', 'loopback', 'unspecified', 'private']);
  const edges = fc.constantFrom(
    ...'0 1 9 10 11 15 16 31 32 63 64 100 127 128 168 169 172 192 223 224 239 240 254 255'.split(' ').map(Number),
  );
  const octet = fc.oneof(edges, fc.nat({ max: 255 }));
  forAll([fc.tuple(octet, octet, octet, octet)], { numRuns: 5000 }, (octets) => {
    const range = ipaddr.IPv4.parse(octets.join('.')).range();
    expect(rangeOf(octets.join('.'))).toBe(ours[range] ?? (same.has(range) ? range : 'public'));
  });
});
