import { expect, test } from 'vitest';
import { workloadKey } from '../../../src/base/model/endpoint.ts';
import type { Failing } from '../../../src/base/model/program-record.ts';
import { createInterner, podOfProgram, workloadOf } from '../../../src/explain/resolving/objects.ts';
import { pod } from '../../builders.ts';

const tables: {
  workloads: [string, { kind: string; name: string }, Record<string, string>, string][];
} = {
  // Owners of Pods with the labels of the Pod, and their workloads.
  workloads: [
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
  ],
};

test.each(tables.workloads)('the workload of a Pod: %s', (_, owner, labels, expected) => {
  const workload = workloadOf('shop', owner, labels);
  expect(workload && workloadKey(workload)).toBe(expected);
});

test.each([
  ['a Pod of its own', undefined],
  ['a static Pod', { kind: 'Node', name: 'node-a' }],
])('%s has no workload', (_, owner) => {
  expect(workloadOf('shop', owner, {})).toBeUndefined();
});

const onHost = (name: string, given = {}) => pod({ name, namespace: 'kube-system', hostNetwork: true, ...given });

test.each<[Failing, string]>([
  ['kube-proxy', 'kube-proxy-x7k2p'],
  ['kube-proxy', 'kube-proxy'],
  ['felix', 'calico-node-9fz4d'],
  ['bird', 'calico-node-9fz4d'],
])('%s runs in %s', (failing, name) => {
  expect(podOfProgram(failing, [pod(), onHost(name)])?.name).toBe(name);
});

test.each([
  ['borrows the name', pod({ name: 'kube-proxy-exporter-6c8d5' })],
  ['has ended', onHost('kube-proxy-x7k2p', { until: 5 })],
  ['is called something else', onHost('kube-proxyless-x7k2p')],
])('a Pod that %s is not one of them', (_, other) => {
  expect(podOfProgram('kube-proxy', [other])).toBeUndefined();
  expect(podOfProgram('kube-proxy', [other, onHost('kube-proxy-9r5cn')])?.name).toBe('kube-proxy-9r5cn');
});

test('the kernel runs in no Pod', () => {
  expect(podOfProgram('kernel', [onHost('kernel'), onHost('kube-proxy')])).toBeUndefined();
});

test('the first value of a key is returned for all later ones', () => {
  const intern = createInterner<{ of: number }>();
  const [first, second, third] = [1, 2, 3].map((of) => ({ of }));
  expect([first, second, third].map((value) => value && intern('key', value))).toEqual([first, first, first]);
  expect(intern('key', { of: 4 })).toBe(first);
  expect(intern('', { of: 5 })).toEqual({ of: 5 });
});
