import { expect, test } from 'vitest';
import { createBackendLookup } from '../../../src/agent/kubernetes/incident-facts.ts';
import type { Answer, RequestOptions } from '../../../src/agent/kubernetes/connection.ts';
import { backend } from '../../builders.ts';

interface Asked {
  verb: string;
  path: string;
  options: RequestOptions | undefined;
}

function lookup(answer: Answer): { find: ReturnType<typeof createBackendLookup>; asked: Asked[] } {
  const asked: Asked[] = [];
  const find = createBackendLookup({
    request(verb, path, options) {
      asked.push({ verb, path, options });
      return Promise.resolve(answer);
    },
  });
  return { find, asked };
}

const slice = (name: string, address: string, pod: string): unknown => ({
  metadata: { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': 'api' } },
  endpoints: [{ addresses: [address], nodeName: 'node-b', targetRef: { kind: 'Pod', namespace: 'shop', name: pod } }],
});

test('asks only once, for the slices of that Service', async () => {
  const items = [slice('api-1', '10.65.2.9', 'api-0'), null, slice('api-2', 'fd00:65::9', 'api-0')];
  const { find, asked } = lookup({ kind: 'answered', body: { items } });
  expect(await find('shop', 'api')).toEqual([backend()]);
  expect(asked).toEqual([
    {
      verb: 'GET',
      path: '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices',
      options: {
        query: { labelSelector: 'kubernetes.io/service-name=api', limit: 100 },
        onItem: expect.any(Function) as unknown,
      },
    },
  ]);
});

test.each([403, 404, 500, 0])('no backend is found when the answer is %i', async (status) => {
  const { find } = lookup({ kind: 'refused', status, reason: '', message: 'no', retryAfter: undefined });
  expect(await find('shop', 'api')).toEqual([]);
});

test.each([[null], [{}], [{ items: 'all' }], [[]]])('no backend is found in %j', async (body) => {
  const { find } = lookup({ kind: 'answered', body });
  expect(await find('shop', 'api')).toEqual([]);
});

test('about 10,000 endpoints are kept of a Service with 100,000', async () => {
  const items = Array.from({ length: 100 }, (_, part) => ({
    metadata: { namespace: 'shop', name: `api-${part}`, labels: { 'kubernetes.io/service-name': 'api' } },
    endpoints: Array.from({ length: 1000 }, (__, index) => ({
      addresses: [`10.65.${index >> 8}.${index & 255}`],
      nodeName: 'node-b',
      targetRef: { kind: 'Pod', namespace: 'shop', name: `api-${part}-${index}-${'x'.repeat(30)}` },
    })),
  }));
  const { find } = lookup({ kind: 'answered', body: { items } });
  const found = await find('shop', 'api');
  expect(found.length).toBeGreaterThan(5000);
  expect(found.length).toBeLessThan(15_000);
});
