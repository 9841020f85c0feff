import { expect, test } from 'vitest';
import type { Packet, PacketObservation } from '../../../src/base/model/packet.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { endsOf, loggedNode, resolveMartian, resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { cluster, icmp, nine, node, observation, packet, pod } from '../../builders.ts';

type Interfaces = Partial<Pick<PacketObservation, 'inInterface' | 'outInterface' | 'physIn'>>;

const tables: {
  ends: [string, Interfaces & { packet?: Partial<Packet> }, string][];
  nodes: [string, string | undefined, Interfaces, keyof typeof known, string][];
} = {
  // Packets from web-0 to db-0: how each differs, and whose its ends are, with the evidence.
  ends: [
    ['addresses', {}, 'web-0 by pod-address, db-0 by pod-address'],
    ['veths', { inInterface: 'veth of web-0', outInterface: 'veth of db-0' }, 'web-0 by interface, db-0 by interface'],
    ['the AWS VPC CNI’s veth', { inInterface: 'eni of web-0' }, 'web-0 by interface, db-0 by pod-address'],
    [
      'the veth over an address that is another Pod’s',
      { inInterface: 'veth of web-0', packet: { source: '10.65.2.9' } },
      'web-0 by interface, db-0 by pod-address',
    ],
    [
      'the veth over an address that is nobody’s',
      { outInterface: 'veth of db-0', packet: { destination: '172.30.0.5' } },
      'web-0 by pod-address, db-0 by interface',
    ],
    ['a bridge port', { inInterface: 'br0', physIn: 'veth of web-0' }, 'web-0 by interface, db-0 by pod-address'],
    [
      'the interface over the bridge port',
      { inInterface: 'veth of web-0', physIn: 'veth of db-0' },
      'web-0 by interface, db-0 by pod-address',
    ],
    [
      'other interfaces tell nothing',
      { inInterface: 'eth0', outInterface: 'tunl0' },
      'web-0 by pod-address, db-0 by pod-address',
    ],
    [
      'IPv6',
      { packet: { source: 'fd00:65::4', destination: 'fd00:65::9' } },
      'web-0 by pod-address, db-0 by pod-address',
    ],
    [
      'neither',
      { packet: { source: '8.8.8.8', destination: '192.168.7.12' } },
      'external by address-range, node-b by node-address',
    ],
    [
      'a packet of a node itself, from the address of its bridge of Pods',
      { inInterface: '', outInterface: 'veth of web-0', packet: { source: '10.65.1.1', destination: '10.65.1.4' } },
      'node-a by node-address, web-0 by interface',
    ],
    [
      'that address in a packet that came from elsewhere',
      { inInterface: 'eth0', packet: { source: '10.65.1.1' } },
      'unknown by address-range, db-0 by pod-address',
    ],
    [
      'an address of no node in what a node sends itself',
      { inInterface: '', packet: { source: '8.8.8.8' } },
      'external by address-range, db-0 by pod-address',
    ],
  ],
  nodes: [
    ['the host name', 'node-b', {}, 'both', 'node-b'],
    ['the host name with its domain', 'node-b.example.org', {}, 'both', 'node-b'],
    ['the host name over the interface', 'node-a', { inInterface: 'veth of db-0' }, 'both', 'node-a'],
    ['IN= when the host is no node', 'log-relay', { inInterface: 'veth of db-0' }, 'both', 'node-b'],
    [
      'OUT= when the host is no node',
      'log-relay',
      { inInterface: 'eth0', outInterface: 'veth of db-0' },
      'both',
      'node-b',
    ],
    ['IN= without a host', undefined, { inInterface: 'veth of web-0' }, 'both', 'node-a'],
    ['a host of no known node', 'node-z', {}, 'both', 'node-z'],
    ['a host where no node is known', 'node-z', {}, 'none', 'node-z'],
    ['nothing: a host that is no name of one', '<!here>', {}, 'none', ''],
    [
      'nothing: a host that is too long',
      'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      {},
      'none',
      '',
    ],
    ['the only node', undefined, {}, 'one', 'node-a'],
    ['nothing: several nodes', undefined, { inInterface: 'eth0' }, 'both', ''],
    ['nothing at all', undefined, {}, 'none', ''],
  ],
};

const at = { time: nine, exact: true };
const [webVeth = '', webEni = ''] = interfaceNames('shop', 'web-0');
const [dbVeth = ''] = interfaceNames('shop', 'db-0');
const web = pod({ addresses: ['10.65.1.4', 'fd00:65::4'] });
const db = pod({ name: 'db-0', node: 'node-b', addresses: ['10.65.2.9', 'fd00:65::9'] });
const endpoints = createEndpointFinder(
  cluster({
    pods: [web, db],
    nodes: [node({ podRanges: ['10.65.1.0/24'] }), node({ name: 'node-b', addresses: ['192.168.7.12'] })],
  }),
);

const ends = (given: Parameters<typeof observation>[0]): string => {
  const { source, destination } = resolvePacket(observation(given), endpoints, at);
  return [source, destination].map((end) => `${end.object?.name ?? end.kind} by ${end.evidence}`).join(', ');
};

const asked = (destination: string) =>
  observation({ destinationHost: 'pay.example.com', packet: packet({ destination }) });

const interfaces: Readonly<Record<string, string>> = {
  'veth of web-0': webVeth,
  'eni of web-0': webEni,
  'veth of db-0': dbVeth,
};

const named = (given: Interfaces): Interfaces =>
  Object.fromEntries(Object.entries(given).map(([key, name]) => [key, interfaces[name ?? ''] ?? name]));

