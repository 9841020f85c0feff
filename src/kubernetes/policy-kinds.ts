/** Kinds of network policies, and how they are listed. */
import { at, type Json, list } from '../platform/json.ts';
import type { Refusal } from '../events/event-store.ts';
import type { Connection } from './connection.ts';
import { isTooLarge, RefusedError } from './refusal.ts';

export interface PolicyKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** As in paths and in rights. */
  readonly plural: string;
}

/** Of the whole cluster. A kind that the API server does not have is none. */
export const clusterPolicyKinds: readonly PolicyKind[] = [
  kind('policy.networking.k8s.io/v1alpha2', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
  kind('policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy', 'adminnetworkpolicies'),
  kind('policy.networking.k8s.io/v1alpha1', 'BaselineAdminNetworkPolicy', 'baselineadminnetworkpolicies'),
  kind('crd.projectcalico.org/v1', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  kind('projectcalico.org/v3', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  kind('cilium.io/v2', 'CiliumClusterwideNetworkPolicy', 'ciliumclusterwidenetworkpolicies'),
  kind('crd.antrea.io/v1beta1', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
];

/** Of one Namespace. */
export const namespacedPolicyKinds: readonly PolicyKind[] = [
  kind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  kind('crd.projectcalico.org/v1', 'NetworkPolicy', 'networkpolicies'),
  kind('projectcalico.org/v3', 'NetworkPolicy', 'networkpolicies'),
  kind('cilium.io/v2', 'CiliumNetworkPolicy', 'ciliumnetworkpolicies'),
  kind('crd.antrea.io/v1beta1', 'NetworkPolicy', 'networkpolicies'),
];

const calicoVersions = ['crd.projectcalico.org/v1', 'projectcalico.org/v3'] as const;

/** What Calico has beside policies, of the whole cluster. */
export const calicoKinds: readonly PolicyKind[] = calicoVersions.flatMap((apiVersion) => [
  kind(apiVersion, 'Tier', 'tiers'),
  kind(apiVersion, 'GlobalNetworkSet', 'globalnetworksets'),
  kind(apiVersion, 'HostEndpoint', 'hostendpoints'),
]);

/** Of one Namespace, or of all. */
export const networkSetKinds: readonly PolicyKind[] = calicoVersions.map((apiVersion) =>
  kind(apiVersion, 'NetworkSet', 'networksets'),
);

function kind(apiVersion: string, name: string, plural: string): PolicyKind {
  return { apiVersion, kind: name, plural };
}

/** A list, and whether it was larger than an answer may be. */
export type OnListed = (list: { plural: string; namespace: string | undefined; isTooLarge: boolean }) => void;

/** `fromCache`: from the API server's cache, as the kubelet reads; else from etcd. Never rejects. */
export async function listPolicies(
  { request }: Pick<Connection, 'request'>,
  { apiVersion, plural }: PolicyKind,
  namespace: string | undefined,
  { fromCache }: { fromCache: boolean },
): Promise<{ kind: 'listed'; items: readonly Json[] } | Refusal> {
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const query = fromCache ? { resourceVersion: '0' } : {};
  const answer = await request('GET', `/apis/${apiVersion}${scope}/${plural}`, { query });
  if (answer.kind === 'refused') return answer;
  const items = at(answer.body, 'items');
  if (Array.isArray(items) || items === null) return { kind: 'listed', items: list(items) };
  return madeUp(`the answer is no list of ${plural}`);
}

/** Why policies of a kind are not known, for a verdict. */
export function unlistedReason({ plural }: Pick<PolicyKind, 'plural'>, refusal: Refusal): string {
  return isTooLarge(refusal) ? `the list of ${plural} is too large` : `${plural} may not be listed`;
}

/** That there are no policies must not follow from what a proxy makes up. */
function madeUp(message: string): Refusal {
  return { kind: 'refused', status: 0, reason: '', message, retryAfter: undefined };
}

/**
 * Whether the API server has the kind: who may not list it gets the same refusal where there is none. Each user may ask. Undefined where
 * it does not answer. Never rejects.
 */
export async function isServed(
  { request }: Pick<Connection, 'request'>,
  { apiVersion, plural }: PolicyKind,
): Promise<boolean | undefined> {
  const answer = await request('GET', `/apis/${apiVersion}`, {});
  if (answer.kind === 'refused') return answer.status === 404 ? false : undefined;
  return list(at(answer.body, 'resources')).some((each) => at(each, 'name') === plural);
}

/** Kinds that the API server has, and versions of APIs for which it does not say, as where the server behind an APIService is away. */
export interface DiscoveredKinds {
  readonly served: readonly PolicyKind[];
  readonly away: readonly { readonly apiVersion: string; readonly refusal: Refusal }[];
}

/** As `discoverKinds`; rejects with a `RefusedError` where any of them is away. */
export async function servedKinds(
  connection: Pick<Connection, 'request'>,
  kinds: readonly PolicyKind[],
): Promise<readonly PolicyKind[]> {
  const { served, away } = await discoverKinds(connection, kinds);
  if (away[0] !== undefined) throw new RefusedError(away[0].refusal);
  return served;
}

/**
 * Asked once for each version of an API. Where Calico's own API server shows what is stored beside it, what is stored counts: that needs no
 * right to single tiers. Never rejects.
 */
export async function discoverKinds(
  { request }: Pick<Connection, 'request'>,
  kinds: readonly PolicyKind[],
): Promise<DiscoveredKinds> {
  const versions = [...new Set(kinds.map(({ apiVersion }) => apiVersion))];
  const answers = await Promise.all(
    versions.map(async (version) => {
      const answer = await request('GET', `/apis/${version}`, {});
      const isList = answer.kind === 'refused' || Array.isArray(at(answer.body, 'resources'));
      return isList ? answer : madeUp(`the answer is no list of what ${version} has`);
    }),
  );
  const served = new Map<string, ReadonlySet<Json>>();
  for (const [index, answer] of answers.entries())
    if (answer.kind === 'answered')
      served.set(versions[index] ?? '', new Set(list(at(answer.body, 'resources')).map((each) => at(each, 'name'))));
  const found = kinds.filter(({ apiVersion, plural }) => served.get(apiVersion)?.has(plural) === true);
  const isStored = found.some(({ apiVersion }) => apiVersion.startsWith('crd.projectcalico.org/'));
  const isNeeded = (version: string): boolean => !isStored || !version.startsWith('projectcalico.org/');
  const away = answers.flatMap((answer, index) => {
    const apiVersion = versions[index] ?? '';
    const isAway = answer.kind === 'refused' && answer.status !== 404 && isNeeded(apiVersion);
    return isAway ? [{ apiVersion, refusal: answer }] : [];
  });
  return { served: found.filter(({ apiVersion }) => isNeeded(apiVersion)), away };
}
