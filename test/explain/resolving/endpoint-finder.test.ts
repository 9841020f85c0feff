import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { shorten } from '../../../src/explain/resolving/node-index.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import type { Pod } from '../../../src/explain/resolving/objects.ts';
import { clock, cluster, nine, node, pod, service } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

/** Questions to a directory, and its answers. */
const tables: {
  owners: [string, string][];
  named: [string, string, string, object][];
  reused: [string, string, string][];
  nodes: [string, string | undefined][];
  ports: [string, string, number, string, string | undefined][];
  shortNames: [string, string][];
} = {
  // Addresses, and whose they are.
  owners: [
    ['10.65.1.4', 'pod Pod/shop/web-0 by pod-address, shop/web-0 of node-a'],
    ['2001:db8:65:1::4', 'pod Pod/shop/web-0 by pod-address, shop/web-0 of node-a'],
    ['10.65.1.5', 'pod Deployment/shop/worker by pod-address, shop/worker-1 of node-a'],
    ['10.65.1.6', 'pod Pod/kube-system/coredns by pod-address, kube-system/coredns of node-a, dns'],
    ['192.168.7.11', 'node Node/node-a by node-address, node-a of node-a'],
    ['198.51.100.1', 'node Node/node-a by node-address, node-a of node-a'],
    ['10.65.1.0', 'node Node/node-a by node-address, node-a of node-a'],
    ['10.96.0.80', 'service Service/shop/api by service-address, shop/api'],
    ['10.96.0.1', 'service Service/default/kubernetes by service-address, default/kubernetes, api-server'],
    ['2001:db8:96::1', 'service Service/default/kubernetes by service-address, default/kubernetes, api-server'],
    ['8.8.8.8', 'external 8.8.8.8 by address-range'],
    ['10.99.0.1', 'external 10.99.0.1 by address-range'],
    ['169.254.169.254', 'external 169.254.169.254 by address-range, metadata'],
    ['224.0.0.1', 'external 224.0.0.1 by address-range'],
    ['10.65.2.77', 'unknown 10.65.2.77 by address-range'],
    ['fd00:65:1::77', 'unknown fd00:65:1::77 by address-range'],
    // Pods may have public addresses: in IPv6 clusters, and with class E on GKE.
    ['2001:db8:65:2::77', 'unknown 2001:db8:65:2::77 by address-range'],
    ['240.10.3.4', 'unknown 240.10.3.4 by address-range'],
  ],
  // A title, an address, the Pod that a log names for it, and the resulting end.
  named: [
    ['has the address', '10.65.1.4', 'shop/here', { kind: 'pod', object: { name: 'here' } }],
    ['had it before', '10.65.1.4', 'shop/gone', { kind: 'pod', evidence: 'pod-address', object: { name: 'gone' } }],
    [
      'is another than has it',
      '10.65.1.4',
      'shop/other',
      { kind: 'unknown', object: undefined, note: 'the log names shop/other, but shop/here has this address' },
    ],
    [
      'is of another namespace than who has it',
      '10.65.1.4',
      'bank/here',
      { kind: 'unknown', object: undefined, note: 'the log names bank/here, but shop/here has this address' },
    ],
    [
      'is known by its name only',
      '203.0.113.9',
      'shop/other',
      { kind: 'unknown', object: undefined, identity: '203.0.113.9', note: 'shop/other, named by the log' },
    ],
  ],
  // A time, and the owner of the address at that time.
  reused: [
    ['08:59:57', 'nobody', 'before all'],
    ['08:59:58', 'first', 'clocks differ a little'],
    ['09:00:00', 'first', 'from the start'],
    ['09:09:59.999', 'first', 'to the end'],
    ['09:10:00', 'nobody', 'no longer'],
    ['09:15:00', 'nobody', 'between'],
    ['09:20:00', 'second', 'from the start of the next'],
    ['09:29:59.500', 'second', 'as long as it lives'],
    ['09:30:02', 'third', 'then the one after it'],
    ['23:59:59', 'third', 'which still has it'],
  ],
  nodes: [
    ['node-a', 'node-a'],
    ['node-a.example.org', 'node-a'],
    ['ip-10-0-1-2', 'node-a'],
    ['ip-10-0-1-2.eu-west-1.compute.internal', 'node-a'],
    ['ip-10-0-1-3.ec2.internal', 'ip-10-0-1-3.ec2.internal'],
    // syslog daemons write short names, while EC2 nodes have full names.
    ['ip-10-0-1-3', 'ip-10-0-1-3.ec2.internal'],
    // The kubelet makes its node's name lower case; the host's own name may not be.
    ['Node-A', 'node-a'],
    ['edge.east', 'edge.east'],
    ['edge', undefined],
    ['node-c', undefined],
    ['', undefined],
    ['IP-10-0-1-3.EC2.internal', 'ip-10-0-1-3.ec2.internal'],
    ['ip-10-0-1-3.example.com', 'ip-10-0-1-3.ec2.internal'],
    ['gateway', 'ip-10-0-1-3.ec2.internal'],
    ['node-b', 'node-b'],
    ['node-b.example.com', 'node-b'],
    ['node-b.example.org', 'node-b'],
    ['twin.rack-2', 'twin.rack-2'],
    ['twin', undefined],
    ['twin.rack-4', undefined],
    ['10.0.1.9', '10.0.1.9'],
    ['10.0.1.8', undefined],
    ['10', undefined],
    ['node', undefined],
    ['relay', 'relay'],
    ['relay.example.org', 'relay'],
    ['relay.east', 'relay.east'],
  ],
  ports: [
    ['of a Pod', '10.65.1.4', 80, 'TCP', 'http'],
    ['of a Pod’s UDP port', '10.65.1.4', 53, 'UDP', 'dns'],
    ['of a Pod’s other port: none', '10.65.1.4', 8080, 'TCP', undefined],
    ['of another protocol: none', '10.65.1.4', 53, 'TCP', undefined],
    ['of another Pod is its own', '10.65.1.5', 80, 'TCP', 'ssh'],
    ['of a Service', '10.96.0.80', 80, 'TCP', 'http'],
    ['of a Service’s other port: none', '10.96.0.80', 81, 'TCP', undefined],
    ['of a node: none', '192.168.7.11', 80, 'TCP', undefined],
    ['of a stranger: none', '203.0.113.9', 80, 'TCP', undefined],
  ],
  // Names, and their short ones.
  shortNames: [
    ['node-a.example.com', 'node-a'],
    ['node-a', 'node-a'],
    ['10.0.1.3', '10.0.1.3'],
    ['10.example.com', '10'],
    ['a10.0.1', 'a10'],
  ],
};

