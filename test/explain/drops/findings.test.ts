import { expect, test } from 'vitest';
import { explainMartian, explainPacket } from '../../../src/explain/drops/findings.ts';
import type { Endpoint, Ends } from '../../../src/base/model/endpoint.ts';
import { type Finding } from '../../../src/base/model/finding.ts';
import { type PacketObservation, TcpFlag } from '../../../src/base/model/packet.ts';
import {
  ends,
  externalEnd,
  icmp,
  nodeEnd,
  observation,
  packet,
  podEnd,
  podRef,
  portless,
  serviceEnd,
  workerEnd,
} from '../../builders.ts';

const web = podEnd();
const db = podEnd({ address: '10.65.2.9', object: podRef('db-0'), node: 'node-b' });

/** `receiving shop/web-0 < Node/node-a`. */
const short = ({ regarding, details }: Finding): string =>
  details.kind === 'flow'
    ? `${details.direction} ${regarding.namespace}/${regarding.name}, peer ${details.peer.identity}`
    : details.kind;

test.each([
  [
    'both ends are Pods',
    web,
    db,
    ['receiving shop/db-0, peer Pod/shop/web-0', 'sending shop/web-0, peer Pod/shop/db-0'],
  ],
  ['the source is one', web, externalEnd(), ['sending shop/web-0, peer 203.0.113.9']],
  ['the destination is one', nodeEnd(), db, ['receiving shop/db-0, peer Node/node-a']],
  ['to a Service', web, serviceEnd(), ['sending shop/web-0, peer Service/shop/api']],
  ['neither is', nodeEnd(), externalEnd(), []],
])('a packet has a finding for each end that is a Pod: %s', (_, source, destination, expected) => {
  expect(explainPacket(observation(), ends({ source, destination }), 'node-a').map(short)).toEqual(expected);
});

test('each candidate of an end has a finding, which names the others', () => {
  const candidates = ['web-a', 'web-b'].map((name) => podEnd({ object: podRef(name) }));
  const source = externalEnd({ kind: 'unknown', address: 'shop/web-*', identity: 'shop/web-*', candidates });
  const found = explainPacket(observation(), ends({ source, destination: externalEnd() }), 'node-a');
  expect(found.map(short)).toEqual(['sending shop/web-a, peer 203.0.113.9', 'sending shop/web-b, peer 203.0.113.9']);
  expect(found.map(({ details }) => details.kind === 'flow' && details.sharedWith)).toEqual([['web-b'], ['web-a']]);
});

test('the peer is the related object if it is an object', () => {
  const [receiving, sending] = explainPacket(observation(), ends({ source: web, destination: db }), 'node-a');
  expect(receiving).toMatchObject({
    regarding: db.object,
    related: web.object,
    node: 'node-a',
    reason: 'PacketDrop',
    type: 'Warning',
    details: { martian: false },
  });
  expect(sending).toMatchObject({ regarding: web.object, related: db.object });
  expect(explainPacket(observation(), ends(), 'node-a')[0]?.related).toBeUndefined();
});

test('a reply counts by the port of its sender', () => {
  const answer = observation({
    packet: packet({ sourcePort: 5432, destinationPort: 40112, tcpFlags: TcpFlag.SYN | TcpFlag.ACK }),
  });
  expect(explainPacket(answer, ends(), '')[0]?.details).toMatchObject({
    direction: 'sending',
    port: 5432,
    reply: true,
  });
});

const [pod, host] = ['calic440f455693', 'eth0'];

test.each([
  ['sender', pod, host, { fromPodInterface: true }, `${pod} → ${host}`],
  ['receiver', host, pod, { toPodInterface: true }, `${host} → ${pod}`],
  [undefined, pod, 'cali0123456789a', { fromPodInterface: true, toPodInterface: true }, `${pod} → cali0123456789a`],
  ['sender', pod, '', { fromPodInterface: true }, `${pod} → this node`],
  ['receiver', '', pod, { toPodInterface: true }, `this node → ${pod}`],
  [undefined, '', '', {}, ''],
])('the %s refused it on the way from %j to %j', (refusedBy, inInterface, outInterface, interfaces, path) => {
  const [found] = explainPacket(observation({ inInterface, outInterface }), ends(interfaces), 'node-a');
  expect(found?.details).toMatchObject({ refusedBy, path });
});

