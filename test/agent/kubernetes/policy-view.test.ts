import { expect, test } from 'vitest';
import { createPolicyViews, withPolicyView } from '../../../src/agent/kubernetes/policy-view.ts';
import { slimPod } from '../../../src/agent/kubernetes/slim.ts';
import { readPod } from '../../../src/explain/policies/policies.ts';
import { createLiveLists } from '../../../src/explain/resolving/live-lists.ts';
import { nine } from '../../builders.ts';

const object = (labels: object, nodeName = 'node-a') => ({
  metadata: { namespace: 'shop', name: 'web-0', uid: 'u1', resourceVersion: '7', labels },
  spec: {
    nodeName,
    serviceAccountName: 'web',
    containers: [{ ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }] }],
  },
  status: { phase: 'Running', podIP: '10.65.1.4' },
});

function scene() {
  const lists = createLiveLists('node-a', undefined);
  const view = createPolicyViews(lists.podNamed);
  const watch = (given: ReturnType<typeof object>): void =>
    lists.setPod(withPolicyView(slimPod(given), given, lists.ownNode), nine);
  return { lists, view, watch };
}

test('the view of a Pod on this node equals the result of a look-up', () => {
  const { view, watch } = scene();
  const given = object({ app: 'web', tier: 'front' });
  watch(given);
  expect(view('shop', 'web-0')).toEqual({ pod: readPod(given), uid: 'u1' });
  expect(view('shop', 'web-0')?.pod).toBe(view('shop', 'web-0')?.pod);
});

test('a changed label takes effect at once', () => {
  const { view, watch } = scene();
  watch(object({ app: 'web' }));
  watch(object({ app: 'db' }));
  expect(view('shop', 'web-0')?.pod.labels).toEqual({ app: 'db' });
});

test('Pods of other nodes, Pods that are gone, and Pods with kilobytes of labels are looked up', () => {
  const { lists, view, watch } = scene();
  watch(object({ app: 'web' }, 'node-b'));
  expect(view('shop', 'web-0')).toBeUndefined();
  watch(object(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`label-${index}`, 'x'.repeat(63)]))));
  expect(view('shop', 'web-0')).toBeUndefined();
  watch(object({ app: 'web' }));
  expect(view('shop', 'web-0')).toBeDefined();
  lists.removePod('shop', 'web-0', nine);
  expect(view('shop', 'web-0')).toBeUndefined();
});
