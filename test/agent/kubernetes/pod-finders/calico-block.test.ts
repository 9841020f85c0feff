import { expect, test } from 'vitest';
import { createCalicoBlockFinder } from '../../../../src/agent/kubernetes/calico-block.ts';
import { nine } from '../../../builders.ts';
import { fakeApi, podObject } from './fake-api.ts';

const tables: { blocks: [string, number | undefined | string, string][] } = {
  // Addresses, the size of blocks, and the block of each.
  blocks: [
    ['10.65.200.77', 26, '10-65-200-64-26'],
    ['10.65.200.77', 24, '10-65-200-0-24'],
    ['10.65.200.77', 32, '10-65-200-77-32'],
    ['10.65.200.77', undefined, '10-65-200-64-26'],
    ['10.65.200.77', 8, '10-65-200-64-26'],
    ['10.65.200.77', '24', '10-65-200-64-26'],
    ['fd00:65::8f', undefined, 'fd00-65--80-122'],
    ['fd00:65::3f', undefined, 'fd00-65---122'],
    ['fd00:65::1:3f', 116, 'fd00-65--1-0-116'],
  ],
};

const group = '/apis/crd.projectcalico.org/v1';
const pools = `${group}/ippools`;
const block = `${group}/ipamblocks/10-65-2-0-26`;
const minute = 60_000;

function pool(cidr: string, blockSize?: unknown) {
  return { spec: { cidr, blockSize } };
}

/** Holders by the ordinal of their address. */
function blockObject(holders: Readonly<Record<number, Readonly<Record<string, unknown>> | null>>) {
  const allocations: (number | null)[] = Array.from({ length: 64 }, () => null);
  const attributes = Object.entries(holders).map(([ordinal, secondary], index) => {
    allocations[Number(ordinal)] = index;
    return { handle_id: `k8s-pod-network.${ordinal}`, secondary };
  });
  return { spec: { cidr: '10.65.2.0/26', affinity: 'host:node-b', allocations, attributes } };
}

const db = { namespace: 'shop', pod: 'db-0', node: 'node-b', timestamp: '2026-11-21 08:00:00 +0000 UTC' };

function scene(objects: Record<string, unknown> = {}) {
  const clock = { now: nine };
  const api = fakeApi({
    [pools]: { items: [pool('10.65.0.0/16', 26)] },
    [block]: blockObject({ 9: db, 10: { ...db, pod: 'db-1' } }),
    '/api/v1/namespaces/shop/pods/db-0': podObject('db-0', ['10.65.2.9', 'fd00:65::9']),
    '/api/v1/namespaces/shop/pods/db-1': podObject('db-1', ['10.65.2.10']),
    ...objects,
  });
  return {
    api,
    clock,
    finder: createCalicoBlockFinder({ connection: api, clock: { now: () => clock.now, fromWall: (stamp) => stamp } }),
  };
}

test('a block names the Pod, which is then read; another Pod of the block takes one request', async () => {
  const { api, finder } = scene();
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toMatchObject({
    pods: [
      { namespace: 'shop', name: 'db-0', uid: 'uid-of-db-0', node: 'node-b', addresses: ['10.65.2.9', 'fd00:65::9'] },
    ],
  });
  expect(api.asked()).toEqual([pools, block, '/api/v1/namespaces/shop/pods/db-0']);
  await finder.find('10.65.2.10', 'shop');
  expect(api.asked()).toEqual(['/api/v1/namespaces/shop/pods/db-1']);
});

test('64 simultaneous addresses share one block', async () => {
  const { api, finder } = scene();
  await Promise.all(Array.from({ length: 64 }, (_, host) => finder.find(`10.65.2.${host}`, 'shop')));
  expect(api.asked().toSorted()).toEqual(
    [pools, block, '/api/v1/namespaces/shop/pods/db-0', '/api/v1/namespaces/shop/pods/db-1'].toSorted(),
  );
});

test.each(tables.blocks)('%s in blocks of size %j is asked for as %s', async (address, size, name) => {
  const { api, finder } = scene({ [pools]: { items: [pool('10.65.0.0/16', size), pool('fd00:65::/48', size)] } });
  await finder.find(address, 'shop');
  expect(api.asked()).toEqual([pools, `${group}/ipamblocks/${name}`]);
});

test('an address outside all pools has no owner, without a request', async () => {
  const { api, finder } = scene();
  await finder.find('10.65.2.9', 'shop');
  api.asked();
  await expect(finder.find('192.168.7.12', 'shop')).resolves.toBeUndefined();
  await expect(finder.find('fd00:65::9', 'shop')).resolves.toBeUndefined();
  expect(api.asked()).toEqual([]);
});

