import type { Config } from '../../../config/config.ts';
import { may, policiesFile } from '../../../kubernetes/rights.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  namespacedPolicyKinds,
  networkSetKinds,
  type PolicyKind,
  servedKinds,
} from '../../../kubernetes/policy-kinds.ts';
import { isCalico } from '../../../policies/policies.ts';
import { type Api, seeApiServer } from '../api.ts';
import { answersOf, type Check } from '../check.ts';

const policyKinds = [...clusterPolicyKinds, ...namespacedPolicyKinds];

/** Policies of Calico name Services, and select by labels of ServiceAccounts. */
const namedByCalico = [
  ['discovery.k8s.io', 'endpointslices'],
  ['', 'serviceaccounts'],
] as const;

const { ok, unknown, warning } = answersOf('policies');

/** Whether Events can say which policy denied a packet. */
export async function checkPolicies(api: Pick<Api, 'request'>, { policies }: Pick<Config, 'policies'>): Promise<Check> {
  if (policies === 'off') return ok('off: Events do not say which policy denied a packet');
  const granted = await may(api, 'list', 'networkpolicies', 'networking.k8s.io');
  if (granted === undefined) return unknown('it is not known whether policies may be listed', seeApiServer);
  if (!granted)
    return warning(
      'may not list networkpolicies, so Events do not say which policy denied a packet',
      `apply ${policiesFile}, or set POLICIES=off`,
    );
  const kinds = await servedKinds(api, [...policyKinds, ...calicoKinds, ...networkSetKinds]).catch(() => undefined);
  if (kinds === undefined) return unknown('it is not known which kinds of policies there are', seeApiServer);
  const asked = [
    ['', 'namespaces'] as const,
    ...kinds.map(({ apiVersion, plural }) => [apiVersion.split('/', 1)[0] ?? '', plural] as const),
    ...(kinds.some(isCalico) ? namedByCalico : []),
  ];
  const allowed = await Promise.all(asked.map(([group, resource]) => may(api, 'list', resource, group)));
  const missing = asked.filter((_, index) => allowed[index] === false);
  if (missing.length > 0)
    return warning(
      `may not list ${missing.map(([group, resource]) => (group === '' ? resource : `${resource}.${group}`)).join(', ')}, so often it is unknown which policy denied a packet`,
      `apply ${policiesFile} in its present form`,
    );
  return ok(`Events say which policy denied a packet, of ${shown(kinds)}`);
}

/** `NetworkPolicy.networking.k8s.io`: others have kinds of that name, too. */
function shown(kinds: readonly PolicyKind[]): string {
  return kinds
    .filter((kind) => policyKinds.includes(kind))
    .map(({ apiVersion, kind }) => `${kind}.${apiVersion.split('/', 1)[0]}`)
    .join(', ');
}
