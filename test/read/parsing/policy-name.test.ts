import { expect, test } from 'vitest';
import type { PolicyName } from '../../../src/base/model/packet.ts';
import { withPolicyName } from '../../../src/read/parsing/formats.ts';
import { observation } from '../../builders.ts';

const tables: {
  calico: [string, Partial<PolicyName>][];
  others: [string, Partial<PolicyName>][];
} = {
  // Prefixes, and the policies that they name.
  calico: [
    ['a NetworkPolicy', {}],
    ['one whose kind is not known', { kind: undefined }],
    ['one of the cluster', { kind: 'GlobalNetworkPolicy', namespace: undefined, tier: 'security' }],
    ['one with dots', { name: 'deny.example.com' }],
    ['one that was cut off, with a mark', { name: 'a-long-name-…' }],
    ['one that was cut off behind a dot', { name: 'deny.example.' }],
    ['a namespace that was cut off', { namespace: 'a-long-…' }],
    ['a chain of VyOS and its rule', { kind: 'VyOS rule', namespace: undefined, name: 'ipv4-FWD-filter 10' }],
    ['a zone of firewalld', { kind: 'firewalld zone', namespace: undefined, name: 'FedoraServer' }],
    ['a policy of firewalld', { kind: 'firewalld policy', namespace: undefined, name: 'allow_out' }],
    ['a chain of Shorewall', { kind: 'Shorewall chain', namespace: undefined, name: 'net2fw' }],
    ['a chain of Proxmox', { kind: 'Proxmox chain', namespace: undefined, name: 'PVEFW-Drop' }],
  ],
  others: [
    ['a kind that no API has', { kind: 'Policy' }],
    ['capitals', { name: 'Default-Deny' }],
    ['a space', { name: 'default deny' }],
    ['an escape character', { name: 'deny\u001b[31m' }],
    ['nothing', { name: '' }],
    ['more than one mark', { name: 'deny……' }],
    ['a dot in the namespace', { namespace: 'shop.example' }],
    ['an empty namespace', { namespace: '' }],
    ['a tier with capitals', { tier: 'Security' }],
    ['a chain of a firewall with a namespace', { kind: 'VyOS rule', name: 'FWD' }],
    [
      'a chain of a firewall that is too long',
      {
        kind: 'VyOS rule',
        namespace: undefined,
        name: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      },
    ],
    ['a chain of a firewall with two spaces', { kind: 'VyOS rule', namespace: undefined, name: 'FWD 10 20' }],
  ],
};

const policy = (given: Partial<PolicyName>): PolicyName => ({
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name: 'default-deny',
  tier: undefined,
  ...given,
});

test.each<[string, Partial<PolicyName>]>(tables.calico)("reads the policy's name from %s", (_, given) => {
  const named = observation({ policy: policy(given) });
  expect(withPolicyName(named)).toBe(named);
});

test.each<[string, Partial<PolicyName>]>(tables.others)('%s has no policy name, and the verdict stays', (_, given) => {
  const expected = { ...observation(), policy: undefined };
  expect(withPolicyName(observation({ policy: policy(given) }))).toEqual(expected);
});

test('a prefix without a policy stays unchanged', () => {
  const without = observation();
  expect(withPolicyName(without)).toBe(without);
});
