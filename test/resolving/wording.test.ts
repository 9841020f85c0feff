/** The wording of notes on addresses. The other tests assert kinds, roles, evidence and names only. */
import { expect, test } from 'vitest';
import { scopeOf } from '../../src/resolving/scope.ts';

test.each([
  ['8.8.8.8', 'outside the cluster'],
  ['10.1.2.3', 'not a Pod, node or Service of this cluster'],
  ['224.0.0.1', 'a multicast group'],
  ['169.254.169.254', "the cloud's metadata service"],
])('%s is, for a person, %s', (address, note) => {
  expect(scopeOf(address).note).toBe(note);
});
