import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Connection } from '../../../src/agent/kubernetes/connection.ts';
import {
  clusterPolicyKinds,
  discoverKinds,
  namespacedPolicyKinds,
} from '../../../src/agent/kubernetes/policy-kinds.ts';
import { createPolicyReader } from '../../../src/agent/kubernetes/policy-objects.ts';
import { anyTier } from '../../../src/explain/policies/policies.ts';
import { forAllAsync } from '../../for-all.ts';

const kinds = [...clusterPolicyKinds, ...namespacedPolicyKinds];

/** A cluster that serves these resources, by API version. Its lists are empty. */
function cluster(served: Readonly<Record<string, readonly string[]>>): Pick<Connection, 'request'> {
  const groups = Map.groupBy(Object.keys(served), (version) => version.split('/')[0]);
  return {
    request: (_, path) => {
      const [, , group = '', version = '', ...rest] = path.split('/');
      const resources = served[`${group}/${version}`];
      const body =
        path === '/apis'
          ? {
              groups: [...groups].map(([name, versions]) => ({
                name,
                versions: versions.map((groupVersion) => ({ groupVersion })),
              })),
            }
          : rest.length > 0
            ? { items: [] }
            : resources && { resources: resources.map((name) => ({ name })) };
      return Promise.resolve(
        body === undefined
          ? { kind: 'refused', status: 404, reason: 'NotFound', message: '', retryAfter: undefined }
          : { kind: 'answered', body },
      );
    },
  };
}

const versionsOf = (found: readonly { apiVersion: string }[]): string[] => found.map(({ apiVersion }) => apiVersion);

test('if a kind is served in two known versions, one is read', async () => {
  const both = cluster({
    'policy.networking.k8s.io/v1alpha2': ['clusternetworkpolicies'],
    'policy.networking.k8s.io/v1beta1': ['clusternetworkpolicies'],
  });
  const { served, unevaluated } = await discoverKinds(both, kinds, 'projectcalico.org/v3');
  expect([versionsOf(served), unevaluated]).toEqual([['policy.networking.k8s.io/v1beta1'], []]);
});

test('whatever versions a cluster serves, each kind of policy is read once or makes verdicts unknown', async () => {
  const groups = [...new Set(kinds.map(({ apiVersion }) => apiVersion.split('/')[0] ?? ''))];
  const pluralsOf = (group: string): string[] =>
    kinds.filter(({ apiVersion }) => apiVersion.startsWith(`${group}/`)).map(({ plural }) => plural);
  const version = fc.constantFrom('v1', 'v2', 'v3', 'v1alpha1', 'v1alpha2', 'v1beta1', 'v4beta9');
  const clusters = fc.dictionary(
    fc.tuple(fc.constantFrom(...groups), version).map((parts) => parts.join('/')),
    fc.array(
      fc.constantFrom<string[]>(
        'networkpolicies',
        'clusternetworkpolicies',
        'adminnetworkpolicies',
        'tiers',
        'ingresses',
      ),
    ),
  );
  await forAllAsync([clusters], {}, async (resources) => {
    const { served, unevaluated } = await discoverKinds(cluster(resources), kinds, 'projectcalico.org/v3');
    for (const group of groups.filter((each) => !each.endsWith('projectcalico.org'))) {
      const there = Object.entries(resources).filter(([apiVersion]) => apiVersion.startsWith(`${group}/`));
      for (const plural of new Set(pluralsOf(group))) {
        const isThere = there.some(([, names]) => names.includes(plural));
        const found = [...served, ...unevaluated].filter(
          (kind) => kind.plural === plural && kind.apiVersion.startsWith(`${group}/`),
        );
        expect(found.map(({ apiVersion }) => resources[apiVersion]?.includes(plural))).toEqual(isThere ? [true] : []);
      }
    }
  });
});

test('policies of a kind that is served only in an unknown version make verdicts unknown', async () => {
  const future = cluster({ 'cilium.io/v3': ['ciliumclusterwidenetworkpolicies'], 'cilium.io/v2alpha1': ['others'] });
  const { policies } = await createPolicyReader(
    future,
    () => 0,
    () => {},
  ).cluster();
  expect(policies.map(({ ref, tier }) => [ref.apiVersion, tier])).toEqual([['cilium.io/v3', anyTier]]);
});
