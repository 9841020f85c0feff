/** Kinds of network policies, and how they are listed. */
import { at, type Json, list } from '../platform/json.ts';
import type { Refusal } from '../events/events.ts';
import type { Connection, Query } from './connection.ts';
import { isTooLarge, RefusedError } from './refusal.ts';
import type { Millis } from '../model/log-line.ts';
import { awayPolicy, type Policy } from '../policies/policies.ts';
import { createSharedAnswers } from '../platform/fresh-values.ts';

export interface PolicyKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name in paths and in rights. */
  readonly plural: string;
}

/** Kinds of policies for the whole cluster. A kind that the API server does not have is left out. */
export const clusterPolicyKinds: readonly PolicyKind[] = [
  policyKind('policy.networking.k8s.io/v1alpha2', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
  policyKind('policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy', 'adminnetworkpolicies'),
  policyKind('policy.networking.k8s.io/v1alpha1', 'BaselineAdminNetworkPolicy', 'baselineadminnetworkpolicies'),
  policyKind('crd.projectcalico.org/v1', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  policyKind('projectcalico.org/v3', 'GlobalNetworkPolicy', 'globalnetworkpolicies'),
  policyKind('cilium.io/v2', 'CiliumClusterwideNetworkPolicy', 'ciliumclusterwidenetworkpolicies'),
  policyKind('crd.antrea.io/v1beta1', 'ClusterNetworkPolicy', 'clusternetworkpolicies'),
];

/** Kinds of policies of one Namespace. */
export const namespacedPolicyKinds: readonly PolicyKind[] = [
  policyKind('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  policyKind('crd.projectcalico.org/v1', 'NetworkPolicy', 'networkpolicies'),
  policyKind('projectcalico.org/v3', 'NetworkPolicy', 'networkpolicies'),
  policyKind('cilium.io/v2', 'CiliumNetworkPolicy', 'ciliumnetworkpolicies'),
  policyKind('crd.antrea.io/v1beta1', 'NetworkPolicy', 'networkpolicies'),
];

const calicoVersions = ['crd.projectcalico.org/v1', 'projectcalico.org/v3'] as const;

/** Calico's kinds beside policies, of the whole cluster. */
export const calicoKinds: readonly PolicyKind[] = calicoVersions.flatMap((apiVersion) => [
  policyKind(apiVersion, 'Tier', 'tiers'),
  policyKind(apiVersion, 'GlobalNetworkSet', 'globalnetworksets'),
  policyKind(apiVersion, 'HostEndpoint', 'hostendpoints'),
]);

/** Kinds of NetworkSets, of one Namespace or of all. */
export const networkSetKinds: readonly PolicyKind[] = calicoVersions.map((apiVersion) =>
  policyKind(apiVersion, 'NetworkSet', 'networksets'),
);

function policyKind(apiVersion: string, name: string, plural: string): PolicyKind {
  return { apiVersion, kind: name, plural };
}

/** A list, and whether it was larger than an answer may be. */
export type OnListed = (list: { plural: string; namespace: string | undefined; isTooLarge: boolean }) => void;

/** This query reads the API server's cache, as the kubelet does; without it, etcd is read. */
export const fromCache = { resourceVersion: '0' };

/** Never rejects. */
export async function listPolicies(
  { request }: Pick<Connection, 'request'>,
  { apiVersion, plural }: PolicyKind,
  namespace: string | undefined,
  query: Query,
): Promise<{ kind: 'listed'; items: readonly Json[] } | Refusal> {
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
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

/** A refusal for an answer that is no list: a proxy's page must not pass for "no policies". */
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

/** Does what `discoverKinds` does; rejects with a `RefusedError` if any of them is away. */
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
async function discoverKinds(
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

/** The kinds that the API server has change when CustomResourceDefinitions are installed. */
const kindsAge: Millis = 600_000;

/** A server that was away may be back soon. */
const awayAge: Millis = 10_000;

/** Both reject with a `RefusedError`. */
export interface Discovery {
  /** The kinds that are served. */
  readonly kindsOf: (kinds: readonly PolicyKind[]) => Promise<PolicyKind[]>;
  /** One policy for each API whose server is away. */
  readonly unseenPolicies: () => Promise<Policy[]>;
}

export function createDiscovery(
  connection: Pick<Connection, 'request'>,
  all: readonly PolicyKind[],
  now: () => Millis,
): Discovery {
  const discovered = createSharedAnswers(() => discoverKinds(connection, all), { entries: 1, now });

  return {
    async kindsOf(kinds) {
      const { served } = await discover();
      return served.filter((kind) => kinds.includes(kind));
    },
    async unseenPolicies() {
      const { away } = await discover();
      return away.map(({ apiVersion }) => awayPolicy(apiVersion));
    },
  };

  /** The server behind an APIService may be away for long: its policies are unknown then. Else there is no answer at all. */
  async function discover(): Promise<DiscoveredKinds> {
    const known = await discovered.get('', kindsAge);
    const { value } = known.value.away.length > 0 ? await discovered.get('', awayAge) : known;
    const failed = value.away.find(({ apiVersion, refusal }) => refusal.status < 500 || isOfKubernetes(apiVersion));
    if (failed === undefined) return value;
    throw new RefusedError(failed.refusal);
  }
}

function isOfKubernetes(apiVersion: string): boolean {
  return apiVersion.startsWith('networking.k8s.io/');
}
