import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { rangeOf, scopeOf } from '../../../src/explain/resolving/endpoints.ts';
import { forAll } from '../../for-all.ts';

const tables: { ranges: [string, string][]; roles: [string, string][] } = {
  // Addresses and their ranges.
  ranges: [
    ['224.0.0.251', 'multicast'],
    ['ff02::fb', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['127.0.0.53', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.1', 'public'],
    ['192.168.0.1', 'private'],
    ['100.64.0.1', 'private'],
    ['fd00::1', 'private'],
    ['8.8.8.8', 'public'],
    ['203.0.113.9', 'public'],
    ['2606:4700::1111', 'public'],
    ['64:ff9b::808:808', 'public'],
    // IPv4 inside IPv6 is where the IPv4 address is.
    ['::ffff:10.1.2.3', 'private'],
    ['::ffff:8.8.8.8', 'public'],
    ['::ffff:127.0.0.1', 'loopback'],
  ],
  // Addresses, and their roles.
  roles: [
    ['169.254.169.254', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['169.254.170.23', 'metadata'],
    ['169.254.20.10', 'dns'],
    ['169.254.25.10', 'dns'],
  ],
};

test.each(tables.ranges)('%s is %s', (address, range) => {
  expect(scopeOf(address)).toMatchObject({ range, role: undefined });
});

test.each(tables.roles)('%s is the component %s', (address, role) => {
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
