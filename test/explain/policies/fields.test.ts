import fc from 'fast-check';
import { expect, test } from 'vitest';
import { policyProblems } from '../../../src/explain/policies/policies.ts';
import { clusterPolicies, networkPolicies } from './arbitraries.ts';
import { calicoPolicies } from './calico/arbitraries.ts';
import { networkPolicy } from './objects.ts';
import { forAll } from '../../for-all.ts';

const policies = fc.oneof(networkPolicies, clusterPolicies, calicoPolicies);

/** Objects in a policy whose fields are named by the API. The names of labels are the users' own. */
function objectsIn(value: unknown, path: string[] = []): { object: Record<string, unknown>; path: string[] }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value)
    .filter(([key]) => !['matchLabels', 'labels', 'http'].includes(key))
    .flatMap(([key, each]) => objectsIn(each, [...path, key]));
  return Array.isArray(value) ? inside : [{ object: value as Record<string, unknown>, path }, ...inside];
}

test('all fields of policies are known, and an added one is found anywhere', () => {
  forAll([policies, fc.nat()], { numRuns: 2000 }, (given, pick) => {
    const policy = JSON.parse(JSON.stringify(given)) as object;
    expect(policyProblems(policy)).toEqual([]);
    const places = objectsIn(policy);
    const place = places[pick % places.length];
    if (place === undefined) return;
    place.object['moon'] = 'full';
    expect(policyProblems(policy).map(({ path }) => path)).toEqual([[...place.path, 'moon']]);
  });
});

test.each<[string, object, string[] | undefined]>([
  ['a list where one belongs', { ingress: [{ from: [] }] }, undefined],
  ['nothing', { ingress: null }, undefined],
  ['an object in place of a list', { ingress: [{ from: { podSelector: {} } }] }, ['spec', 'ingress', '0', 'from']],
  ['a list in place of an object', { podSelector: [] }, ['spec', 'podSelector']],
  ['a type in small letters', { policyTypes: ['Egress', 'ingress'] }, ['spec', 'policyTypes', '1']],
  ['a name that all objects have', { constructor: [] }, ['spec', 'constructor']],
])('the shape of a field: %s', (_, spec, path) => {
  expect(policyProblems(networkPolicy(spec)).map((each) => each.path)).toEqual(path === undefined ? [] : [path]);
});

test('an object that is not a policy has no problems', () => {
  expect(policyProblems({ apiVersion: 'v1', kind: 'ConfigMap', spec: { moon: 'full' } })).toEqual([]);
  expect(policyProblems(null)).toEqual([]);
});
