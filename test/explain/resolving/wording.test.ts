/** The wording of notes on addresses. The other tests assert kinds, roles, evidence and names only. */
import { expect, test } from 'vitest';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { scopeOf } from '../../../src/explain/resolving/endpoints.ts';
import { cluster, nine, pod } from '../../builders.ts';

test.each([
  ['8.8.8.8', 'outside the cluster'],
  ['10.1.2.3', 'not a Pod, node or Service'],
  ['224.0.0.1', 'a multicast group'],
  ['169.254.169.254', "the cloud's metadata service"],
])('a person reads %s as %s', (address, note) => {
  expect(scopeOf(address).note).toBe(note);
});

test.each([
  ['public network', undefined, 'the log has no address'],
  ['shop/web-*', undefined, 'Pods that share this name'],
  ['shop/web-*', 'node-b', 'no Pod of that name is known'],
  ['shop/web-*', 'node-a', 'one of 2 Pods of node-a'],
  ['shop/web-*', '', 'one of 2 Pods'],
])('a person reads the name %s of a Pod of the node %s as %s', (name, node, note) => {
  const pods = ['web-0', 'web-1'].map((each) => pod({ name: each }));
  expect(createEndpointFinder(cluster({ pods })).byName(name, { time: nine, exact: false }, node).note).toBe(note);
});