const at = (text: string, exact = true): { time: number; exact: boolean } => ({ time: clock(text), exact });
const then = at('09:00:00');

const owners = createEndpointFinder(
  cluster({
    pods: [
      pod({ addresses: ['10.65.1.4', '2001:db8:65:1::4'] }),
      pod({ name: 'agent', hostNetwork: true, addresses: ['192.168.7.11'] }),
      pod({
        name: 'worker-1',
        addresses: ['10.65.1.5'],
        workload: { kind: 'Deployment', namespace: 'shop', name: 'worker' },
      }),
      pod({ namespace: 'kube-system', name: 'coredns', addresses: ['10.65.1.6'], role: 'dns' }),
    ],
    nodes: [
      node({
        addresses: ['192.168.7.11', '198.51.100.1', '10.65.1.0'],
        podRanges: ['10.65.1.0/24', 'fd00:65:1::/64'],
      }),
      node({
        name: 'node-b',
        addresses: ['192.168.7.12'],
        podRanges: ['10.65.2.0/24', '2001:db8:65:2::/64', '240.10.0.0/16'],
      }),
    ],
    services: [
      service(),
      service({
        namespace: 'default',
        name: 'kubernetes',
        addresses: ['10.96.0.1', '2001:db8:96::1'],
        role: 'api-server',
      }),
    ],
  }),
);

