/** Tests the meaning of Calico's policies in cases that evaluators often get wrong. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEvaluator } from '../../../../src/explain/policies/policies.ts';
import { calico, networkPolicy, policySet } from '../objects.ts';
import { check, connection, namespaces, rowsOf } from '../rows.ts';

test.each(rowsOf(join(import.meta.dirname, 'semantics.txt')))('%s', (_, row) => check(row));

const local = (spec: object, name?: string): object => calico('NetworkPolicy', spec, name, 'shop');
const deny = { action: 'Deny' };
const allow = { action: 'Allow' };
const stage = (kind: string, spec: object, name = 'p'): object => calico(kind, spec, name, 'shop');

const ofCilium = {
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumNetworkPolicy',
  metadata: { name: 'parts', namespace: 'shop' },
  spec: { endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [{ fromEntities: ['all'] }] },
};

test.each([
  ['would deny', [stage('StagedNetworkPolicy', { ingress: [deny] })], 'denies'],
  [
    'would take the place of the policy of its name',
    [local({ ingress: [deny] }, 'p'), stage('StagedNetworkPolicy', { ingress: [allow] })],
    'admits',
  ],
  [
    'would delete the policy of its name',
    [local({ ingress: [deny] }, 'p'), stage('StagedNetworkPolicy', { stagedAction: 'Delete' })],
    'admits',
  ],
  [
    'of Kubernetes would delete a NetworkPolicy',
    [networkPolicy({}, 'isolated'), stage('StagedKubernetesNetworkPolicy', { stagedAction: 'Delete' }, 'isolated')],
    'admits',
  ],
  [
    'would change nothing',
    [networkPolicy({ ingress: [{}] }), stage('StagedNetworkPolicy', { order: 5000, ingress: [deny] })],
    undefined,
  ],
  ['leaves all parts of a policy of Cilium', [ofCilium, stage('StagedNetworkPolicy', { order: 5000 })], undefined],
  ['is ignored', [stage('StagedNetworkPolicy', { stagedAction: 'Ignore', ingress: [deny] })], undefined],
])('staged policies: a policy %s', (_title, objects, expected) => {
  const { trace } = createEvaluator({ policies: policySet(objects), namespaces });
  expect(trace(connection, 'ingress').staged?.verdict.outcome).toBe(expected);
});

test('10,000 policies of a Namespace, each in its own tier, are evaluated in order', () => {
  const count = 10_000;
  const objects = Array.from({ length: count }, (_, index) => [
    calico('Tier', { order: index, defaultAction: 'Pass' }, `t-${index}`),
    local({ tier: `t-${index}`, ingress: [index === count - 1 ? deny : { action: 'Pass' }] }, `p-${index}`),
  ]).flat();
  const { verdict } = createEvaluator({ policies: policySet(objects), namespaces });
  expect(verdict(connection, 'ingress').decision?.policy.name).toBe(`p-${count - 1}`);
});
