import { expect, test } from 'vitest';
import type { PolicyName } from '../../../src/base/model/packet.ts';
import { withPolicyName } from '../../../src/read/parsing/formats.ts';
import { observation } from '../../builders.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as {
  calico: [string, Partial<PolicyName>][];
  others: [string, Partial<PolicyName>][];
};

const policy = (given: Partial<PolicyName>): PolicyName => ({
  kind: 'NetworkPolicy',
  namespace: 'shop',
  name: 'default-deny',
  tier: undefined,
  ...given,
});

test.each<[string, Partial<PolicyName>]>(tables.calico)('%s is named', (_, given) => {
  const named = observation({ policy: policy(given) });
  expect(withPolicyName(named)).toBe(named);
});

test.each<[string, Partial<PolicyName>]>(tables.others)(
  '%s is no name of a policy, and the verdict stays',
  (_, given) => {
    const expected = { ...observation(), policy: undefined };
    expect(withPolicyName(observation({ policy: policy(given) }))).toEqual(expected);
  },
);

test('a prefix without a policy is as it was', () => {
  const without = observation();
  expect(withPolicyName(without)).toBe(without);
});
