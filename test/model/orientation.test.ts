import { expect, test } from 'vitest';
import { orient } from '../../src/model/flow-identity.ts';
import { TcpFlag } from '../../src/model/packet.ts';
import { packet, portless } from '../builders.ts';

const { SYN, ACK, RST, FIN, PSH } = TcpFlag;

test.each([
  { name: 'SYN', protocol: 'TCP', from: 40112, to: 5432, tcpFlags: SYN, port: 5432, reply: false },
  { name: 'SYN from a low port', protocol: 'TCP', from: 443, to: 50000, tcpFlags: SYN, port: 50000, reply: false },
  { name: 'SYN-ACK', protocol: 'TCP', from: 5432, to: 40112, tcpFlags: SYN | ACK, port: 5432, reply: true },
  {
    name: 'SYN-ACK from a high port',
    protocol: 'TCP',
    from: 50000,
    to: 2049,
    tcpFlags: SYN | ACK,
    port: 50000,
    reply: true,
  },
  { name: 'ACK of a client', protocol: 'TCP', from: 40112, to: 5432, tcpFlags: ACK | PSH, port: 5432, reply: false },
  { name: 'ACK of a server', protocol: 'TCP', from: 5432, to: 40112, tcpFlags: ACK, port: 5432, reply: true },
  { name: 'RST of a server', protocol: 'TCP', from: 8443, to: 32768, tcpFlags: RST, port: 8443, reply: true },
  {
    name: 'both low: by the destination',
    protocol: 'TCP',
    from: 900,
    to: 2049,
    tcpFlags: ACK,
    port: 2049,
    reply: false,
  },
  {
    name: 'both high: by the destination',
    protocol: 'TCP',
    from: 40000,
    to: 50000,
    tcpFlags: FIN | ACK,
    port: 50000,
    reply: false,
  },
  {
    name: 'no TCP header in sight',
    protocol: 'TCP',
    from: 5432,
    to: 40112,
    tcpFlags: undefined,
    port: 5432,
    reply: true,
  },
  { name: 'DNS query', protocol: 'UDP', from: 40112, to: 53, tcpFlags: undefined, port: 53, reply: false },
  { name: 'DNS query of a resolver', protocol: 'UDP', from: 1025, to: 53, tcpFlags: undefined, port: 53, reply: false },
  { name: 'DNS answer', protocol: 'UDP', from: 53, to: 40112, tcpFlags: undefined, port: 53, reply: true },
  { name: 'DNS answer to a resolver', protocol: 'UDP', from: 53, to: 1025, tcpFlags: undefined, port: 53, reply: true },
  {
    name: 'both ends the same port',
    protocol: 'UDP',
    from: 123,
    to: 123,
    tcpFlags: undefined,
    port: 123,
    reply: false,
  },
  {
    name: 'the last port that clients do not get',
    protocol: 'UDP',
    from: 32767,
    to: 32768,
    tcpFlags: undefined,
    port: 32767,
    reply: true,
  },
])('$name: $from > $to', ({ protocol, from, to, tcpFlags, port, reply }) => {
  expect(orient(packet({ protocol, sourcePort: from, destinationPort: to, tcpFlags }))).toEqual({ port, reply });
});

test.each([
  { name: 'no ports', given: portless('SCTP'), expected: { port: undefined, reply: false } },
  { name: 'a destination port only', given: packet({ sourcePort: undefined }), expected: { port: 5432, reply: false } },
])('which port is the service: $name', ({ given, expected }) => {
  expect(orient(given)).toEqual(expected);
});

test('a connection is one series from either side, whatever its ephemeral port', () => {
  for (const ephemeral of [32768, 40112, 60999]) {
    expect(orient(packet({ sourcePort: ephemeral, tcpFlags: ACK })).port).toBe(5432);
    expect(orient(packet({ sourcePort: 5432, destinationPort: ephemeral, tcpFlags: ACK })).port).toBe(5432);
  }
});