test.each(tables.ends)('the ends of a packet: %s', (_, { packet: header, ...given }, expected) => {
  expect(ends({ ...named(given), packet: packet(header) })).toBe(expected);
});

test('a name under which the sender has looked up an address is shown if nobody in the cluster has the address', () => {
  const outside = resolvePacket(asked('8.8.8.8'), endpoints, at).destination;
  expect(outside).toMatchObject({ kind: 'external', address: '8.8.8.8', hostName: 'pay.example.com' });
  expect(outside.note).toContain('pay.example.com, ');
  expect(resolvePacket(asked('10.65.1.4'), endpoints, at).destination).toMatchObject({
    kind: 'pod',
    note: undefined,
  });
});

test('a spoofed source is shown, although the Pod is known by its veth', () => {
  const { source } = resolvePacket(
    observation({ inInterface: webVeth, packet: packet({ source: '8.8.8.8' }) }),
    endpoints,
    at,
  );
  expect(source).toMatchObject({ kind: 'pod', address: '8.8.8.8', object: { name: 'web-0' } });
});

test("an ICMP error's inner packet has its own ends", () => {
  const error = observation({
    inInterface: 'eth0',
    outInterface: webVeth,
    packet: icmp(3, 4, { source: '198.51.100.1', destination: '10.65.1.4' }),
    inner: packet({ source: '10.65.1.4', destination: '203.0.113.9' }),
  });
  const { source, destination, inner } = resolvePacket(error, endpoints, at);
  expect(source).toMatchObject({ kind: 'external', address: '198.51.100.1' });
  expect(destination).toMatchObject({ evidence: 'interface', object: { name: 'web-0' } });
  // The receiver of the error sent the packet, so the evidence is the same.
  expect(inner?.source).toEqual(destination);
  expect(inner?.destination).toMatchObject({ kind: 'external', address: '203.0.113.9' });
});

test('the target of the inner packet is the reporter if it has its address', () => {
  const error = observation({
    inInterface: dbVeth,
    packet: icmp(3, 3, { source: '10.65.2.9', destination: '10.65.1.4' }),
    inner: packet({ source: '10.65.1.4', destination: '10.65.2.9' }),
  });
  const { source, inner } = resolvePacket(error, endpoints, at);
  expect(inner?.destination).toEqual(source);
  expect(source.evidence).toBe('interface');
});

// A router answers to the sender of the packet, and connection tracking translates both addresses at once.
test.each([
  ['of another Pod', '203.0.113.9', packet({ source: '10.65.2.9', destination: '10.65.1.4' })],
  ['of a Pod, while the error goes to its node', '192.168.7.11', packet({ destination: '8.8.8.8' })],
  ['of the other family', '10.65.1.4', packet({ source: 'fd00:65::4', destination: 'fd00:65::9' })],
])('an inner packet whose sender does not receive the error is not believed: one %s', (_, destination, inner) => {
  const error = observation({ packet: icmp(3, 4, { source: '10.65.9.9', destination }), inner });
  expect(resolvePacket(error, endpoints, at)).toMatchObject({
    destination: { address: destination },
    inner: undefined,
  });
});

test('a Pod that forges the source of an error does not become the target of the inner packet', () => {
  const error = observation({
    inInterface: webVeth,
    packet: icmp(3, 3, { source: '8.8.8.8', destination: '10.65.2.9' }),
    inner: packet({ source: '10.65.2.9', destination: '8.8.8.8' }),
  });
  expect(resolvePacket(error, endpoints, at)).toMatchObject({
    source: { object: { name: 'web-0' }, note: 'not its own address' },
    inner: { destination: { kind: 'external', object: undefined } },
  });
});

const martian = { kind: 'martian', impossible: 'source', source: '10.65.1.4', destination: '10.65.2.9' } as const;

test("a martian's sender is found by its interface", () => {
  expect(resolveMartian({ ...martian, source: '8.8.8.8', device: webVeth }, endpoints, at)).toMatchObject({
    source: { kind: 'pod', address: '8.8.8.8', object: { name: 'web-0' }, evidence: 'interface' },
    destination: { object: { name: 'db-0' } },
    inner: undefined,
  });
});

test("a martian's source address is not believed", () => {
  const { source } = resolveMartian({ ...martian, device: 'eth0' }, endpoints, at);
  expect(source).toMatchObject({
    kind: 'external',
    address: '10.65.1.4',
    object: undefined,
    note: expect.stringMatching(/\beth0\b.* shop\/web-0$/),
  });
});

test('a martian from an unowned address is attributed to its interface', () => {
  const { source } = endsOf({ ...martian, source: '192.0.2.7', device: 'eth0' }, endpoints, at);
  expect(source).toMatchObject({ kind: 'external', note: 'from eth0', identity: 'eth0 192.0.2.7' });
  expect(endsOf(observation({}), endpoints, at).source.note).toBeUndefined();
});

test("a Node's address is named as such", () => {
  const { source } = resolveMartian({ ...martian, source: '192.168.7.12', device: 'eth0' }, endpoints, at);
  expect(source.note).toMatch(/ node\/node-b$/);
});

const single = createEndpointFinder(cluster({ nodes: [node()] }));
const known = { both: endpoints, one: single, none: createEndpointFinder(cluster()) };

test.each(tables.nodes)('the node of a line: %s', (_, host, given, nodes, expected) => {
  expect(loggedNode(host, observation(named(given)), known[nodes], at)).toBe(expected);
});

test('the node is also found for lines without a packet', () => {
  expect(loggedNode('node-a', undefined, endpoints, at)).toBe('node-a');
  expect(loggedNode(undefined, undefined, single, at)).toBe('node-a');
});
