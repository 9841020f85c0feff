import { expect, test } from 'vitest';
import { deniedBy } from '../../../src/explain/drops/drops.ts';

const messages: readonly (readonly [message: string, policy: string | undefined])[] = [
  [
    'Denied by NetworkPolicy shop/postgres (and 1 more): ingress[0] allows only Pods app=web.v1 in shop.',
    'NetworkPolicy shop/postgres, 1 more',
  ],
  ['Denied by NetworkPolicy shop/web.v1: ingress[0] allows only shop, in a.', 'NetworkPolicy shop/web.v1'],
  [
    'Denied by NetworkPolicy.projectcalico.org shop/web (and 12 more): egress[0] allows.',
    'NetworkPolicy.projectcalico.org shop/web, 12 more',
  ],
  ['Denied by GlobalNetworkPolicy teams (tier a) (and 2 more): ingress[0].', 'GlobalNetworkPolicy teams, 2 more'],
  ['Denied by NetworkPolicy shop/deny (no ingress rules). To allow it, add a policy.', 'NetworkPolicy shop/deny'],
  [
    'Denied by NetworkPolicies shop/a (no ingress rules), shop/b (no ingress rules) and 2 more. To allow it, add, or.',
    'NetworkPolicy shop/a, 3 more',
  ],
  ['Denied by NetworkPolicies shop/a, shop/b.', 'NetworkPolicy shop/a, 1 more'],
  ['Denied by shop/a, ClusterNetworkPolicy lockdown.', 'NetworkPolicy shop/a, 1 more'],
  ['Denied by ClusterNetworkPolicy lockdown ingress[0] (namespaceSelector {}).', 'ClusterNetworkPolicy lockdown'],
  ['Denied by ingress policies of namespace shop. To allow it, ask its owners.', undefined],
  ['Denied by an ingress policy of this Pod. Check: kubectl -n shop describe networkpolicy', undefined],
  ['Denied by a ClusterNetworkPolicy of tier Admin. Cluster admins: kubectl get', undefined],
  ['Dropped by ufw on node-a, not by a NetworkPolicy.', undefined],
];

test.each(messages)('%s: the policy is %s', (message, policy) => {
  expect(deniedBy(`Packet dropped when receiving traffic from a/b on port 5432/TCP. [node-b] ${message}`)).toBe(policy);
});
