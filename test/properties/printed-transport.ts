import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import { TcpFlag } from '../../src/base/model/packet.ts';
import { incomplete, octet, options, piece, port, uint16, uint32, type Piece } from './printed.ts';

/** In the order in which the kernel prints them; `AE` has no bit here. */
const flagWords = ['AE', 'CWR', 'ECE', 'URG', 'ACK', 'PSH', 'RST', 'SYN', 'FIN'] as const;
const bitOf = (word: (typeof flagWords)[number]): number => (word === 'AE' ? 0 : TcpFlag[word]);

const tcpOptions = fc.oneof(fc.constant(''), options, fc.constant('OPT (TRUNCATED)'));

const fullTcp: Arbitrary<Piece> = fc
  .record({
    source: port,
    destination: port,
    sequence: fc.option(fc.tuple(uint32, uint32)),
    window: uint16,
    flags: fc.subarray([...flagWords]),
    urgent: fc.constantFrom(0, 0, 0, 17, 65535),
    options: tcpOptions,
  })
  .map((tcp) => {
    const sequence = tcp.sequence === null ? '' : `SEQ=${tcp.sequence[0]} ACK=${tcp.sequence[1]} `;
    const flags = tcp.flags.map((word) => `${word} `).join('');
    const truncated = tcp.options.includes('TRUNCATED');
    const text = `SPT=${tcp.source} DPT=${tcp.destination} ${sequence}WINDOW=${tcp.window} RES=0x00 ${flags}URGP=${tcp.urgent} `;
    const tcpFlags = tcp.flags.map(bitOf).reduce((sum, bit) => sum | bit, 0);
    const fields = { sourcePort: tcp.source, destinationPort: tcp.destination, tcpFlags, incomplete: truncated };
    return piece(text + tcp.options, fields, truncated);
  });

export const tcpHeader: Arbitrary<Piece> = fc.oneof({ weight: 7, arbitrary: fullTcp }, incomplete(true));

const fullUdp: Arbitrary<Piece> = fc
  .record({ sourcePort: port, destinationPort: port, length: uint16 })
  .map(({ sourcePort, destinationPort, length }) =>
    piece(`SPT=${sourcePort} DPT=${destinationPort} LEN=${length} `, { sourcePort, destinationPort }),
  );

export const udpHeader: Arbitrary<Piece> = fc.oneof({ weight: 7, arbitrary: fullUdp }, incomplete(true));

/** AH and ESP over IPv4. */
export const spiHeader: Arbitrary<Piece> = fc.oneof(
  uint32.map((spi) => piece(`SPI=0x${spi.toString(16)} `)),
  incomplete(false),
);

/** The text of an ICMP message after its type and code. */
type Body = Pick<Piece, 'text' | 'inner' | 'mtu'>;
/** The text of the packet within an error, with its brackets; undefined inside such a packet. */
type Nested = Arbitrary<Body> | undefined;

const echo: Arbitrary<Body> = fc.tuple(uint16, uint16).map(([id, sequence]) => ({ text: `ID=${id} SEQ=${sequence} ` }));
const nothing: Arbitrary<Body> = fc.constant({ text: '' });
const before = (text: string, body: Body): Body => ({ ...body, text: text + body.text });
const withMtu = (body: Body, mtu: number): Body => ({ ...body, text: `${body.text}MTU=${mtu} `, mtu });

function message(type: number, code: Arbitrary<number>, body: Arbitrary<Body>): Arbitrary<Piece> {
  return fc.tuple(code, body).map(([icmpCode, rest]) => {
    const header = piece(`TYPE=${type} CODE=${icmpCode} `, { icmpType: type, icmpCode });
    return Object.assign(header, before(header.text, rest));
  });
}

export function icmpHeader(nested: Nested): Arbitrary<Piece> {
  const errorBody = nested ?? nothing;
  const gateway = fc.tuple(fc.ipV4(), errorBody).map(([address, body]) => before(`GATEWAY=${address} `, body));
  return fc.oneof(
    message(8, fc.constant(0), echo),
    message(0, fc.constant(0), echo),
    message(3, fc.constantFrom(0, 1, 3, 10, 13), errorBody),
    message(
      3,
      fc.constant(4),
      fc.tuple(errorBody, uint16).map(([body, mtu]) => withMtu(body, mtu)),
    ),
    message(5, fc.constantFrom(0, 1), gateway),
    message(11, fc.constantFrom(0, 1), errorBody),
    message(
      12,
      fc.constant(0),
      octet.map((parameter) => ({ text: `PARAMETER=${parameter} ` })),
    ),
    message(13, fc.constant(0), nothing),
    message(255, octet, nothing),
    incomplete(false),
  );
}

export function icmpv6Header(nested: Nested): Arbitrary<Piece> {
  const errorBody = nested ?? nothing;
  const problemAt = fc
    .tuple(uint32, errorBody)
    .map(([offset, body]) => before(`POINTER=${offset.toString(16).padStart(8, '0')} `, body));
  return fc.oneof(
    message(128, fc.constant(0), echo),
    message(129, fc.constant(0), echo),
    message(1, fc.constantFrom(0, 1, 3, 4), errorBody),
    message(
      2,
      fc.constant(0),
      fc.tuple(errorBody, uint32).map(([body, mtu]) => withMtu(body, mtu)),
    ),
    message(3, fc.constantFrom(0, 1), errorBody),
    message(4, fc.constantFrom(0, 1, 2), problemAt),
    message(135, fc.constant(0), nothing),
    message(143, fc.constant(0), nothing),
    incomplete(true),
  );
}
