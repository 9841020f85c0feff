import { expect, test } from 'vitest';
import { workloadKey } from '../../src/model/endpoint.ts';
import { workloadOf } from '../../src/resolving/objects.ts';

test.each([
  {
    name: 'Deployment',
    owner: { kind: 'ReplicaSet', name: 'web-6c8d5f7b94' },
    labels: { 'pod-template-hash': '6c8d5f7b94' },
    expected: 'Deployment/shop/web',
  },
  {
    name: 'Rollout, which has a label of its own only',
    owner: { kind: 'ReplicaSet', name: 'web-86666d6ffc' },
    labels: { 'rollouts-pod-template-hash': '86666d6ffc' },
    expected: 'Rollout/shop/web',
  },
  {
    name: 'ReplicaSet of its own',
    owner: { kind: 'ReplicaSet', name: 'web-blue' },
    labels: {},
    expected: 'ReplicaSet/shop/web-blue',
  },
  {
    name: 'ReplicaSet with a hash that is not in its name',
    owner: { kind: 'ReplicaSet', name: 'web-blue' },
    labels: { 'pod-template-hash': '6c8d5f7b94' },
    expected: 'ReplicaSet/shop/web-blue',
  },
  {
    name: 'CronJob, Job named by minutes',
    owner: { kind: 'Job', name: 'report-29920440' },
    labels: {},
    expected: 'CronJob/shop/report',
  },
  {
    name: 'CronJob, Job named by seconds',
    owner: { kind: 'Job', name: 'report-1589305200' },
    labels: {},
    expected: 'CronJob/shop/report',
  },
  {
    name: 'Job with a number',
    owner: { kind: 'Job', name: 'migrate-42' },
    labels: {},
    expected: 'Job/shop/migrate-42',
  },
  { name: 'StatefulSet', owner: { kind: 'StatefulSet', name: 'db' }, labels: {}, expected: 'StatefulSet/shop/db' },
  { name: 'DaemonSet', owner: { kind: 'DaemonSet', name: 'agent' }, labels: {}, expected: 'DaemonSet/shop/agent' },
  { name: 'an operator’s own kind', owner: { kind: 'Cluster', name: 'pg' }, labels: {}, expected: 'Cluster/shop/pg' },
])('the workload of a Pod: $name', ({ owner, labels, expected }) => {
  const workload = workloadOf('shop', owner, labels);
  expect(workload && workloadKey(workload)).toBe(expected);
});

test.each([
  ['a Pod of its own', undefined],
  ['a static Pod', { kind: 'Node', name: 'node-a' }],
])('%s has no workload', (_, owner) => {
  expect(workloadOf('shop', owner, {})).toBeUndefined();
});
