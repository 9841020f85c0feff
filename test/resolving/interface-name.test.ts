import { expect, test } from 'vitest';
import { interfaceNames, isPodInterface } from '../../src/resolving/pod-index.ts';

test('names as Calico and the AWS VPC CNI give them', () => {
  expect(interfaceNames('default', 'nginx')).toEqual(['calic440f455693', 'enic440f455693']);
});

test.each([
  ['calic440f455693', true],
  ['enic440f455693', true],
  ['cali', false],
  ['calico', false],
  ['eth0', false],
  ['eni0', false],
  ['wireguard.cali', false],
  ['vxlan.calico', false],
  ['enp134s0f1np1v0', false],
  ['wlx00c0cab0a1b', false],
  ['wlx00c0cab0a1', false],
  ['tunl0', false],
  ['', false],
])('%j is a Pod interface: %j', (name, expected) => {
  expect(isPodInterface(name)).toBe(expected);
});

test('every name that is made is recognised and fits the kernel', () => {
  for (const name of interfaceNames('a-namespace-of-some-length', 'a-pod-with-a-rather-long-name-6c8d5f7b94-x2x7k')) {
    expect(isPodInterface(name)).toBe(true);
    expect(name.length).toBeLessThanOrEqual(15);
  }
});