test('a logger that names the refusing side is believed before the interfaces', () => {
  const given = observation({ policySide: 'sender', clusterTier: 'Admin' });
  const [found] = explainPacket(given, ends({ fromPodInterface: false, toPodInterface: true }), 'node-a');
  expect(found?.details).toMatchObject({ refusedBy: 'sender', clusterTier: 'Admin' });
});

const reportingRouter = externalEnd({ address: '198.51.100.1' });
const tooBig = observation({
  packet: icmp(3, 4, { source: '198.51.100.1', destination: '10.65.1.4' }),
  inner: packet({ source: '10.65.1.4', destination: '203.0.113.9', sourcePort: 40112, destinationPort: 443 }),
  mtu: 1400,
});

test('an ICMP error affects the sender of the packet that caused it', () => {
  const found = explainPacket(
    tooBig,
    ends({ source: reportingRouter, destination: web, inner: { source: web, destination: externalEnd() } }),
    'node-a',
  );
  expect(found.map(short)).toEqual(['receiving shop/web-0, peer 203.0.113.9']);
  expect(found[0]?.details).toMatchObject({
    protocol: 'TCP',
    port: 443,
    error: { reporter: reportingRouter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 },
  });
});

test('an ICMP error also has a finding for the Pod that sends it', () => {
  const found = explainPacket(
    tooBig,
    ends({ source: db, destination: web, inner: { source: web, destination: db } }),
    'node-a',
  );
  expect(found.map(short)).toEqual([
    'receiving shop/web-0, peer Pod/shop/db-0',
    'sending shop/db-0, peer Pod/shop/web-0',
  ]);
});

test("an ICMP error about an unknown sender's packet has no finding for that sender", () => {
  expect(
    explainPacket(
      tooBig,
      ends({
        source: reportingRouter,
        destination: nodeEnd(),
        inner: { source: nodeEnd(), destination: externalEnd() },
      }),
      '',
    ),
  ).toEqual([]);
});

test('an ICMP error whose inner packet is not believed is treated as a packet between its own ends', () => {
  const found = explainPacket(tooBig, ends({ source: db, destination: reportingRouter }), 'node-a');
  expect(found.map(short)).toEqual(['sending shop/db-0, peer 198.51.100.1']);
  expect(found[0]?.details).toMatchObject({
    protocol: 'ICMP',
    icmpType: 3,
    icmpCode: 4,
    port: undefined,
    error: undefined,
  });
});

test("an ICMP error about a reply counts by the port of the reply's sender", () => {
  const answer = { ...tooBig, inner: packet({ sourcePort: 443, destinationPort: 40112, tcpFlags: TcpFlag.ACK }) };
  const [found] = explainPacket(
    answer,
    ends({ source: reportingRouter, destination: web, inner: { source: web, destination: externalEnd() } }),
    '',
  );
  expect(found?.details).toMatchObject({ port: 443, reply: true });
});

const portNames = (end: Endpoint, port: number, protocol: string): string => `${end.identity} ${port}/${protocol}`;

function named(given: Partial<PacketObservation>, between: Partial<Ends>): (string | undefined)[] {
  return explainPacket(observation(given), ends(between), 'node-a', portNames).map(({ details }) =>
    details.kind === 'flow' ? details.portName : undefined,
  );
}

const router = externalEnd({ address: '198.51.100.1' });
const answerPacket = packet({ sourcePort: 5432, destinationPort: 40112, tcpFlags: TcpFlag.SYN | TcpFlag.ACK });
const request = 'Pod/shop/db-0 5432/TCP';

test("a port of a request has the receiver's name in the Events of both ends", () => {
  expect(named({}, { source: web, destination: db })).toEqual([request, request]);
});

test("a port of a reply has the sender's name", () => {
  expect(named({ packet: answerPacket }, { source: db, destination: web })).toEqual([request, request]);
});

test('a protocol without ports has no port name', () => {
  expect(named({ packet: portless('SCTP') }, { source: web, destination: db })).toEqual([undefined, undefined]);
});

