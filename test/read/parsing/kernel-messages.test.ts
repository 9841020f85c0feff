import { expect, test } from 'vitest';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';

test('a name in a message of the kernel is no LOG prefix, however long it is, and whatever an operator has configured', () => {
  const prefixes = createPrefixTable([{ prefix: 'overlayfs', verdict: 'dropped' }]);
  const { verdict } = prefixes.look(
    `overlayfs: failed to resolve '${'x'.repeat(4000)} calico-drop np kube-system/deny-all: `,
  );
  expect(verdict).toBe('logged');
});

test('a prefix that an operator has configured does not make one of a message of the kernel', () => {
  const prefixes = createPrefixTable([{ prefix: 'calico-drop', verdict: 'dropped' }]);
  expect(prefixes.look('calico-drop: a[71]: segfault at 0 ip 401 sp 7ff error 6 in x ').verdict).toBe('logged');
});
