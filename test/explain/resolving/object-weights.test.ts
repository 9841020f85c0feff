import { expect, test } from 'vitest';
import { slimEndpointSlice, slimPod, slimService } from '../../../src/agent/kubernetes/slim.ts';
import { createLiveLists, type LiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { weightOfService, weightOfSlice } from '../../../src/explain/resolving/object-weights.ts';
import { createInterner } from '../../../src/explain/resolving/objects.ts';
import { nine } from '../../builders.ts';
import { heapInUse } from '../../heap.ts';

/** The memory of the budget itself is not in the lists. */
const count = 3000;

const uid = (number: number): string => `9b1f4b0e-7f0c-4f0e-9b1f-${String(number).padStart(12, '0')}`;
const metadata = (number: number): object => ({
  namespace: 'shop',
  name: `checkout-6c8d5f7b94-${number}`,
  uid: uid(number),
  resourceVersion: String(1e9 + number),
  labels: { 'kubernetes.io/service-name': `checkout-${number}` },
});
const address = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
const text = (object: object): object => JSON.parse(JSON.stringify(object)) as object;

const pod = (number: number, node: string): unknown =>
  text({
    metadata: metadata(number),
    spec: { nodeName: node, containers: [{ ports: [{ name: 'http', containerPort: 8080 }] }] },
    status: { phase: 'Running', podIP: address(number), startTime: '2026-01-01T00:00:00Z' },
  });

const service = (number: number, ports: number, addresses: number): unknown =>
  text({
    metadata: metadata(number),
    spec: {
      clusterIPs: Array.from({ length: addresses }, (_, index) => address(number * 8 + index)),
      ports: Array.from({ length: ports }, (_, index) => ({ name: `port-${number}-${index}`, port: 80 + index })),
    },
  });

const slice = (number: number, endpoints: number): unknown =>
  text({
    metadata: metadata(number),
    ports: [{ name: 'http', port: 8080 }],
    endpoints: Array.from({ length: endpoints }, (_, index) => ({
      addresses: [address(index)],
      nodeName: 'node-a',
      targetRef: { kind: 'Pod', namespace: 'shop', name: `web-${number}-${index}` },
    })),
  });

/** Sets an object and returns its weight. */
type Keep = (lists: LiveLists, number: number) => number;

test.each<[what: string, keep: Keep]>([
  [
    'Pods of other nodes',
    (lists, number) => {
      const object = slimPod(pod(number, 'node-b'));
      lists.setPod(object, nine);
      return lists.weightOfPod(object);
    },
  ],
  [
    'Services with 16 ports and 8 addresses',
    (lists, number) => {
      const object = slimService(service(number, 16, 8));
      lists.setService(object, nine);
      return weightOfService(object);
    },
  ],
  [
    'Services',
    (lists, number) => {
      const object = slimService(service(number, 1, 1));
      lists.setService(object, nine);
      return weightOfService(object);
    },
  ],
  [
    'EndpointSlices',
    (lists, number) => {
      const object = slimEndpointSlice(slice(number, 50));
      lists.chains.setSlice(object, nine);
      return weightOfSlice(object);
    },
  ],
])('objects weigh at least what the lists keep of them: %s', async (_, keep) => {
  const lists = createLiveLists('node-a', undefined);
  keep(lists, 0);
  lists.endpoints.byAddress('10.0.0.0', { time: nine, exact: true });
  const before = await heapInUse();
  let weight = 0;
  for (let number = 1; number <= count; number++) weight += keep(lists, number);
  lists.endpoints.byAddress('10.0.0.0', { time: nine, exact: true });
  const ratio = weight / ((await heapInUse()) - before);
  expect(ratio).toBeGreaterThan(0.9);
  expect(ratio).toBeLessThan(2);
  expect(lists.sizes).toBeDefined();
});

test.each<[what: string, valueOf: (number: number) => object | string]>([
  ['names', (number) => `web-${number}`],
  ['workloads', (number) => ({ apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop', name: `job-${number}` })],
  [
    'ports',
    (number) => Array.from({ length: 16 }, (_, index) => ({ name: 'http', port: number + index, protocol: 'tcp' })),
  ],
])('for any number of objects, parts kept for sharing stay within 3 MiB: %s', async (_, valueOf) => {
  const intern = createInterner<object | string>();
  intern('', '');
  const before = await heapInUse();
  for (let number = 0; number < 60_000; number++) intern(`key-${number}`, valueOf(number));
  expect((await heapInUse()) - before).toBeLessThan(3 * 2 ** 20);
  expect(intern('', '')).toBe('');
});