test('a port that an ICMP error is about has the name given by the unreachable end; the error itself has no port name', () => {
  const error = { packet: icmp(3, 4), inner: packet({ destinationPort: 5432 }) };
  const target = { inner: { source: web, destination: db } };
  expect(named(error, { source: router, destination: web, ...target })).toEqual([request]);
  expect(named(error, { source: db, destination: web, ...target })).toEqual([request, undefined]);
});

test("a port's name does not change the identity", () => {
  const both = ends({ source: web, destination: db });
  const identities = [portNames, () => undefined].map((names) =>
    explainPacket(observation(), both, 'node-a', names).map((each) => each.identity),
  );
  expect(identities[0]).toEqual(identities[1]);
});

test('a martian is a drop without a rule', () => {
  const martian = {
    kind: 'martian',
    impossible: 'source',
    source: '10.65.2.9',
    destination: '10.65.1.4',
    device: 'eth1',
  } as const;
  const found = explainMartian(martian, ends({ source: db, destination: web }), 'node-a');
  expect(found.map(short)).toEqual([
    'receiving shop/web-0, peer Pod/shop/db-0',
    'sending shop/db-0, peer Pod/shop/web-0',
  ]);
  expect(found[0]?.details).toMatchObject({
    martian: true,
    path: 'eth1',
    protocol: '',
    port: undefined,
    verdict: 'dropped',
  });
});

/** Returns the identity of the receiver's finding. */
function identity(
  given: Partial<PacketObservation> = {},
  peer: Endpoint = workerEnd(1),
  node = 'node-a',
  own: Endpoint = web,
): string {
  const found = explainPacket(observation(given), ends({ source: peer, destination: own, toPodInterface: true }), node);
  return found[0]?.identity ?? '';
}

const nameless = (name: string): string =>
  identity({}, workerEnd(1), 'node-a', podEnd({ object: { ...podRef(name), uid: '' } }));

const base = identity();

test.each([
  ['source port', identity({ packet: packet({ sourcePort: 50000 }) })],
  ['length and TTL', identity({ packet: packet({ length: 1500, ttl: 1 }) })],
  ['later packets of the connection', identity({ packet: packet({ tcpFlags: TcpFlag.ACK }) })],
  ['another Pod of the same workload', identity({}, workerEnd(2))],
  ['mark and uid', identity({ mark: 7, uid: 1000 })],
  ['the weight', identity({ repeat: 3 })],
  ['the path', identity({ inInterface: 'eth0' })],
])('identities are equal: %s', (_, other) => {
  expect(other).toBe(base);
});

test.each([
  ['port', identity({ packet: packet({ destinationPort: 5433 }) })],
  ['protocol', identity({ packet: packet({ protocol: 'UDP', tcpFlags: undefined }) })],
  [
    'direction of the connection',
    identity({ packet: packet({ sourcePort: 5432, destinationPort: 40112, tcpFlags: TcpFlag.SYN | TcpFlag.ACK }) }),
  ],
  ['peer', identity({}, podEnd({ object: podRef('other') }))],
  ['stranger', identity({}, externalEnd())],
  ['node', identity({}, workerEnd(1), 'node-b')],
  ['Pod', identity({}, workerEnd(1), 'node-a', podEnd({ object: podRef('web-1') }))],
  ['verdict', identity({ verdict: 'rejected' })],
  ['policy', identity({ policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'deny', tier: undefined } })],
  ['cause: the host’s firewall', identity({ enforcer: 'host-firewall', prefix: '[UFW BLOCK]', prefixRule: 'ufw' })],
])('identities differ: %s', (_, other) => {
  expect(other).not.toBe('');
  expect(other).not.toBe(base);
});

test('identities of the two ends of a packet differ', () => {
  const found = explainPacket(observation(), ends({ source: web, destination: db }), 'node-a').map(
    (each) => each.identity,
  );
  expect(new Set(found).size).toBe(2);
});

test('identities differ by ICMP type and code', () => {
  const all = [icmp(8, 0), icmp(0, 0), icmp(3, 1), icmp(3, 3), portless('SCTP')].map((each) =>
    identity({ packet: each }),
  );
  expect(new Set(all).size).toBe(all.length);
});

test('a Pod without a uid is identified by its name', () => {
  expect(nameless('a')).not.toBe(nameless('b'));
});
