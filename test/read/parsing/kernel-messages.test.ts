import { expect, test } from 'vitest';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';

test('a name in a kernel message is not a LOG prefix, however long it is, and whatever prefixes are configured', () => {
  const prefixes = createPrefixTable([{ prefix: 'overlayfs', verdict: 'dropped' }]);
  const { verdict } = prefixes.look(
    `overlayfs: failed to resolve '${'x'.repeat(4000)} calico-drop np kube-system/deny-all: `,
  );
  expect(verdict).toBe('logged');
});

test('a configured prefix does not turn a kernel message into a packet', () => {
  const prefixes = createPrefixTable([{ prefix: 'calico-drop', verdict: 'dropped' }]);
  expect(prefixes.look('calico-drop: a[71]: segfault at 0 ip 401 sp 7ff error 6 in x ').verdict).toBe('logged');
});
