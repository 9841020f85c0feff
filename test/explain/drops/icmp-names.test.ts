import { expect, test } from 'vitest';
import { icmpName, isPacketTooBig } from '../../../src/explain/drops/names.ts';

const tables: {
  lists: [protocol: string, type: number | undefined, first: number, names: string][];
  tooBig: [string, number | undefined, number | undefined, boolean][];
} = {
  // Names of ICMP types, or of the codes of a type, from a first number on.
  lists: [
    ['ICMP', undefined, 3, 'destination unreachable, source quench, redirect'],
    ['ICMP', undefined, 8, 'echo request (ping), router advertisement, router solicitation, time exceeded'],
    ['ICMP', undefined, 12, 'parameter problem, timestamp, timestamp reply, type 15'],
    ['ICMP', 3, 0, 'network unreachable, host unreachable, protocol unreachable, port unreachable'],
    ['ICMP', 3, 4, 'fragmentation needed, source route failed, network unknown, host unknown'],
    ['ICMP', 3, 8, 'destination unreachable, network prohibited, host prohibited, destination unreachable'],
    ['ICMP', 3, 12, 'destination unreachable, administratively prohibited, destination unreachable'],
    ['ICMP', 0, 0, 'echo reply, echo reply'],
    ['ICMP', 42, 1, 'type 42 code 1, type 42 code 2'],
    ['ICMPv6', undefined, 1, 'destination unreachable, packet too big, time exceeded, parameter problem, type 5'],
    ['ICMPv6', undefined, 128, 'echo request (ping), echo reply'],
    ['ICMPv6', undefined, 130, 'multicast listener query, multicast listener report, multicast listener done'],
    ['ICMPv6', undefined, 133, 'router solicitation, router advertisement'],
    ['ICMPv6', undefined, 135, 'neighbour solicitation, neighbour advertisement, redirect'],
    ['ICMPv6', undefined, 143, 'multicast listener report'],
    ['ICMPv6', 1, 0, 'no route, administratively prohibited'],
    [
      'ICMPv6',
      1,
      3,
      'address unreachable, port unreachable, source address failed policy, route rejected, destination unreachable',
    ],
    ['ICMPv6', 8, 0, 'type 8 code 0'],
  ],
  // Types and codes, and whether they say that a packet was too big.
  tooBig: [
    ['ICMP', 3, 4, true],
    ['ICMP', 3, 3, false],
    ['ICMP', 2, 0, false],
    ['ICMPv6', 2, 0, true],
    ['ICMPv6', 3, 4, false],
    ['ICMP', undefined, undefined, false],
  ],
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
