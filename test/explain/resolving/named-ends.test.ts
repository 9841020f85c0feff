import { expect, test } from 'vitest';
import type { Ends } from '../../../src/base/model/endpoint.ts';
import { createEndpointFinder, endpointFinderOf } from '../../../src/explain/resolving/endpoint-finder.ts';
import { createPodIndex } from '../../../src/explain/resolving/pod-index.ts';
import { resolvePacket } from '../../../src/explain/resolving/resolver.ts';
import { cluster, nine, node, observation, packet, pod } from '../../builders.ts';

/** Tests how ends are found if a logger gives names and no addresses (parsing/policy-loggers/calico.ts). */

const at = { time: nine, exact: false };
const workload = { kind: 'Deployment', namespace: 'shop', name: 'web' };
const replica = (name: string, given: Parameters<typeof pod>[0]) => pod({ name, workload, ...given });
const pods = [
  replica('web-6c8d5f7b94-kx2pv', { uid: 'a', addresses: ['10.65.1.4'] }),
  replica('web-6c8d5f7b94-8wzqd', { uid: 'b', addresses: ['10.65.1.5'] }),
  replica('web-6c8d5f7b94-zzzzz', { uid: 'c', addresses: ['10.65.2.6'], node: 'node-b' }),
  replica('web-6c8d5f7b94-gone0', { uid: 'd', addresses: ['10.65.1.7'], until: nine - 60_000 }),
  replica('web-6c8d5f7b94-host0', { uid: 'e', addresses: ['192.168.7.11'], hostNetwork: true }),
  pod({ name: 'db-0', uid: 'f', addresses: ['10.65.2.9'], node: 'node-b' }),
  pod({ name: 'db-1', uid: 'g', addresses: [] }),
];
const endpoints = createEndpointFinder(cluster({ pods, nodes: [node({ addresses: ['192.168.7.11'] })] }));

function resolve(source: string, destination: string, policySide?: 'sender' | 'receiver', logged = 'node-a'): Ends {
  const given = { logger: 'calico-flow', policySide, packet: packet({ source, destination }) };
  return resolvePacket(observation(given), endpoints, at, logged);
}

test('the only Pod of a workload on the node is the end on that node', () => {
  const { destination } = resolve('public network', 'shop/db-*', 'receiver', 'node-b');
  expect(destination).toMatchObject({ kind: 'pod', address: '10.65.2.9', evidence: 'pod-name', note: undefined });
  expect(destination.object?.name).toBe('db-0');
});

test('several Pods of one workload on the node are the candidates, and no Pod of another node or time', () => {
  const { source } = resolve('shop/web-6c8d5f7b94-*', 'shop/db-*', 'sender');
  expect(source).toMatchObject({ kind: 'unknown', address: 'shop/web-6c8d5f7b94-*', object: undefined, workload });
  expect(source.candidates?.map(({ object }) => object?.uid)).toEqual(['b', 'a']);
  expect(source.note).toBe('one of 2 Pods of node-a');
});

test("a bare Pod named like a workload's replicas does not belong to it", () => {
  const own = { kind: 'StatefulSet', namespace: 'shop', name: 'web' };
  const named = createEndpointFinder(cluster({ pods: [pod({ workload: own }), pod({ name: 'web-debug' })] }));
  expect(named.byName('shop/web-*', at, 'node-a').object?.name).toBe('web-0');
  const two = createEndpointFinder(
    cluster({ pods: [pod({ workload: own }), pod({ name: 'web-1', workload: { ...own, kind: 'DaemonSet' } })] }),
  );
  expect(two.byName('shop/web-*', at, 'node-a')).toMatchObject({ kind: 'unknown', workload: undefined });
});

test('if the node is unknown, Pods of all nodes are candidates', () => {
  const { source } = resolve('shop/web-6c8d5f7b94-*', 'shop/db-*', 'sender', '');
  expect(source.candidates?.map(({ object }) => object?.uid)).toEqual(['b', 'a', 'c']);
});

test('a workload at the other end is not a Pod, even if one of its Pods is known', () => {
  for (const side of ['sender', undefined] as const)
    expect(resolve('shop/db-*', 'shop/db-*', side).destination).toMatchObject({
      kind: 'unknown',
      address: 'shop/db-*',
      object: undefined,
    });
});

test('a Pod given by its whole name is found on any node', () => {
  expect(resolve('shop/db-0', 'shop/db-9').source).toMatchObject({ kind: 'pod', node: 'node-b' });
  expect(resolve('shop/db-0', 'shop/db-9').destination).toMatchObject({ kind: 'unknown', address: 'shop/db-9' });
});

test('a Pod without an address has its name in place of one', () => {
  expect(resolve('shop/db-1', 'public network').source).toMatchObject({ kind: 'pod', address: 'shop/db-1' });
});

test('a Pod that has just ended is still a candidate', () => {
  const { time } = at;
  const late = createEndpointFinder(cluster({ pods: [replica('web-1-aaaaa', { until: time - 1000 })] }));
  const given = observation({ policySide: 'sender', packet: packet({ source: 'shop/web-1-*', destination: 'x/y' }) });
  expect(resolvePacket(given, late, at, 'node-a').source.kind).toBe('pod');
});

test('nodes, networks and sets of networks are ends without a Pod', () => {
  expect(resolve('Node node-a', 'public network')).toMatchObject({
    source: { kind: 'node', address: '192.168.7.11' },
    destination: { kind: 'external', range: 'public' },
  });
  expect(resolve('Node other', 'NetworkSet shop/partners')).toMatchObject({
    source: { kind: 'external', address: 'Node other' },
    destination: { kind: 'external', range: 'private', object: undefined },
  });
});

test('Pods of an earlier run are found by name while the lists are empty', () => {
  const earlier = createPodIndex('node-a');
  earlier.add(pod({ name: 'db-0', addresses: ['10.65.1.9'] }));
  const lists = endpointFinderOf({ pods: createPodIndex('node-a'), earlier, nodes: () => [], services: () => [] });
  expect(lists.byName('shop/db-*', at, 'node-a')).toMatchObject({ kind: 'pod', address: '10.65.1.9' });
});

test('Pods that come and go are found by name as soon as they are listed', () => {
  const index = createPodIndex('node-a');
  const one = pod({ name: 'db-0' });
  expect(index.byName('shop/db-*')).toEqual([]);
  index.add(one);
  expect(index.byName('shop/db-*')).toEqual([one]);
  index.remove(one);
  expect(index.byName('shop/db-0')).toEqual([]);
});
