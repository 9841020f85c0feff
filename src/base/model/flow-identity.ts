/** Defines which packets belong to one flow: the fields that count, the comparison of two packets, and the flow's key. */
import { type Packet, type PacketObservation, type PolicyName, TcpFlag } from './packet.ts';

/** `flow`: other values make another flow. `orientation`: only `orient` and `isDhcp` use it. `packet`: it varies within a flow. */
type Part = 'flow' | 'orientation' | 'packet';

export const headerFields: Readonly<Record<keyof Packet, Part>> = {
  source: 'flow',
  destination: 'flow',
  protocol: 'flow',
  sourcePort: 'orientation',
  destinationPort: 'orientation',
  tcpFlags: 'orientation',
  icmpType: 'flow',
  icmpCode: 'flow',
  laterFragment: 'flow',
  length: 'packet',
  ttl: 'packet',
  incomplete: 'packet',
};

export const observationFields: Readonly<
  Record<Exclude<keyof PacketObservation, 'kind' | 'packet' | 'inner'>, Exclude<Part, 'orientation'>>
> = {
  logger: 'flow',
  verdict: 'flow',
  prefix: 'flow',
  prefixRule: 'flow',
  enforcer: 'flow',
  policy: 'flow',
  policySide: 'flow',
  clusterTier: 'flow',
  byNetworkPolicies: 'flow',
  sourceName: 'flow',
  destinationName: 'flow',
  destinationHost: 'flow',
  service: 'flow',
  dropReason: 'flow',
  notice: 'packet',
  inInterface: 'flow',
  outInterface: 'flow',
  physIn: 'flow',
  physOut: 'flow',
  destinationMac: 'flow',
  mtu: 'flow',
  mark: 'packet',
  uid: 'packet',
  repeat: 'packet',
};

/** First port that Linux gives to clients (net.ipv4.ip_local_port_range). */
const firstEphemeral = 32_768;

export interface Orientation {
  port: number | undefined;
  reply: boolean;
}

/** Finds the end that offers the service. A client's port is always another, so each reply would otherwise be a new problem. */
export function orient(packet: Packet): Orientation {
  const { sourcePort, destinationPort, tcpFlags } = packet;
  if (destinationPort === undefined) return { port: undefined, reply: false };
  const request = { port: destinationPort, reply: false };
  if (sourcePort === undefined) return request;
  const reply = { port: sourcePort, reply: true };
  if (tcpFlags !== undefined && (tcpFlags & TcpFlag.SYN) !== 0) return (tcpFlags & TcpFlag.ACK) !== 0 ? reply : request;
  if (sourcePort < firstEphemeral && destinationPort >= firstEphemeral) return reply;
  // DNS resolvers use all ports above 1023 as source ports.
  const wellKnown = packet.protocol !== 'TCP' && sourcePort < 1024 && destinationPort >= 1024;
  return wellKnown ? reply : request;
}

/** Returns the lowest source port from which on all ports give the same `orient` and `isDhcp`; Infinity if every port matters. */
export function leastClientPort(packet: Packet): number {
  const { sourcePort, destinationPort = 0 } = packet;
  const least = destinationPort < firstEphemeral ? 1024 : firstEphemeral;
  return orient(packet).reply || sourcePort === undefined || sourcePort < least ? Infinity : least;
}

/** DHCP and DHCPv6, client and server (RFC 2131, RFC 8415). */
export function isDhcp(port: number | undefined): boolean {
  return port === 67 || port === 68 || port === 546 || port === 547;
}

/** A packet without an inner packet, with its orientation, which is computed once for many comparisons. */
export interface OrientedPacket {
  observation: PacketObservation;
  orientation: Orientation;
}

/** The fields are written out for speed, because this runs for each packet. A test compares them with the table above. */
export function isSameFlow(one: OrientedPacket, b: PacketObservation, orientation: Orientation): boolean {
  const a = one.observation;
  const p = a.packet;
  const q = b.packet;
  return (
    one.orientation.port === orientation.port &&
    one.orientation.reply === orientation.reply &&
    p.source === q.source &&
    p.destination === q.destination &&
    a.inInterface === b.inInterface &&
    a.outInterface === b.outInterface &&
    p.protocol === q.protocol &&
    p.icmpType === q.icmpType &&
    p.icmpCode === q.icmpCode &&
    p.laterFragment === q.laterFragment &&
    isDhcp(p.sourcePort) === isDhcp(q.sourcePort) &&
    a.destinationMac === b.destinationMac &&
    a.physIn === b.physIn &&
    a.physOut === b.physOut &&
    a.verdict === b.verdict &&
    a.prefix === b.prefix &&
    a.prefixRule === b.prefixRule &&
    a.enforcer === b.enforcer &&
    a.logger === b.logger &&
    a.policySide === b.policySide &&
    a.clusterTier === b.clusterTier &&
    a.byNetworkPolicies === b.byNetworkPolicies &&
    a.sourceName === b.sourceName &&
    a.destinationName === b.destinationName &&
    a.destinationHost === b.destinationHost &&
    a.service === b.service &&
    a.dropReason === b.dropReason &&
    a.mtu === b.mtu &&
    isSamePolicy(a.policy, b.policy)
  );
}

function isSamePolicy(a: PolicyName | undefined, b: PolicyName | undefined): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return a.name === b.name && a.namespace === b.namespace && a.kind === b.kind && a.tier === b.tier;
}

const ofRule = flowNames(observationFields);
const ofHeader = flowNames(headerFields);

/** Returns a text that is equal for two packets exactly if they belong to one flow. It also covers ICMP errors. */
export function flowKey(observation: PacketObservation): string {
  const { packet, inner } = observation;
  return JSON.stringify([ofRule.map((name) => observation[name]), headerKey(packet), inner && headerKey(inner)]);
}

function headerKey(packet: Packet): readonly unknown[] {
  const { port, reply } = orient(packet);
  return [...ofHeader.map((name) => packet[name]), port, reply, isDhcp(packet.sourcePort)];
}

function flowNames<Name extends string>(parts: Readonly<Record<Name, Part>>): Name[] {
  return (Object.keys(parts) as Name[]).filter((name) => parts[name] === 'flow');
}
