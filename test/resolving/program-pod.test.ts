import { expect, test } from 'vitest';
import type { Failing } from '../../src/model/program-record.ts';
import { podOf } from '../../src/resolving/objects.ts';
import { pod } from '../builders.ts';

const onHost = (name: string, given = {}) => pod({ name, namespace: 'kube-system', hostNetwork: true, ...given });

test.each<[Failing, string]>([
  ['kube-proxy', 'kube-proxy-x7k2p'],
  ['kube-proxy', 'kube-proxy'],
  ['felix', 'calico-node-9fz4d'],
  ['bird', 'calico-node-9fz4d'],
])('%s runs in %s', (failing, name) => {
  expect(podOf(failing, [pod(), onHost(name)])?.name).toBe(name);
});

test.each([
  ['borrows the name', pod({ name: 'kube-proxy-exporter-6c8d5' })],
  ['has ended', onHost('kube-proxy-x7k2p', { until: 5 })],
  ['is called something else', onHost('kube-proxyless-x7k2p')],
])('a Pod that %s is none', (_, other) => {
  expect(podOf('kube-proxy', [other])).toBeUndefined();
  expect(podOf('kube-proxy', [other, onHost('kube-proxy-9r5cn')])?.name).toBe('kube-proxy-9r5cn');
});

test('the kernel runs in no Pod', () => {
  expect(podOf('kernel', [onHost('kernel'), onHost('kube-proxy')])).toBeUndefined();
});