test.each(tables.owners)('an address has its owner: %s: %s', (address, expected) => {
  const { kind, identity, evidence, object, node: home, role, ...end } = owners.byAddress(address, then);
  const name = object && `, ${[object.namespace, object.name].filter(Boolean).join('/')}${home ? ` of ${home}` : ''}`;
  expect(`${kind} ${identity} by ${evidence}${name ?? ''}${role ? `, ${role}` : ''}`).toBe(expected);
  expect(end.address).toBe(address);
  if (kind === 'unknown') expect(end.note).toContain(address.includes('65:1:') ? 'node-a' : 'node-b');
});

test('the workload of a Pod comes with its address', () => {
  const workload = { kind: 'Deployment', namespace: 'shop', name: 'worker' };
  expect(owners.byAddress('10.65.1.5', then).workload).toEqual(workload);
});

test('a node keeps its address when only its Pod is known', () => {
  const bare = createEndpointFinder(cluster({ pods: [pod({ hostNetwork: true, addresses: ['192.168.7.11'] })] }));
  expect(bare.byAddress('192.168.7.11', then)).toMatchObject({ kind: 'external', object: undefined });
});

test('an object is named in full', () => {
  expect(owners.byAddress('192.168.7.11', then).object).toMatchObject({ kind: 'Node', uid: 'uid-of-node-a' });
  expect(owners.byAddress('10.65.1.4', then).object).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: 'shop',
    name: 'web-0',
    uid: 'uid-of-web-0',
    resourceVersion: '7',
  });
});

const owner = (pods: Pod[], text: string, exact = true): string =>
  createEndpointFinder(cluster({ pods })).byAddress('10.65.1.4', at(text, exact)).object?.name ?? 'nobody';

const gone = pod({ name: 'gone', until: clock('09:10:00') });
const here = pod({ name: 'here', from: clock('09:20:00') });
const named = createEndpointFinder(cluster({ pods: [gone, here], nodes: [node()] }));

test.each(tables.named)('the Pod that a log names is used: %s', (_, address, name, expected) => {
  expect(named.byAddress(address, at('10:00:00'), name)).toMatchObject({ address, ...expected });
});

test('the Pod that a log names is not looked up at the address of a Node', () => {
  expect(named.byAddress('192.168.7.11', then, 'shop/here')).toMatchObject({ kind: 'node', node: 'node-a' });
});

const first = pod({ name: 'first', from: clock('09:00:00'), until: clock('09:10:00') });
const second = pod({ name: 'second', from: clock('09:20:00'), until: clock('09:30:00') });
const third = pod({ name: 'third', from: clock('09:30:01') });

test.each(tables.reused)('a reused address: %s: %s (%s)', (text, expected) => {
  for (const pods of [
    [first, second, third],
    [third, second, first],
  ])
    expect(owner(pods, text)).toBe(expected);
});

test('an address does not belong to the next Pod while the one before still runs', () => {
  // A Pod may start long before it gets an address, namely when another Pod gives up its own.
  const waiting = pod({ name: 'waiting', from: clock('09:05:00') });
  expect(owner([first, waiting], '09:08:00')).toBe('first');
  expect(owner([first, waiting], '09:12:00')).toBe('waiting');
});

test('an inexact time does not take an address from the only Pod that had it', () => {
  expect(owner([third], '09:00:00', false)).toBe('third');
  expect(owner([third], '09:00:00', true)).toBe('nobody');
});

test('an inexact time decides between several Pods', () => {
  expect(owner([first, third], '09:05:00', false)).toBe('first');
});

test('a Pod that has ended gets no later packets, however inexact the time', () => {
  expect(owner([first], '09:50:00', false)).toBe('nobody');
});

test('a Pod that never had the address gets no packets from just before', () => {
  const never = pod({ from: clock('09:00:00'), until: clock('09:00:00') });
  for (const text of ['08:59:59', '09:00:00', '09:00:01']) expect(owner([never], text)).toBe('nobody');
});

