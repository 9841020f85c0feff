import { type Packet, TcpFlag } from '../model/packet.ts';

/** First port that Linux gives to clients (net.ipv4.ip_local_port_range). */
const firstEphemeral = 32_768;

export interface Orientation {
  /** The port of the side that offers the service; undefined for protocols and fragments without ports. */
  port: number | undefined;
  /** The packet goes from the service to its client. */
  reply: boolean;
}

/**
 * Which end of a packet is the service. SYN says it for TCP; else the port numbers have to. It matters: the client's
 * port is another one for each connection, so an answer counted by its destination port would be a new problem each time.
 */
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
