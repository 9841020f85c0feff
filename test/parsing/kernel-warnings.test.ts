/** Tests what the lines of the corpus leave open: each word that a message may have, and words that look like one. */
import { expect, test } from 'vitest';
import {
  parseConntrackFull,
  parseJournald,
  parseMartian,
  parseNeighbourOverflow,
  parseSuppressed,
} from '../../src/parsing/kernel.ts';

test.each([
  ['nf_conntrack: nf_conntrack: nf_conntrack: table full, dropping packet', false],
  ['table full, dropping packet', false],
  [' nf_conntrack: table full, dropping packet', false],
  ['nf_conntrack: table full in netns 12345678901, dropping packet', false],
  ['nf_conntrack: table full in netns 7, dropping packet', true],
])('%j is a full table: %s', (text, expected) => {
  expect(parseConntrackFull(text) !== undefined).toBe(expected);
});

test.each([
  ['neighbour: arp_cache: neighbor table overflow!', 'IPv4'],
  ['neighbour: ndisc_cache: neighbor table overflow!', 'IPv6'],
  ['ipv4: Neighbour table overflow.', 'IPv4'],
  ['IPv4: Neighbour table overflow.', 'IPv4'],
  ['ipv6: Neighbour table overflow.', 'IPv6'],
  ['Neighbour table overflow.', undefined],
])('%j is about %s', (text, family) => {
  expect(parseNeighbourOverflow(text)).toEqual({ kind: 'neighbour-overflow', family });
});

test.each(['dn_neigh: Neighbour table overflow', 'a Neighbour table overflow', 'neighbour table overflows? no'])(
  '%j is read only where it begins as the kernel prints it',
  (text) => {
    expect(parseNeighbourOverflow(text) !== undefined).toBe(text.startsWith('neighbour'));
  },
);

test.each([
  ['net_ratelimit', 'kernel-warnings'],
  ['__nf_conntrack_alloc', 'kernel-warnings'],
  ['nf_conntrack_alloc', 'kernel-warnings'],
  ['neigh_create', 'kernel-warnings'],
  ['ip_handle_martian_source', 'kernel-warnings'],
  ['dst_alloc', 'kernel-warnings'],
  ['ip6_dst_gc', 'kernel-warnings'],
  ['dst_alloc_more', 'nothing'],
  ['my_net_ratelimit', 'nothing'],
  ['net_ratelimit_x', 'nothing'],
  ['audit_printk_skb', 'nothing'],
])('what %s has suppressed affects %s', (by, affects) => {
  expect(parseSuppressed(`${by}: 7 callbacks suppressed`)).toEqual({ kind: 'suppressed', by, count: 7, affects });
});

test.each([
  '7: 7 callbacks suppressed',
  'a b: 7 callbacks suppressed',
  'a: 7 callback suppressed',
  'a: x callbacks suppressed',
])('%j is no report of a rate limiter', (text) => {
  expect(parseSuppressed(text)).toBeUndefined();
});

test.each([
  ['Missed 314 kernel messages', 314, 'everything'],
  ['Suppressed 512 messages from kernel.service', 512, 'everything'],
  ['Suppressed 512 messages from /system.slice/kmsg', 512, 'everything'],
  ['Suppressed 512 messages from kubelet.service', 512, 'nothing'],
])('%j: %s records that affect %s', (text, count, affects) => {
  expect(parseJournald(text)).toEqual({ kind: 'suppressed', by: 'journald', count, affects });
});

test.each(['We Missed 314 kernel messages', 'some messages lost', 'Suppressed many messages from kernel'])(
  'journald has lost nothing by %j',
  (text) => {
    expect(parseJournald(text)).toBeUndefined();
  },
);

test.each<[string, object | undefined]>([
  [
    'IPv4: martian source 10.0.0.2 from 10.0.0.1, on dev eth0',
    { kind: 'martian', impossible: 'source', source: '10.0.0.1', destination: '10.0.0.2', device: 'eth0' },
  ],
  [
    'martian destination 127.0.0.1 from 10.0.0.1, dev eth0',
    { kind: 'martian', impossible: 'destination', source: '10.0.0.1', destination: '127.0.0.1', device: 'eth0' },
  ],
  [
    'martian source 10.0.0.2 from x, on dev eth0',
    { kind: 'unparsable', format: 'martian', reason: 'x is not an address' },
  ],
  [
    'martian source y from 10.0.0.1, on dev eth0',
    { kind: 'unparsable', format: 'martian', reason: 'y is not an address' },
  ],
  ['a martian source 10.0.0.2 from 10.0.0.1, on dev eth0', undefined],
  ['martian source 10.0.0.2 from 10.0.0.1, on device eth0', undefined],
])('%j', (text, expected) => {
  expect(parseMartian(text)).toEqual(expected);
});