test('an unknown Pod with such an address is not taken for an address outside', () => {
  const stranger = createEndpointFinder(cluster({ pods: [first] })).byAddress('10.65.1.4', at('09:50:00'));
  expect(stranger).toMatchObject({
    kind: 'unknown',
    evidence: 'none',
    object: undefined,
    note: expect.stringContaining('shop/first'),
  });
});

const ofInterfaces = createEndpointFinder(
  cluster({ pods: [pod({ namespace: 'default', name: 'nginx' }), pod({ name: 'host', hostNetwork: true })] }),
);

test.each(['calic440f455693', 'enic440f455693'])('an interface belongs to the Pod whose name gives it: %s', (name) => {
  expect(ofInterfaces.podByInterface(name, '10.9.9.9', then)).toMatchObject({
    kind: 'pod',
    address: '10.9.9.9',
    evidence: 'interface',
    object: { name: 'nginx' },
  });
});

test.each(['eth0', 'calic440f455694', ''])('the interface %j belongs to no Pod', (name) => {
  expect(ofInterfaces.podByInterface(name, '10.65.1.4', then)).toBeUndefined();
});

test("a Pod on its node's network has no interface of its own", () => {
  const names = interfaceNames('shop', 'host');
  expect(names.map((name) => ofInterfaces.podByInterface(name, '10.65.1.4', then))).toEqual([undefined, undefined]);
});

/** 44 bits of a hash are not enough: a search of a minute found two Pods whose interfaces have the same name. */
const [sharedVeth = ''] = interfaceNames('shop', 'web-2137913');
const namespaceOf = (...pods: Pod[]): string | undefined =>
  createEndpointFinder(cluster({ pods })).podByInterface(sharedVeth, '10.65.1.4', then)?.object?.namespace;

const victim = pod({ name: 'web-2137913', addresses: ['10.65.1.4'], from: clock('08:00:00') });
const namesake = { namespace: 'evil', name: 'a-720912', node: 'node-b', from: clock('08:30:00') };
const ownerOf = (other: Partial<Pod>, address: string, inexact?: 'inexact'): (string | undefined)[] => {
  const moment = { ...then, exact: inexact === undefined };
  const both = [victim, pod({ ...namesake, ...other })];
  return [both, both.toReversed()].flatMap((pods) => {
    const endpoints = createEndpointFinder(cluster({ pods }));
    const found = endpoints.podByInterface(sharedVeth, address, moment);
    expect(endpoints.nodeByInterface(sharedVeth, address, moment)).toBe(found?.node);
    return found?.object?.namespace;
  });
};

test('two Pods can have the same interface name', () => {
  expect(interfaceNames('evil', namesake.name)).toEqual(interfaceNames('shop', victim.name));
});

test.each<[string, Partial<Pod>, string, string | undefined]>([
  ['is of the Pod that has the address', { addresses: ['10.65.2.9'] }, '10.65.1.4', 'shop'],
  ['is of the other where it has the address', { addresses: ['10.65.2.9'] }, '10.65.2.9', 'evil'],
  ['is not of a Pod without any address', { addresses: [] }, '10.65.1.4', 'shop'],
  ['is not of such a Pod by a forged address either', { addresses: [] }, '8.8.8.8', 'shop'],
  ['is of neither by an address that neither has', { addresses: ['10.65.2.9'] }, '8.8.8.8', undefined],
  [
    'is not of a Pod that has ended, whatever address it had',
    { addresses: ['10.65.1.4'], until: clock('08:40:00') },
    '10.65.1.4',
    'shop',
  ],
])('an interface name shared by two Pods: %s', (_, other, address, expected) => {
  expect(ownerOf(other, address)).toEqual([expected, expected]);
  if (other.until === undefined) expect(ownerOf(other, address, 'inexact')).toEqual([expected, expected]);
});

