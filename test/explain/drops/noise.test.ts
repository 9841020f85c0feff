import { expect, test } from 'vitest';
import { noiseOf } from '../../../src/explain/drops/noise.ts';
import { isDhcp } from '../../../src/base/model/flow-identity.ts';
import type { Packet } from '../../../src/base/model/packet.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { cluster, icmp, nine, observation, packet, portless } from '../../builders.ts';

type Header = Partial<Packet> & { portless?: string; icmp?: [type: number, code: number] };

/**
 * Packets are TCP, unless a row says otherwise. They have no ports if the row names `portless` or an ICMP type and
 * code.
 */
const tables: { noise: [string, Header, string][]; others: [string, Header][] } = {
  // Headers of packets that are noise, and its kind.
  noise: [
    ['IGMP', { portless: 'IGMP', destination: '224.0.0.22' }, 'IGMP'],
    ['VRRP', { portless: 'VRRP', destination: '224.0.0.18' }, 'VRRP'],
    ['ARP', { portless: 'ARP' }, 'ARP'],
    ['OSPF by unicast', { portless: 'OSPF' }, 'OSPF'],
    ['mDNS', { protocol: 'UDP', destination: '224.0.0.251', destinationPort: 5353 }, 'multicast'],
    ['mDNS, IPv6', { protocol: 'UDP', source: 'fe80::1', destination: 'ff02::fb', destinationPort: 5353 }, 'multicast'],
    ['limited broadcast', { protocol: 'UDP', destination: '255.255.255.255' }, 'broadcast'],
    ['DHCP renewal', { protocol: 'UDP', sourcePort: 68, destinationPort: 67 }, 'DHCP'],
    [
      'DHCPv6 answer',
      { protocol: 'UDP', source: 'fe80::1', destination: 'fe80::2', sourcePort: 547, destinationPort: 546 },
      'DHCP',
    ],
    [
      'neighbour solicitation by unicast',
      { icmp: [135, 0], protocol: 'ICMPv6', source: 'fd00::1', destination: 'fd00::2' },
      'neighbour discovery',
    ],
    [
      'router advertisement',
      { icmp: [134, 0], protocol: 'ICMPv6', source: 'fe80::1', destination: 'ff02::1' },
      'multicast',
    ],
    ['no source address yet', { protocol: 'UDP', source: '0.0.0.0', destinationPort: 9999 }, 'no address yet'],
    ['to a link-local address', { destination: '169.254.7.7' }, 'link-local'],
    ['from a link-local address', { source: 'fe80::1', destination: 'fd00::2' }, 'link-local'],
  ],
  // Headers of packets that are not noise.
  others: [
    ['a connection', {}],
    ['to the metadata service', { destination: '169.254.169.254', destinationPort: 80 }],
    ['to the node-local DNS cache', { protocol: 'UDP', destination: '169.254.20.10', destinationPort: 53 }],
    [
      'from the node-local DNS cache',
      { protocol: 'UDP', source: '169.254.20.10', sourcePort: 53, destinationPort: 40112 },
    ],
    ['ping', { icmp: [8, 0] }],
    ['ICMP of a type that in ICMPv6 is discovery', { icmp: [133, 0] }],
    ['packet too big', { icmp: [2, 0], protocol: 'ICMPv6', source: 'fd00::1', destination: 'fd00::2' }],
    ['TCP to port 67', { destinationPort: 67 }],
    ['UDP that hides behind a port of DHCP', { protocol: 'UDP', sourcePort: 68, destinationPort: 5353 }],
    ['a service at a port of DHCP', { protocol: 'UDP', sourcePort: 40112, destinationPort: 546 }],
    ['SCTP', { portless: 'SCTP' }],
  ],
};

const emptyDirectory = createEndpointFinder(cluster());
const noise = (given: Packet, destinationMac?: string): string | undefined =>
  noiseOf(
    given,
    destinationMac,
    resolvePacket(observation({ packet: given }), emptyDirectory, { time: nine, exact: true }),
  );
const udp = (given: Partial<Packet>): Packet => packet({ protocol: 'UDP', tcpFlags: undefined, ...given });

function headerOf({ portless: protocol, icmp: message, ...given }: Header): Packet {
  if (protocol !== undefined) return portless(protocol, given);
  if (message !== undefined) return icmp(...message, given);
  return given.protocol === 'UDP' ? udp(given) : packet(given);
}

test.each(tables.noise)('%s is noise', (_, given, expected) => {
  expect(noise(headerOf(given))).toBe(expected);
});

test('a packet to all machines of the link is noise, whatever its address', () => {
  expect(noise(udp({ destination: '192.168.7.255' }), 'ff:ff:ff:ff:ff:ff')).toBe('broadcast');
  expect(noise(udp({ destination: '192.168.7.255' }), 'ee:ee:ee:ee:ee:ee')).toBeUndefined();
});

test.each(tables.others)('%s is not noise', (_, given) => {
  expect(noise(headerOf(given))).toBeUndefined();
});

test.each([
  [67, true],
  [68, true],
  [546, true],
  [547, true],
  [66, false],
  [548, false],
  [undefined, false],
])('port %j is DHCP: %j', (port, expected) => {
  expect(isDhcp(port)).toBe(expected);
});
