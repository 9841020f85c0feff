import { expect, test } from 'vitest';
import type { Connection } from '../../src/kubernetes/connection.ts';
import { createPolicyReader } from '../../src/kubernetes/policy-objects.ts';
import { nine } from '../builders.ts';

const policies = Array.from({ length: 1280 }, (_, index) => ({
  metadata: { name: `policy-${index}`, namespace: 'shop' },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
}));

const answers: Readonly<Record<string, object>> = {
  '/apis/networking.k8s.io/v1': { resources: [{ name: 'networkpolicies' }] },
  '/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies': { items: policies },
  '/api/v1/namespaces': { items: [] },
};

const request: Connection['request'] = (_, path) => {
  const body = answers[path];
  if (body !== undefined) return Promise.resolve({ kind: 'answered', body } as never);
  return Promise.resolve({ kind: 'refused', status: 404, reason: '', message: '', retryAfter: undefined });
};

test('while thousands of policies are compiled, other work gets its turn', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const read = await createPolicyReader(
    { request },
    () => nine,
    () => {},
  ).namespace('shop');
  isOver = true;
  expect(read.policies).toHaveLength(policies.length);
  expect(turns).toBeGreaterThan(4);
});