test('an interface name shared by two Pods belongs to neither while neither has an address, but a single Pod is known by it before its address is', () => {
  const starting = pod({ ...victim, addresses: [] });
  expect(namespaceOf(starting, pod({ ...namesake, addresses: [] }))).toBeUndefined();
  expect(namespaceOf(starting)).toBe('shop');
});

test('an interface name shared by two Pods still belongs to a Pod whose address is no longer listed', () => {
  const lists = createLiveLists('node-a', undefined);
  lists.setPod(pod({ ...victim }), clock('08:00:00'));
  lists.setPod(pod({ ...namesake, node: 'node-a', addresses: [] }), clock('08:30:00'));
  const ownerThen = (): string | undefined =>
    lists.endpoints.podByInterface(sharedVeth, '10.65.1.4', at('08:45:00'))?.object?.namespace;
  expect(ownerThen()).toBe('shop');
  lists.removePod('shop', victim.name, clock('08:50:00'));
  expect(ownerThen()).toBe('shop');
  expect(lists.endpoints.podByInterface(sharedVeth, '10.65.1.4', at('08:51:00'))).toBeUndefined();
});

const ofNodes = createEndpointFinder(
  cluster({
    nodes: [
      node({ hostNames: ['ip-10-0-1-2', 'ip-10-0-1-2.eu-west-1.compute.internal'] }),
      node({ name: 'ip-10-0-1-3.ec2.internal', hostNames: ['ip-10-0-1-3.ec2.internal', 'Gateway'] }),
      // Its own name is also the short name of its host name: it is one node, so the name finds it.
      node({ name: 'node-b', hostNames: ['node-b.example.com'] }),
      node({ name: 'edge.east', addresses: ['192.168.7.12', 'fd00:7::12'] }),
      node({ name: 'edge.west' }),
      // If two nodes share a short name, a third one does not make the name usable again.
      ...[1, 2, 3].map((number) => node({ name: `twin.rack-${number}` })),
      node({ name: '10.0.1.9' }),
      // The full name of the first is the short name of both.
      node({ name: 'relay' }),
      node({ name: 'relay.east' }),
    ],
  }),
);

test.each(tables.nodes)('the node of the name %j is %j', (name, expected) => {
  expect(ofNodes.node(name)?.name).toBe(expected);
  expect(ofNodes.nodeOfHost(name)?.name).toBe(expected);
});

// talosctl names a node by the address that it was called with.
test.each(['192.168.7.12', 'fd00:7::12'])('%s is the host of a line, but not the name of a node', (address) => {
  expect(ofNodes.nodeOfHost(address)?.name).toBe('edge.east');
  expect(ofNodes.node(address)).toBeUndefined();
});

const minute = fc.integer({ min: 0, max: 12 }).map((value) => nine + value * 1500);
const life = fc.tuple(fc.oneof(minute, fc.constant(-Infinity)), fc.oneof(minute, fc.constant(Infinity)));
const anyPods = fc
  .array(fc.record({ life, address: fc.constantFrom('10.65.1.4', '10.65.1.5'), hostNetwork: fc.boolean() }), {
    maxLength: 6,
  })
  .map((list) =>
    list.map(({ life: [from, until], address, hostNetwork }, index) =>
      pod({ name: `pod-${index % 4}`, uid: `${index}`, addresses: [address], hostNetwork, from, until }),
    ),
  );
const times = fc.integer({ min: -6000, max: 26_000 }).map((value) => nine + value);

test('within an epoch, every answer stays the same', () => {
  forAll([anyPods, times, times], { numRuns: 500 }, (list, one, other) => {
    const endpoints = createEndpointFinder(cluster({ pods: list }));
    const { from, until } = endpoints.epoch(one);
    expect(one >= from && one < until).toBe(true);
    // Any time will do, if it is brought into the span.
    const inside = Math.max(from === -Infinity ? other : from, Math.min(other, until - 1));
    if (inside < from || inside >= until) return;
    const veths = [0, 1, 2, 3].flatMap((index) => interfaceNames('shop', `pod-${index}`));
    const answers = (time: number, exact: boolean): unknown[] => [
      ['10.65.1.4', '10.65.1.5', '8.8.8.8'].map((address) => endpoints.byAddress(address, { time, exact })),
      veths.map((name) => endpoints.podByInterface(name, '10.65.1.9', { time, exact })),
      veths.map((name) => endpoints.nodeByInterface(name, '10.65.1.9', { time, exact })),
    ];
    for (const exact of [true, false]) expect(answers(inside, exact)).toEqual(answers(one, exact));
  });
});

