import { expect, test } from 'vitest';
import { noiseOf } from '../../../src/explain/drops/noise.ts';
import { isDhcp } from '../../../src/base/model/flow-identity.ts';
import type { Packet } from '../../../src/base/model/packet.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { cluster, icmp, nine, observation, packet, portless } from '../../builders.ts';
import { tablesOf } from '../../tables.ts';

type Header = Partial<Packet> & { portless?: string; icmp?: [type: number, code: number] };

const tables = tablesOf(import.meta.filename) as { noise: [string, Header, string][]; others: [string, Header][] };

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

test('a packet to every machine of the link is noise, whatever its address', () => {
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
