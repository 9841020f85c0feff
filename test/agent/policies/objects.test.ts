import { expect, test } from 'vitest';
import { createPolicyObjects } from '../../../src/agent/policies/objects.ts';
import type { PolicyReader } from '../../../src/agent/kubernetes/kubernetes.ts';
import { unlimitedMemory } from '../../../src/base/platform/memory-budget.ts';
import type { Policy } from '../../../src/explain/policies/policies.ts';
import { externalEnd, nine, podRef } from '../../builders.ts';
import { answered } from '../../cli/doctor/fake.ts';
import { networkPolicy, pod } from '../../explain/policies/objects.ts';
import { dropped, setUp, shopPolicies } from './scene.ts';

test("the cluster's policies are combined once for the Pod, and once for peers that are not Pods", async () => {
  let read = 0;
  const policies: Policy[] = [];
  policies[Symbol.iterator] = () => {
    read++;
    return [].values();
  };
  const reader: Partial<PolicyReader> = {
    cluster: async () => ({ policies, compiled: new Map(), calico: undefined, bytes: 0 }),
    namespace: async () => ({ namespace: { name: 'shop', labels: {} }, policies: [], compiled: new Map(), bytes: 0 }),
    pod: async () => ({ pod: pod({ name: 'web-0' }), uid: '' }),
  };
  const objects = createPolicyObjects({
    reader: reader as PolicyReader,
    onFailed: () => {},
    now: () => nine,
    memory: unlimitedMemory(),
  });
  const needs = { pods: [{ ...podRef('web-0'), uid: '' }], namespaces: ['shop'] };
  await objects.refresh(needs, { policies: nine, pods: nine }, 'shop');
  for (let each = 0; each < 3; each++)
    objects.known(dropped({ peer: externalEnd() }).finding, needs, (_, work) => work());
  expect(read).toBe(2);
});

test.each([
  ['ten minutes ago deny', 'web', 600_000, 'denies'],
  ['a minute more do not deny', 'web', 660_001, undefined],
  ['a minute before the packet admit', 'db', 60_000, 'admits'],
  ['more than a minute before the packet do not admit', 'db', 60_001, undefined],
] as const)('uses the labels that a Pod had %s if it cannot be read again', async (_, app, age, outcome) => {
  const isolating = networkPolicy({ podSelector: { matchLabels: { app } } }, 'isolating');
  const { scene, answerOn } = setUp({ [shopPolicies]: answered({ items: [isolating] }) });
  await answerOn(dropped());
  scene.now += age;
  // Other Pods use up the budget. So the policies are read again, but the labels are not.
  for (let each = 0; each < 100; each++) await answerOn(dropped({}, scene.now, `other-${each}`));
  expect((await answerOn(dropped({}, scene.now)))?.outcome).toBe(outcome);
});
