/**
 * The cost of a packet or of a notice from the API server in a large cluster, counted as work, because times depend on
 * the machine.
 */
import { expect, test, vi } from 'vitest';
import * as address from '../../../src/base/platform/address.ts';
import { indexPodRanges } from '../../../src/explain/resolving/endpoints.ts';
import { packEndpoints } from '../../../src/explain/resolving/objects.ts';
import { createPodIndex } from '../../../src/explain/resolving/pod-index.ts';
import { timeTolerance } from '../../../src/explain/resolving/pod-changes.ts';
import { createChainIndex } from '../../../src/explain/resolving/service-chains/chain-index.ts';
import { chainHash } from '../../../src/explain/resolving/service-chains/chain-name.ts';
import { backend, endpointSlice, nine, node, pod, service } from '../../builders.ts';

vi.mock(import('../../../src/base/platform/address.ts'), async (original) => {
  const real = await original();
  return { ...real, hostAndPort: vi.fn<typeof real.hostAndPort>(real.hostAndPort) };
});

const nodes = Array.from({ length: 5000 }, (_, index) =>
  node({
    name: `node-${index}`,
    podRanges: [`10.${index >> 8}.${index & 255}.0/24`, `fd00:${index.toString(16)}::/64`],
  }),
);

test('the node of an address is found with one look-up per prefix length, however many nodes there are', () => {
  const homeOf = indexPodRanges(nodes);
  const divisions = vi.spyOn(Math, 'floor');
  expect(homeOf('10.19.135.7')).toBe('node-4999');
  expect(homeOf('203.0.113.9')).toBeUndefined();
  expect(divisions.mock.calls.length).toBeLessThan(5);
  divisions.mockRestore();
});

test('if ranges overlap, including IPv6, a node has only the addresses in its own', () => {
  const homeOf = indexPodRanges(nodes);
  expect(['fd00:1387::7', 'fd00:1387:0:1::7', '2001:db8::1'].map(homeOf)).toEqual(['node-4999', undefined, undefined]);
});

const manyPorts = Array.from({ length: 512 }, (_, index) => ({
  name: `port-${index}`,
  port: 1000 + index,
  protocol: 'tcp' as const,
}));

function largeSlice(ready: boolean, count = 1000) {
  const endpoints = Array.from({ length: count }, (_, index) =>
    backend({ address: `10.1.${index >> 8}.${index & 255}`, ready: ready || index > 0 }),
  );
  return { ...endpointSlice(), ports: manyPorts, endpoints: packEndpoints(endpoints) };
}

test('a slice whose Pods become ready or unready makes no text of its endpoints', () => {
  const chains = createChainIndex();
  chains.setSlice(largeSlice(true), nine);
  vi.mocked(address.hostAndPort).mockClear();
  chains.setSlice(largeSlice(false), nine);
  expect(address.hostAndPort).not.toHaveBeenCalled();
  chains.setSlice(largeSlice(false, 999), nine);
  expect(address.hostAndPort).toHaveBeenCalledTimes(manyPorts.length);
});

test('deleting a large slice makes no more texts than may be kept', () => {
  const chains = createChainIndex({ age: 60_000, count: 100 });
  const slice = largeSlice(true);
  chains.setSlice(slice, nine);
  vi.mocked(address.hostAndPort).mockClear();
  chains.removeSlice(slice.namespace, slice.name, nine);
  expect(vi.mocked(address.hostAndPort).mock.calls.length).toBeLessThan(105);
});

test("the cost of a connection to a Service depends neither on other Services' slices nor, after the first time, on the size of its own", () => {
  const chains = createChainIndex();
  let looks = 0;
  const add = (name: string, of: string, length: number): void => {
    const endpoints = Array.from({ length }, (_, index) => backend({ address: `10.1.${index >> 8}.${index & 255}` }));
    const slice = endpointSlice({ name, service: of, endpoints });
    chains.setSlice(slice, nine);
    const packed = slice.endpoints;
    Object.defineProperty(slice, 'endpoints', { get: () => (looks++, packed) });
  };
  for (const name of ['api', 'web']) chains.setService(service({ name }), nine);
  for (let number = 0; number < 100; number++) add(`api-${number}`, 'api', 1000);
  add('web-0', 'web', 1);
  const targetsOf = (name: string) => chains.targetsOf('shop', name, { address: '10.96.0.80', port: 80 }, 16);
  expect(targetsOf('web')).toHaveLength(1);
  expect(looks).toBe(1);
  for (let time = 0; time < 100; time++) expect(targetsOf('api')).toBeUndefined();
  expect(looks).toBe(2);
});

test('while no Pod changes, only the first two questions about an old time search Pods', () => {
  const index = createPodIndex(undefined);
  let looks = 0;
  for (let number = 0; number < 1000; number++) {
    const each = pod({ name: `web-${number}`, uid: `uid ${number}` });
    index.add(each);
    Object.defineProperty(each, 'from', { get: () => (looks++, nine + number * 10_000) });
  }
  index.add(pod({ from: nine + 10_000_000 }));
  looks = 0;
  for (let number = 0; number < 1000; number++) {
    const from = nine + number * 10_000;
    expect(index.epoch(from + 1)).toEqual({ from, until: from + 10_000 - timeTolerance });
  }
  expect(looks).toBeLessThanOrEqual(4000);
});

test('after a change of one Pod, a packet with a name searches no other Pod', () => {
  const index = createPodIndex(undefined);
  let looks = 0;
  for (let number = 0; number < 1000; number++) {
    const each = pod({ name: `web-${number}`, uid: `uid ${number}` });
    Object.defineProperty(each, 'hostNetwork', { get: () => (looks++, false) });
    index.add(each);
  }
  expect(index.byName('shop/web-7')).toHaveLength(1);
  const added = pod({ name: 'web-7', uid: 'another' });
  looks = 0;
  index.add(added);
  expect(index.byName('shop/web-7')).toHaveLength(2);
  index.remove(added);
  expect(index.byName('shop/web-7')).toHaveLength(1);
  expect(index.byName('shop/web-*')).toHaveLength(1000);
  expect(looks).toBe(0);
});

test('after a change of one slice, only its endpoints are hashed again, and other work gets its turns', async () => {
  const chains = createChainIndex();
  const ports = manyPorts.slice(0, 4);
  const slice = (number: number, count: number) => ({
    ...endpointSlice({ name: `api-${number}`, endpoints: [] }),
    ports,
    endpoints: packEndpoints(
      Array.from({ length: count }, (_, index) => backend({ address: `10.${number}.${index >> 8}.${index & 255}` })),
    ),
  });
  for (let number = 0; number < 40; number++) chains.setSlice(slice(number, 100), nine);
  const chain = `KUBE-SEP-${chainHash('shop/api:port-0tcp10.7.0.7:1000')}`;
  let turns = 0;
  const count = (): unknown => (turns++, isOver || setImmediate(count));
  let isOver = false;
  setImmediate(count);
  await chains.prepare([chain]);
  isOver = true;
  expect(chains.foundOwnerOf(chain)).toMatchObject({ endpoint: '10.7.0.7:1000', deleted: false });
  expect(turns).toBeGreaterThanOrEqual(10);
  vi.mocked(address.hostAndPort).mockClear();
  chains.setSlice(slice(9, 101), nine);
  await chains.prepare([chain]);
  // Those of the earlier slice, to find what is gone, and those of the current one.
  expect(vi.mocked(address.hostAndPort).mock.calls.length).toBeLessThanOrEqual(2 * 101 * ports.length);
  expect(chains.foundOwnerOf(chain)).toMatchObject({ endpoint: '10.7.0.7:1000' });
});
