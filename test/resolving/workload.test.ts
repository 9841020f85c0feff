import { expect, test } from 'vitest';
import { workloadKey } from '../../src/model/endpoint.ts';
import { workloadOf } from '../../src/resolving/objects.ts';

test.each([
  [
    'Deployment',
    { kind: 'ReplicaSet', name: 'web-6c8d5f7b94' },
    { 'pod-template-hash': '6c8d5f7b94' },
    'Deployment/shop/web',
  ],
  [
    'Rollout, which has a label of its own only',
    { kind: 'ReplicaSet', name: 'web-86666d6ffc' },
    { 'rollouts-pod-template-hash': '86666d6ffc' },
    'Rollout/shop/web',
  ],
  ['ReplicaSet of its own', { kind: 'ReplicaSet', name: 'web-blue' }, {}, 'ReplicaSet/shop/web-blue'],
  [
    'ReplicaSet with a hash that is not in its name',
    { kind: 'ReplicaSet', name: 'web-blue' },
    { 'pod-template-hash': '6c8d5f7b94' },
    'ReplicaSet/shop/web-blue',
  ],
  ['CronJob, Job named by minutes', { kind: 'Job', name: 'report-29920440' }, {}, 'CronJob/shop/report'],
  ['CronJob, Job named by seconds', { kind: 'Job', name: 'report-1589305200' }, {}, 'CronJob/shop/report'],
  ['Job with a number', { kind: 'Job', name: 'migrate-42' }, {}, 'Job/shop/migrate-42'],
  ['StatefulSet', { kind: 'StatefulSet', name: 'db' }, {}, 'StatefulSet/shop/db'],
  ['DaemonSet', { kind: 'DaemonSet', name: 'agent' }, {}, 'DaemonSet/shop/agent'],
  ['an operator’s own kind', { kind: 'Cluster', name: 'pg' }, {}, 'Cluster/shop/pg'],
])('the workload of a Pod: %s', (_, owner, labels, expected) => {
  const workload = workloadOf('shop', owner, labels);
  expect(workload && workloadKey(workload)).toBe(expected);
});

test.each([
  ['a Pod of its own', undefined],
  ['a static Pod', { kind: 'Node', name: 'node-a' }],
])('%s has no workload', (_, owner) => {
  expect(workloadOf('shop', owner, {})).toBeUndefined();
});
