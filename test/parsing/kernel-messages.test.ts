import { expect, test } from 'vitest';
import { createPrefixTable } from '../../src/parsing/prefixes.ts';

test('a name in a message of the kernel is no LOG prefix, however long it is, and whatever an operator has configured', () => {
  const prefixes = createPrefixTable([{ prefix: 'overlayfs', verdict: 'dropped' }]);
  const { verdict, rule } = prefixes.look(`overlayfs: failed to resolve '${'x'.repeat(4000)} calico-drop: `);
  expect([verdict, rule]).toEqual(['logged', 'kernel message']);
});
