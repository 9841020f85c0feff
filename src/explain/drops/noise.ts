/** Recognizes packets whose loss costs no application anything. */
import type { Endpoint, Ends } from '../../base/model/endpoint.ts';
import { isDhcp } from '../../base/model/flow-identity.ts';
import type { Packet } from '../../base/model/packet.ts';
import { isNoise } from './reasons.ts';

/** ICMPv6 types: multicast listener 130–132, 143 (RFC 2710, 3810); router and neighbour discovery 133–137 (RFC 4861). */
const discovery = new Set([130, 131, 132, 133, 134, 135, 136, 137, 143]);
const groupProtocols = new Set(['IGMP', 'VRRP', 'ARP', 'PIM', 'OSPF', 'EIGRP']);

/** Returns a name for noise, such as link-local traffic that host firewalls log all the time; undefined for traffic of applications. */
export function noiseOf(
  packet: Packet,
  destinationMac: string | undefined,
  { source, destination }: Ends,
  dropReason?: string,
): string | undefined {
  if (dropReason !== undefined && isNoise(dropReason)) return dropReason;
  if (groupProtocols.has(packet.protocol)) return packet.protocol;
  if (destination.range === 'multicast' || destination.range === 'broadcast') return destination.range;
  if (destinationMac === 'ff:ff:ff:ff:ff:ff') return 'broadcast';
  if (packet.protocol === 'ICMPv6' && packet.icmpType !== undefined && discovery.has(packet.icmpType))
    return 'neighbour discovery';
  if (packet.protocol === 'UDP' && isDhcp(packet.sourcePort) && isDhcp(packet.destinationPort)) return 'DHCP';
  if (destination.range === 'unspecified' || source.range === 'unspecified') return 'no address yet';
  return isLinkLocal(destination) || isLinkLocal(source) ? 'link-local' : undefined;
}

function isLinkLocal({ range, role }: Endpoint): boolean {
  return range === 'link-local' && role === undefined;
}
