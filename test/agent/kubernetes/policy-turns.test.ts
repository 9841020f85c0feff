import { afterEach, expect, test } from 'vitest';
import type { Connection } from '../../../src/agent/kubernetes/connection.ts';
import { createPolicyReader } from '../../../src/agent/kubernetes/policy-objects.ts';
import { nine } from '../../builders.ts';

const policies = Array.from({ length: 1280 }, (_, index) => ({
  metadata: { name: `policy-${index}`, namespace: 'shop' },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
}));

const listOfShop = '/apis/networking.k8s.io/v1/namespaces/shop/networkpolicies';

const answers: Record<string, object> = {
  '/apis/networking.k8s.io/v1': { resources: [{ name: 'networkpolicies' }] },
  [listOfShop]: { items: policies },
  '/api/v1/namespaces': { items: [] },
};

afterEach(() => void (answers[listOfShop] = { items: policies }));

const request: Connection['request'] = (_, path) => {
  const body = answers[path];
  if (body !== undefined) return Promise.resolve({ kind: 'answered', body } as never);
  return Promise.resolve({ kind: 'refused', status: 404, reason: '', message: '', retryAfter: undefined });
};

const reader = createPolicyReader(
  { request },
  () => nine,
  () => {},
);

/** Counts the turns of the event loop while policies are read. */
async function turnsOf(expected: number): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const read = await reader.namespace('shop');
  isOver = true;
  expect(read.policies).toHaveLength(expected);
  return turns;
}

test('while thousands of policies are compiled, other work gets its turn', async () => {
  expect(await turnsOf(policies.length)).toBeGreaterThan(4);
});

test('large policies are compiled one per turn', async () => {
  const from = Array.from({ length: 5000 }, () => ({ podSelector: { matchLabels: { app: 'web' } } }));
  const items = Array.from({ length: 8 }, (_, index) => ({
    metadata: { name: `policy-${index}`, namespace: 'shop' },
    spec: { podSelector: {}, ingress: [{ from }] },
  }));
  answers[listOfShop] = { items };
  const least = await turnsOf(items.length);
  answers[listOfShop] = { items: items.map((each) => ({ ...each, spec: { podSelector: {} } })) };
  expect(least - (await turnsOf(items.length))).toBe(items.length - 1);
});

function item(name: string, resourceVersion: string | undefined): object {
  const spec = { podSelector: { matchLabels: { app: name } } };
  return { metadata: { name, namespace: 'shop', resourceVersion }, spec };
}

test('a policy is compiled again only when its version changes', async () => {
  answers[listOfShop] = { items: [item('same', '1'), item('changed', '1'), item('gone', '1'), item('old', undefined)] };
  const first = await reader.namespace('shop');
  answers[listOfShop] = { items: [item('changed', '2'), item('same', '1'), item('old', undefined)] };
  const second = await reader.namespace('shop', first);
  const found = second.policies.map((policy) => [policy.ref.name, first.policies.includes(policy)]);
  expect(found).toEqual([
    ['changed', false],
    ['same', true],
    ['old', false],
  ]);
});

/** The weight of a Namespace with a policy of Calico that has this selector. */
async function sizeWith(selector: string): Promise<number> {
  answers['/apis/crd.projectcalico.org/v1'] = { resources: [{ name: 'networkpolicies', namespaced: true }] };
  const ingress = [{ action: 'Allow', source: { selector } }];
  answers['/apis/crd.projectcalico.org/v1/namespaces/shop/networkpolicies'] = {
    items: [
      { metadata: { name: 'long', namespace: 'shop' }, spec: { selector: 'all()', types: ['Ingress'], ingress } },
    ],
  };
  const reading = createPolicyReader(
    { request },
    () => nine,
    () => {},
  );
  return (await reading.namespace('shop')).bytes;
}

test('a selector of a megabyte counts as the number of conditions that it may have', async () => {
  const short = await sizeWith("a == 'b'");
  expect((await sizeWith(`a == 'b'${" || a == 'b'".repeat(87_000)}`)) - short).toBeGreaterThan(10_000_000);
});
