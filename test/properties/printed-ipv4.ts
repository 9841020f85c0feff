import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { Packet } from '../../src/base/model/packet.ts';
import { emptyPacket, hexByte, octet, options, piece, uint16, type Piece } from './printed.ts';
import { icmpHeader, spiHeader, tcpHeader, udpHeader } from './printed-transport.ts';

interface Transport {
  /** The kernel's text after `PROTO=`, and its meaning. */
  printed: string;
  protocol: string;
  header: Piece;
}

const transport = (printed: string, protocol: string, header: Arbitrary<Piece>): Arbitrary<Transport> =>
  header.map((found) => ({ printed, protocol, header: found }));
const named = (protocol: string, header: Arbitrary<Piece>): Arbitrary<Transport> =>
  transport(protocol, protocol, header);
const numbered = (number: number, protocol: string): Arbitrary<Transport> =>
  transport(String(number), protocol, fc.constant(piece('')));

/** Values of `PROTO=` over IPv4 and IPv6, weighted by how often they are seen. */
export const commonTransports: [{ weight: number; arbitrary: Arbitrary<Transport> }, ...Arbitrary<Transport>[]] = [
  { weight: 4, arbitrary: named('TCP', tcpHeader) },
  named('UDP', udpHeader),
  named('UDPLITE', udpHeader),
  numbered(2, 'IGMP'),
  numbered(47, 'GRE'),
  numbered(89, 'OSPF'),
  numbered(103, 'PIM'),
  numbered(112, 'VRRP'),
  numbered(132, 'SCTP'),
  numbered(4, 'IPIP'),
  numbered(41, 'IPv6'),
  numbered(0, '0'),
  numbered(253, '253'),
];

/** The header and the payload, of which an inner packet may print only a part. */
function ipv4(nested: Parameters<typeof icmpHeader>[0]): Arbitrary<Piece> {
  const transports = fc.oneof(
    ...commonTransports,
    { weight: 4, arbitrary: named('ICMP', icmpHeader(nested)) },
    named('AH', spiHeader),
    named('ESP', spiHeader),
    numbered(58, 'ICMPv6'),
  );
  return fc
    .record({
      source: fc.ipV4(),
      destination: fc.ipV4(),
      length: uint16,
      tos: octet,
      ttl: octet,
      id: uint16,
      flags: fc.subarray(['CE ', 'DF ', 'MF ']),
      offset: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 8191 })),
      options: fc.oneof({ weight: 6, arbitrary: fc.constant('') }, options, fc.constant('TRUNCATED')),
      transport: transports,
    })
    .map((ip) => {
      const later = ip.offset > 0;
      const text =
        `SRC=${ip.source} DST=${ip.destination} LEN=${ip.length} TOS=0x${hexByte(ip.tos & 0x1e)} ` +
        `PREC=0x${hexByte(ip.tos & 0xe0)} TTL=${ip.ttl} ID=${ip.id} ${ip.flags.join('')}` +
        `${later ? `FRAG:${ip.offset} ` : ''}${ip.options}`;
      const { source, destination, length, ttl } = ip;
      const packet: Packet = { ...emptyPacket, source, destination, length, ttl, laterFragment: later };
      if (ip.options === 'TRUNCATED') return piece(text, { ...packet, incomplete: true }, true);
      return withTransport(piece(text, packet), ip.transport, later, later && ip.transport.printed === 'AH');
    });
}

/** A later fragment prints only the protocol. A later IPv4 fragment with AH does not even print that. */
export function withTransport(ip: Piece, next: Transport, later: boolean, silent = false): Piece {
  if (silent) return { ...ip, packet: { ...ip.packet, incomplete: true } };
  const header = later ? piece('') : next.header;
  const incomplete = Boolean(ip.packet.incomplete) || Boolean(header.packet.incomplete);
  return {
    ...header,
    text: `${ip.text}PROTO=${next.printed} ${header.text}`,
    packet: { ...ip.packet, ...header.packet, protocol: next.protocol, incomplete },
  };
}

/** The piece as `[…] `, the form that it has in an ICMP error. */
export function inBrackets(printed: Arbitrary<Piece>): Arbitrary<Pick<Piece, 'text' | 'inner'>> {
  return printed.map(({ text, packet }) => ({ text: `[${text}] `, inner: { ...emptyPacket, ...packet } }));
}

export const ipv4Packet: Arbitrary<Piece> = ipv4(inBrackets(ipv4(undefined)));
