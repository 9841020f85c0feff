import { expect, test } from 'vitest';
import { orient } from '../../../src/base/model/flow-identity.ts';
import { TcpFlag } from '../../../src/base/model/packet.ts';
import { packet, portless } from '../../builders.ts';

const { SYN, ACK, RST, FIN, PSH } = TcpFlag;

test.each([
  ['SYN', 'TCP', 40112, 5432, SYN, { port: 5432, reply: false }],
  ['SYN from a low port', 'TCP', 443, 50000, SYN, { port: 50000, reply: false }],
  ['SYN-ACK', 'TCP', 5432, 40112, SYN | ACK, { port: 5432, reply: true }],
  ['SYN-ACK from a high port', 'TCP', 50000, 2049, SYN | ACK, { port: 50000, reply: true }],
  ['ACK of a client', 'TCP', 40112, 5432, ACK | PSH, { port: 5432, reply: false }],
  ['ACK of a server', 'TCP', 5432, 40112, ACK, { port: 5432, reply: true }],
  ['RST of a server', 'TCP', 8443, 32768, RST, { port: 8443, reply: true }],
  ['both low: by the destination', 'TCP', 900, 2049, ACK, { port: 2049, reply: false }],
  ['both high: by the destination', 'TCP', 40000, 50000, FIN | ACK, { port: 50000, reply: false }],
  ['no TCP header in sight', 'TCP', 5432, 40112, undefined, { port: 5432, reply: true }],
  ['DNS query', 'UDP', 40112, 53, undefined, { port: 53, reply: false }],
  ['DNS query of a resolver', 'UDP', 1025, 53, undefined, { port: 53, reply: false }],
  ['DNS answer', 'UDP', 53, 40112, undefined, { port: 53, reply: true }],
  ['DNS answer to a resolver', 'UDP', 53, 1025, undefined, { port: 53, reply: true }],
  ['both ends the same port', 'UDP', 123, 123, undefined, { port: 123, reply: false }],
  ['the last port that clients do not get', 'UDP', 32767, 32768, undefined, { port: 32767, reply: true }],
])('%s: %s %d > %d', (_, protocol, sourcePort, destinationPort, tcpFlags, expected) => {
  expect(orient(packet({ protocol, sourcePort, destinationPort, tcpFlags }))).toEqual(expected);
});

test.each([
  { name: 'no ports', given: portless('SCTP'), expected: { port: undefined, reply: false } },
  { name: 'a destination port only', given: packet({ sourcePort: undefined }), expected: { port: 5432, reply: false } },
])('finds the port of the service: $name', ({ given, expected }) => {
  expect(orient(given)).toEqual(expected);
});

test('both directions of a connection are one series, whatever the ephemeral port', () => {
  for (const ephemeral of [32768, 40112, 60999]) {
    expect(orient(packet({ sourcePort: ephemeral, tcpFlags: ACK })).port).toBe(5432);
    expect(orient(packet({ sourcePort: 5432, destinationPort: ephemeral, tcpFlags: ACK })).port).toBe(5432);
  }
});
