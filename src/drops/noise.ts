import type { Ends } from '../model/endpoint.ts';
import { isDhcp } from '../model/flow-identity.ts';
import type { Packet } from '../model/packet.ts';
import { isNoise } from './reasons.ts';

/** ICMPv6: multicast listener 130–132, 143; router and neighbour discovery 133–137 (RFC 4443, 4861, 3810). */
const discovery = new Set([130, 131, 132, 133, 134, 135, 136, 137, 143]);
const groupProtocols = new Set(['IGMP', 'VRRP', 'ARP', 'PIM', 'OSPF', 'EIGRP']);

/** Chatter between machines of one link, which host firewalls log by the thousand; undefined for an application's traffic. */
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
  if (packet.protocol === 'UDP' && (isDhcp(packet.sourcePort) || isDhcp(packet.destinationPort))) return 'DHCP';
  if (destination.range === 'unspecified' || source.range === 'unspecified') return 'no address yet';
  const linkLocal =
    (destination.range === 'link-local' && destination.role === undefined) ||
    (source.range === 'link-local' && source.role === undefined);
  return linkLocal ? 'link-local' : undefined;
}
