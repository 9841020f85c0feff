import { expect, test } from 'vitest';
import { icmpName, isPacketTooBig } from '../../src/drops/names.ts';

test.each([
  ['ICMP', 8, 0, 'echo request (ping)'],
  ['ICMP', 0, 0, 'echo reply'],
  ['ICMP', 3, 0, 'network unreachable'],
  ['ICMP', 3, 1, 'host unreachable'],
  ['ICMP', 3, 3, 'port unreachable'],
  ['ICMP', 3, 4, 'fragmentation needed'],
  ['ICMP', 3, 13, 'administratively prohibited'],
  ['ICMP', 3, undefined, 'destination unreachable'],
  ['ICMP', 3, 99, 'destination unreachable'],
  ['ICMP', 11, 0, 'time exceeded'],
  ['ICMP', 42, 1, 'type 42 code 1'],
  ['ICMP', 42, undefined, 'type 42'],
  ['ICMPv6', 1, 0, 'no route'],
  ['ICMPv6', 1, 4, 'port unreachable'],
  ['ICMPv6', 2, 0, 'packet too big'],
  ['ICMPv6', 3, 0, 'time exceeded'],
  ['ICMPv6', 128, 0, 'echo request (ping)'],
  ['ICMPv6', 136, 0, 'neighbour advertisement'],
  ['ICMPv6', 8, 0, 'type 8 code 0'],
])('%s %j.%j is %j', (protocol, type, code, expected) => {
  expect(icmpName(protocol, type, code)).toBe(expected);
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