test('an address without a block is not resolved; an address that its block does not list has no Pod', async () => {
  const { api, finder } = scene();
  await expect(finder.find('10.65.9.9', 'shop')).resolves.toBeUndefined();
  await expect(finder.find('10.65.2.40', 'shop')).resolves.toEqual({ pods: [] });
  api.asked();
  await finder.find('10.65.2.41', 'shop');
  expect(api.asked()).toEqual([]);
});

test('the address of a tunnel is its node’s; other addresses without a Pod are not in use', async () => {
  const { finder } = scene({
    [block]: blockObject({ 0: { type: 'vxlanTunnelAddress', node: 'node-b' }, 1: { node: 'node-b' }, 2: null }),
  });
  await expect(finder.find('10.65.2.0', 'shop')).resolves.toEqual({ pods: [], node: 'node-b' });
  await expect(finder.find('10.65.2.1', 'shop')).resolves.toEqual({ pods: [] });
  await expect(finder.find('10.65.2.2', 'shop')).resolves.toEqual({ pods: [] });
});

test('an outdated block, whose address was given to another Pod, is read again once', async () => {
  const { api, clock, finder } = scene();
  await finder.find('10.65.2.9', 'shop');
  clock.now += minute;
  delete api.objects['/api/v1/namespaces/shop/pods/db-0'];
  api.objects[block] = blockObject({ 9: { ...db, pod: 'job-7' } });
  api.objects['/api/v1/namespaces/shop/pods/job-7'] = podObject('job-7', ['10.65.2.9']);
  api.asked();
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'job-7' }] });
  expect(api.asked()).toEqual(['/api/v1/namespaces/shop/pods/db-0', block, '/api/v1/namespaces/shop/pods/job-7']);
});

test.each([
  ['is gone', 404],
  ['has another address', podObject('db-0', ['10.65.2.33'])],
  ['is on the network of its node', { ...podObject('db-0', ['10.65.2.9']), spec: { hostNetwork: true } }],
  ['cannot be understood', { metadata: {} }],
])('a block is not believed if its Pod %s', async (_, object) => {
  const { finder } = scene({ '/api/v1/namespaces/shop/pods/db-0': object });
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toEqual({ pods: [] });
});

test.each([
  { ...db, pod: '../../../secrets/x' },
  { ...db, namespace: 'shop/pods/x?' },
  { ...db, namespace: 'a'.repeat(64) },
  { ...db, pod: 7 },
  { type: 'ipipTunnelAddress', node: 'node b' },
  'text',
])('a block with names that no object can have is not believed: %j', async (holder) => {
  const { api, finder } = scene({ [block]: blockObject({ 9: holder as never }) });
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toEqual({ pods: [] });
  expect(api.asked()).toEqual([pools, block]);
});

test.each([null, {}, { spec: null }, { spec: { allocations: 'x', attributes: {} } }, { spec: { allocations: [9] } }])(
  'a block without the fields of a block is not believed: %j',
  async (object) => {
    const { finder } = scene({ [block]: object ?? {} });
    await expect(finder.find('10.65.2.9', 'shop')).resolves.toEqual({ pods: [] });
  },
);

test('if Calico is missing, it is looked for again only after ten minutes', async () => {
  const { api, clock, finder } = scene({ [pools]: 404 });
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toBeUndefined();
  await finder.find('10.65.2.9', 'shop');
  expect(api.asked()).toEqual([pools, '/apis/projectcalico.org/v3/ippools']);
  clock.now += 10 * minute;
  await finder.find('10.65.2.9', 'shop');
  expect(api.asked()).toHaveLength(2);
});

test('a release that stores its objects in the other API group is read', async () => {
  const v3 = '/apis/projectcalico.org/v3';
  const { api, finder } = scene({ [pools]: 404, [`${v3}/ippools`]: { items: [pool('10.65.0.0/16')] } });
  await finder.find('10.65.2.9', 'shop');
  expect(api.asked().at(-1)).toBe(`${v3}/ipamblocks/10-65-2-0-26`);
});

test('a missing right is not asked for over and over', async () => {
  const { api, finder } = scene({ [block]: 403 });
  await expect(finder.find('10.65.2.9', 'shop')).rejects.toThrow('status 403');
  api.asked();
  await expect(finder.find('10.65.2.10', 'shop')).resolves.toBeUndefined();
  expect(api.asked()).toEqual([]);
});

test('an API server that is away is asked again', async () => {
  const { api, finder } = scene({ [block]: 0 });
  await expect(finder.find('10.65.2.9', 'shop')).rejects.toThrow('status 0');
  api.objects[block] = blockObject({ 9: db });
  await expect(finder.find('10.65.2.9', 'shop')).resolves.toMatchObject({ pods: [{ name: 'db-0' }] });
});
