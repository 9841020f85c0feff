import { type Packet, TcpFlag } from '../model/packet.ts';

/** First port that Linux gives to clients (net.ipv4.ip_local_port_range). */
const firstEphemeral = 32_768;

export interface Orientation {
  /** The port of the side that offers the service; undefined for protocols and fragments without ports. */
  port: number | undefined;
  reply: boolean;
}

/** SYN says which end is the service, else the ports do: an answer counted by its client's port would always be a new problem. */
export function orient(packet: Packet): Orientation {
  const { sourcePort, destinationPort, tcpFlags } = packet;
  if (destinationPort === undefined) return { port: undefined, reply: false };
  const request = { port: destinationPort, reply: false };
  if (sourcePort === undefined) return request;
  const reply = { port: sourcePort, reply: true };
  if (tcpFlags !== undefined && (tcpFlags & TcpFlag.SYN) !== 0) return (tcpFlags & TcpFlag.ACK) !== 0 ? reply : request;
  if (sourcePort < firstEphemeral && destinationPort >= firstEphemeral) return reply;
  // Resolvers take source ports from the whole range above 1023.
  const wellKnown = packet.protocol !== 'TCP' && sourcePort < 1024 && destinationPort >= 1024;
  return wellKnown ? reply : request;
}

/** Any source port from there on leaves the orientation of a packet, and what is noise, as they are; Infinity where it matters. */
export function leastClientPort(packet: Packet): number {
  const { sourcePort, destinationPort = 0 } = packet;
  const least = destinationPort < firstEphemeral ? 1024 : firstEphemeral;
  return orient(packet).reply || sourcePort === undefined || sourcePort < least ? Infinity : least;
}
