import { expect, test } from 'vitest';
import { Unknown } from '../../../../src/explain/policies/policies.ts';
import { domainNames } from '../../../../src/explain/policies/cilium/peers.ts';
import type { Probe } from '../../../../src/explain/policies/probe.ts';

/**
 * The names that a pattern of `toFQDNs` matches. The outcomes are those of Cilium's own pkg/fqdn/matchpattern (1.20.2).
 */

const names = [
  'example.com',
  'api.example.com',
  'a.b.example.com',
  'xexample.com',
  'abc.example.com',
  'ac.example.com',
  'sub-1-x.example.com',
  'api.eu.example.com',
  'aabcc.example.com',
];

const peer = (hostName: string | undefined) =>
  ({ peer: { kind: 'external', address: '203.0.113.80', hostName } }) as unknown as Probe;

test.each<[string, string[]]>([
  ['*', names],
  [
    '*.example.com',
    ['api.example.com', 'abc.example.com', 'ac.example.com', 'sub-1-x.example.com', 'aabcc.example.com'],
  ],
  ['*example.com', ['example.com', 'xexample.com']],
  ['**.example.com', names.filter((name) => name.endsWith('.example.com'))],
  ['api.*.example.com', ['api.eu.example.com']],
  ['a*c.example.com', ['abc.example.com', 'ac.example.com', 'aabcc.example.com']],
  ['sub-*-x.example.com', ['sub-1-x.example.com']],
  ['API.example.com.', ['api.example.com']],
  ['**', names],
])('%s', (pattern, expected) => {
  const clause = domainNames(pattern);
  expect(names.filter((name) => clause.matches(peer(name)) === true)).toEqual(expected);
  // The address may also have had another name.
  expect(names.filter((name) => clause.matches(peer(name)) === false)).toEqual([]);
});

test('shows the name that the log gives the address', () => {
  expect(domainNames('*.com').has(peer('example.org'))).toBe('is example.org');
  expect(domainNames('*.com').has(peer(undefined))).toBe('is 203.0.113.80');
});

test('without a logged look-up, the name is unknown', () => {
  expect(domainNames('*').matches(peer(undefined))).toBeInstanceOf(Unknown);
});
