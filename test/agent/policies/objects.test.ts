import { expect, test } from 'vitest';
import { createPolicyObjects } from '../../../src/agent/policies/objects.ts';
import type { PolicyReader } from '../../../src/kubernetes/kubernetes.ts';
import type { Policy } from '../../../src/policies/policies.ts';
import { externalEnd, nine, podRef } from '../../builders.ts';
import { pod } from '../../policies/objects.ts';
import { dropped } from './scene.ts';

test('the policies of the cluster are put together once for the Pod, and once for peers that are no Pods', async () => {
  let read = 0;
  const policies: Policy[] = [];
  policies[Symbol.iterator] = () => {
    read++;
    return [].values();
  };
  const reader: Partial<PolicyReader> = {
    cluster: async () => ({ policies, calico: undefined }),
    namespace: async () => ({ namespace: { name: 'shop', labels: {} }, policies: [], size: 0 }),
    pod: async () => ({ pod: pod({ name: 'web-0' }), uid: '' }),
  };
  const objects = createPolicyObjects({ reader: reader as PolicyReader, onFailed: () => {}, now: () => nine });
  const needs = { pods: [{ ...podRef('web-0'), uid: '' }], namespaces: ['shop'] };
  await objects.refresh(needs, { policies: nine, pods: nine });
  for (let each = 0; each < 3; each++) objects.known(dropped({ peer: externalEnd() }).finding, needs);
  expect(read).toBe(2);
});
