import { expect, test } from 'vitest';
import { slimEndpointSlice, slimPod } from '../../../src/agent/kubernetes/slim.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { nine } from '../../builders.ts';
import { heapInUse } from '../../heap.ts';

/* The memory of deleted objects. A user who may create Pods or EndpointSlices decides the length of their texts. */

const hour = 3_600_000;
const name = (number: number, length: number): string => `${number}${'x'.repeat(length)}`.slice(0, length);

/** The bytes that `count` objects leave behind, each created and deleted. */
async function leftOf(count: number, pass: (number: number) => void): Promise<number> {
  pass(0);
  const before = await heapInUse();
  for (let number = 1; number <= count; number++) pass(number);
  return (await heapInUse()) - before;
}

const podOwnedBy = (number: number, owner: string): unknown => ({
  metadata: {
    namespace: 'shop',
    name: `web-${number}`,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: owner, controller: true }],
  },
  spec: { nodeName: 'node-a' },
  status: { podIP: '10.65.1.4', phase: 'Running' },
});

test.each([
  ['200 owners of a megabyte, which no API server refuses', 200, 2 ** 20],
  ['20,000 owners with the longest names that there are', 20_000, 253],
])('a deleted Pod is still known: %s', async (_, count, length) => {
  const lists = createLiveLists('node-a', undefined);
  const left = await leftOf(count, (number) => {
    lists.setPod(slimPod(podOwnedBy(number, name(number, length))), nine);
    lists.removePod('shop', `web-${number}`, nine);
    if (number % 1000 === 0) lists.sweep(nine + hour);
  });
  expect(left).toBeLessThan(5_000_000);
});

test('EndpointSlices: 2,000 lists of a hundred ports', async () => {
  const left = await leftOf(2000, (number) => {
    const ports = Array.from({ length: 100 }, (_, port) => ({ name: name(1000 * number + port, 63), port: 80 }));
    slimEndpointSlice({ metadata: { namespace: 'shop', name: 'web' }, ports, endpoints: [] });
  });
  expect(left).toBeLessThan(5_000_000);
});
