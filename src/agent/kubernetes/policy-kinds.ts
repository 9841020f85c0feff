import { at, type Json, list, text } from '../../base/platform/json.ts';
import type { Refusal } from '../../publish/events/events.ts';
import type { Answer, Connection, Query } from './connection.ts';
import { isTooLarge, refusalOfError, RefusedError } from './http.ts';
import type { TakeItem } from './list-items.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createSharedAnswers } from '../../base/platform/fresh-values.ts';
import { anyTier, type CalicoKind, isCalico, type Policy, unknownPolicy } from '../../explain/policies/policies.ts';

export interface PolicyKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

export const clusterPolicyKinds: readonly PolicyKind[] = [
  policyKind('policy.networking.k8s.io/v1beta1', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
  policyKind('policy.networking.k8s.io/v1alpha2', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
  policyKind('policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy', 'adminnetworkpolicies'),
  policyKind('policy.networking.k8s.io/v1alpha1', 'BaselineAdminNetworkPolicy', 'baselineadminnetworkpolicies'),
  policyKind('crd.projectcalico.org/v1', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  policyKind('projectcalico.org/v3', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  policyKind('cilium.io/v2', 'CiliumClusterwideNetworkPolicy', 'ciliumclusterwidenetworkpolicies'),
  policyKind('crd.antrea.io/v1beta1', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
];

export const namespacedPolicyKinds: readonly PolicyKind[] = [
  policyKind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  policyKind('crd.projectcalico.org/v1', 'NetworkPolicy', 'networkpolicies'),
  policyKind('projectcalico.org/v3', 'NetworkPolicy', 'networkpolicies'),
  policyKind('cilium.io/v2', 'CiliumNetworkPolicy', 'ciliumnetworkpolicies'),
  policyKind('crd.antrea.io/v1beta1', 'NetworkPolicy', 'networkpolicies'),
];

const calicoVersions = ['crd.projectcalico.org/v1', 'projectcalico.org/v3'] as const;

/** The API of Calico's stored objects. Unlike Calico's own API server, it needs no right for each tier. */
const withoutTiers = calicoVersions[0];

/** Calico's cluster-wide objects that are not policies. */
export const calicoKinds: readonly PolicyKind[] = calicoVersions.flatMap((apiVersion) => [
  policyKind(apiVersion, 'Tier', 'tiers'),
  policyKind(apiVersion, 'GlobalNetworkSet', 'globalnetworksets'),
  policyKind(apiVersion, 'HostEndpoint', 'hostendpoints'),
]);

export const networkSetKinds: readonly PolicyKind[] = calicoVersions.map((apiVersion) =>
  policyKind(apiVersion, 'NetworkSet', 'networksets'),
);

const unread: Readonly<Record<string, CalicoKind>> = { Tier: 'tiers', HostEndpoint: 'hostendpoints' };

/** Returns what is missing if the objects of a kind of `calicoKinds` or `networkSetKinds` cannot be listed. */
export function unreadKindOf({ kind }: PolicyKind): CalicoKind {
  return unread[kind] ?? 'networksets';
}

function policyKind(apiVersion: string, name: string, plural: string): PolicyKind {
  return { apiVersion, kind: name, plural };
}

/** This query lets the API server answer from its cache instead of etcd. */
export const fromCache = { resourceVersion: '0' };

export type ListedObjects = { kind: 'listed'; items: readonly Json[] };

/** Objects that `onItem` has taken are not in the result. */
export async function listPolicies(
  { request }: Pick<Connection, 'request'>,
  { apiVersion, plural }: PolicyKind,
  namespace: string | undefined,
  query: Query,
  onItem?: TakeItem,
): Promise<ListedObjects | Refusal> {
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return itemsIn(
    await request('GET', `/apis/${apiVersion}${scope}/${plural}`, { query, onItem }),
    `the answer is not a list of ${plural}`,
  );
}

/** Treats an answer that is not a list as a refusal, because a proxy's page must not pass for "no policies". */
export function itemsIn(answer: Answer, otherwise: string): ListedObjects | Refusal {
  if (answer.kind === 'refused') return answer;
  const items = at(answer.body, 'items');
  return Array.isArray(items) || items === null
    ? { kind: 'listed', items: list(items) }
    : refusalOfError(new Error(otherwise));
}

export function unlistedReason({ plural }: Pick<PolicyKind, 'plural'>, refusal: Refusal): string {
  return isTooLarge(refusal) ? `the list of ${plural} is too large` : `${plural} may not be listed`;
}

/** Stands for all policies of a kind, or of a tier of Calico, that could not be listed. */
export function unlistedPolicy(
  { apiVersion, kind }: PolicyKind,
  namespace: string | undefined,
  reason: string,
  tier = anyTier,
): Policy {
  const name = tier === anyTier ? '(any)' : `(any of the tier ${tier})`;
  return unknownPolicy({ apiVersion, kind, metadata: { name, namespace } }, tier, reason);
}

export interface DiscoveredKinds {
  readonly served: readonly PolicyKind[];
  /** API versions whose server does not answer. */
  readonly away: readonly { readonly apiVersion: string; readonly refusal: Refusal }[];
  /** Kinds that the cluster has only in versions that are not known here. Their policies make verdicts unknown. */
  readonly unevaluated: readonly PolicyKind[];
}

/** Rejects with a `RefusedError` if any server does not answer. */
export async function servedKinds(
  connection: Pick<Connection, 'request'>,
  kinds: readonly PolicyKind[],
): Promise<Omit<DiscoveredKinds, 'away'>> {
  const { away, ...found } = await discoverKinds(connection, kinds, withoutTiers);
  if (away[0] !== undefined) throw new RefusedError(away[0].refusal);
  return found;
}

/** Stands for all policies of a kind in a version that is not known here. */
export function unevaluatedPolicy(kind: PolicyKind): Policy {
  return unlistedPolicy(kind, undefined, `${kind.apiVersion} is not evaluated`);
}

/** `preferred`: the API of Calico that is used where the cluster has both. Never rejects. */
export async function discoverKinds(
  { request }: Pick<Connection, 'request'>,
  kinds: readonly PolicyKind[],
  preferred: (typeof calicoVersions)[number],
): Promise<DiscoveredKinds> {
  const versions = [...new Set(kinds.map(({ apiVersion }) => apiVersion))];
  const others = await otherVersions(request, versions);
  const all = [...versions, ...others];
  const answers = await Promise.all(
    all.map(async (version) => {
      const answer = await request('GET', `/apis/${version}`, {});
      const isList = answer.kind === 'refused' || Array.isArray(at(answer.body, 'resources'));
      return isList ? answer : refusalOfError(new Error(`the answer is not a list of the kinds of ${version}`));
    }),
  );
  const served = new Map<string, ReadonlySet<Json>>();
  for (const [index, answer] of answers.entries())
    if (answer.kind === 'answered')
      served.set(all[index] ?? '', new Set(list(at(answer.body, 'resources')).map((each) => at(each, 'name'))));
  const found = firstVersions(kinds.filter(({ apiVersion, plural }) => served.get(apiVersion)?.has(plural) === true));
  const ofCalico = (found.find(({ apiVersion }) => apiVersion === preferred) ?? found.find(isCalico))?.apiVersion;
  // A tiered list may be incomplete, so it does not replace stored objects that cannot be read now.
  const isWanted = (apiVersion: string): boolean => apiVersion === preferred && preferred === withoutTiers;
  const isNeeded = (apiVersion: string): boolean =>
    ofCalico === undefined || ofCalico === apiVersion || !isCalico({ apiVersion }) || isWanted(apiVersion);
  const away = answers.slice(0, versions.length).flatMap((answer, index) => {
    const apiVersion = versions[index] ?? '';
    const isAway = answer.kind === 'refused' && answer.status !== 404 && isNeeded(apiVersion);
    return isAway ? [{ apiVersion, refusal: answer }] : [];
  });
  const unevaluated = [...served.keys()].flatMap((apiVersion) =>
    kinds
      .filter((kind) => groupOf(kind) === groupOf({ apiVersion }) && served.get(apiVersion)?.has(kind.plural) === true)
      .map(({ kind, plural }) => policyKind(apiVersion, kind, plural)),
  );
  return {
    served: found.filter(({ apiVersion }) => isNeeded(apiVersion)),
    away,
    unevaluated: firstVersions([...found, ...unevaluated]).filter((kind) => !found.includes(kind)),
  };
}

/** Returns the cluster's other versions of the groups; none if the cluster does not list them. */
async function otherVersions(request: Connection['request'], versions: readonly string[]): Promise<readonly string[]> {
  const groups = new Set(versions.map((apiVersion) => groupOf({ apiVersion })));
  const answer = await request('GET', '/apis', {});
  const listed = answer.kind === 'refused' ? [] : list(at(answer.body, 'groups'));
  return listed
    .filter((group) => groups.has(text(at(group, 'name')) ?? ''))
    .flatMap((group) => list(at(group, 'versions')))
    .flatMap((each) => text(at(each, 'groupVersion')) ?? [])
    .filter((apiVersion) => groups.has(groupOf({ apiVersion })) && !versions.includes(apiVersion));
}

/** If a kind is served in several versions, only the first row counts, because all versions show the same objects. */
function firstVersions(kinds: readonly PolicyKind[]): PolicyKind[] {
  const first = new Map<string, PolicyKind>();
  for (const kind of kinds) {
    const key = `${groupOf(kind)}/${kind.plural}`;
    if (!first.has(key)) first.set(key, kind);
  }
  return [...first.values()];
}

function groupOf({ apiVersion }: Pick<PolicyKind, 'apiVersion'>): string {
  return apiVersion.split('/', 1)[0] ?? '';
}

/** How long discovered kinds are used. New ones come with CustomResourceDefinitions. */
const kindsAge: Millis = 600_000;

/** How long a missing server is remembered, because it may be back soon. */
const awayAge: Millis = 10_000;

/** Policies of an APIService that fails (5xx) are unknown, because it may be away for long. Any other refusal rejects (`RefusedError`). */
export function createDiscovery(
  connection: Pick<Connection, 'request'>,
  all: readonly PolicyKind[],
  now: () => Millis,
): () => Promise<DiscoveredKinds> {
  const discovered = createSharedAnswers(() => discoverKinds(connection, all, withoutTiers), { entries: 1, now });
  return async () => {
    const known = await discovered.get('', kindsAge);
    const { value } = known.value.away.length > 0 ? await discovered.get('', awayAge) : known;
    const failed = value.away.find(
      ({ apiVersion, refusal }) => refusal.status < 500 || apiVersion.startsWith('networking.k8s.io/'),
    );
    if (failed === undefined) return value;
    throw new RefusedError(failed.refusal);
  };
}