test('spans follow each other without gaps', () => {
  forAll([anyPods, times], {}, (list, one) => {
    const endpoints = createEndpointFinder(cluster({ pods: list }));
    const { until } = endpoints.epoch(one);
    if (until < Infinity) expect(endpoints.epoch(until).from).toBe(until);
  });
});

test('without changes, an epoch covers all time', () => {
  expect(createEndpointFinder(cluster({ pods: [pod()] })).epoch(nine)).toEqual({ from: -Infinity, until: Infinity });
});

const ports = ',http=80/tcp,dns=53/udp,';
const web = pod({ ports, from: nine });
const otherPod = pod({ name: 'stranger', uid: 'another', addresses: ['10.65.1.5'], ports: ',ssh=80/tcp,' });
const ofPorts = createEndpointFinder(cluster({ pods: [web, otherPod], nodes: [node()], services: [service()] }));
const nameAt = (address: string, port: number, protocol = 'TCP'): string | undefined =>
  ofPorts.portName(ofPorts.byAddress(address, then), port, protocol);

test.each(tables.ports)('the name of a port: %s', (_, address, port, protocol, expected) => {
  expect(nameAt(address, port, protocol)).toBe(expected);
});

test('a Service with one port of two protocols has a name for each', () => {
  const both = (['udp', 'tcp'] as const).map((protocol) => ({ name: `dns-${protocol}`, port: 53, protocol }));
  const saved = createEndpointFinder(cluster({ services: [service({ ports: both })] }));
  expect(saved.portName(saved.byAddress('10.96.0.80', then), 53, 'TCP')).toBe('dns-tcp');
});

test('the only, unnamed port of a Service has no name', () => {
  const nameless = service({ ports: [{ name: '', port: 80, protocol: 'tcp' }] });
  const saved = createEndpointFinder(cluster({ services: [nameless] }));
  expect(saved.portName(saved.byAddress('10.96.0.80', then), 80, 'TCP')).toBeUndefined();
});

test("a Pod's port at a foreign address has neither the Pod's name nor the owner's", () => {
  const [veth = ''] = interfaceNames('shop', 'web-0');
  const spoofing = ofPorts.podByInterface(veth, '10.65.1.5', then);
  expect(spoofing?.object?.name).toBe('web-0');
  expect(spoofing && ofPorts.portName(spoofing, 80, 'TCP')).toBeUndefined();
});

test('a port of a Pod that has ended keeps its own name, not that of the next Pod at its address', () => {
  const lists = createLiveLists('node-a', undefined);
  lists.setPod(web, nine);
  const before = lists.endpoints.byAddress('10.65.1.4', then);
  lists.removePod('shop', 'web-0', nine + 1);
  lists.setPod(pod({ name: 'next', uid: 'next', ports: ',ssh=80/tcp,', from: nine + 1 }), nine + 1);
  expect(lists.endpoints.portName(before, 80, 'TCP')).toBe('http');
});

test('a port of a Pod known only from a look-up has its name', () => {
  const remote = { podsOf: () => [web], nodeOf: () => undefined, hostNameOf: () => undefined, latestChange: nine };
  const lists = createLiveLists('node-b', remote);
  expect(lists.endpoints.portName(lists.endpoints.byAddress('10.65.1.4', then), 80, 'TCP')).toBe('http');
});

test.each(tables.shortNames)('the short name of %s is %s', (name, short) => {
  expect(shorten(name)).toBe(short);
});
