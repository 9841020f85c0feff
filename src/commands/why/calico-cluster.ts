/** What Calico has in a cluster: its policies, and what they depend on. */
import type { Refusal } from '../../events/events.ts';
import type { Connection } from '../../kubernetes/connection.ts';
import { unlistedReason } from '../../kubernetes/policy-kinds.ts';
import { at, list, text } from '../../platform/json.ts';
import {
  anyTier,
  awayPolicy,
  type CalicoKind,
  type Pod,
  type Requirements,
  serviceNameLabel,
} from '../../policies/policies.ts';
import type { Collector } from './known-objects.ts';
import { get, refused, unlisted } from './listing.ts';

/** As its API server shows them, and as they are stored. The first that the cluster has is read. */
const versions = ['projectcalico.org/v3', 'crd.projectcalico.org/v1'] as const;

const policiesOfCluster = [
  ['GlobalNetworkPolicy', 'globalnetworkpolicies'],
  ['StagedGlobalNetworkPolicy', 'stagedglobalnetworkpolicies'],
] as const;
const policiesOfNamespace = [
  ['NetworkPolicy', 'networkpolicies'],
  ['StagedNetworkPolicy', 'stagednetworkpolicies'],
  ['StagedKubernetesNetworkPolicy', 'stagedkubernetesnetworkpolicies'],
] as const;

/** A release that does not have a kind serves no list of it. */
export interface CalicoApi {
  readonly connection: Connection;
  readonly version: string;
  readonly resources: ReadonlySet<string>;
  readonly collector: Collector;
}

/** Undefined where the cluster has no Calico. What policies need beside is read later, by `readRequired`. */
export async function readCalico(
  connection: Connection,
  pods: readonly Pod[],
  collector: Collector,
): Promise<CalicoApi | undefined> {
  const api = await findApi(connection, collector);
  if (api === undefined) return undefined;
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  const tiers = await readTiers(api);
  await Promise.all([
    readUnread(api, 'GlobalNetworkSet', 'globalnetworksets', 'networksets'),
    readUnread(api, 'HostEndpoint', 'hostendpoints'),
    ...policiesOfCluster.map((kind) => readPolicies(api, kind, undefined, tiers)),
    ...namespaces.flatMap((namespace) => policiesOfNamespace.map((kind) => readPolicies(api, kind, namespace, tiers))),
    ...pods.map(({ namespace, serviceAccount = 'default' }) =>
      get(
        connection,
        `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}`,
        { apiVersion: 'v1', kind: 'ServiceAccount' },
        collector,
      ),
    ),
  ]);
  return api;
}

/** NetworkSets and endpoints of Services, as far as policies name them. */
export async function readRequired(
  api: CalicoApi,
  { networkSets, services }: Pick<Requirements, 'networkSets' | 'services'>,
): Promise<void> {
  const namespaces = networkSets === 'all' ? [undefined] : networkSets;
  await Promise.all([
    ...namespaces.map(async (namespace) => {
      const refusal = await readList(api, 'NetworkSet', 'networksets', namespace);
      if (refusal !== undefined) api.collector.unread('networksets');
    }),
    ...services.map((service) => readEndpoints(api, service)),
  ]);
}

async function readEndpoints({ connection, collector: { add, endpoints } }: CalicoApi, service: string): Promise<void> {
  const [namespace = '', name = ''] = service.split('/');
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const answer = await connection.request('GET', path, { query: { labelSelector: `${serviceNameLabel}=${name}` } });
  if (answer.kind === 'refused') {
    refused(answer);
    return endpoints.unread(namespace);
  }
  add({ items: list(at(answer.body, 'items')) }, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' });
  endpoints.complete(service);
}

const calicoUnread: readonly CalicoKind[] = ['tiers', 'networksets', 'hostendpoints'];
const unknownApi = { apiVersion: versions[0], kind: 'GlobalNetworkPolicy' };

/** Each user may ask what an API server has. Where that is refused, or Calico's own does not answer, its policies are unknown. */
async function findApi(connection: Connection, collector: Collector): Promise<CalicoApi | undefined> {
  let isRefused = false;
  let away: string | undefined;
  for (const version of versions) {
    const answer = await connection.request('GET', `/apis/${version}`, {});
    if (answer.kind === 'answered') {
      const resources = new Set(list(at(answer.body, 'resources')).map((each) => text(at(each, 'name')) ?? ''));
      if (resources.has('globalnetworkpolicies')) return { connection, version, resources, collector };
    } else {
      refused(answer);
      if (answer.status >= 500) away ??= version;
      isRefused ||= answer.status !== 404;
    }
  }
  if (away !== undefined) collector.addPolicy(awayPolicy(away));
  else if (isRefused) collector.addPolicy(unlisted(unknownApi, undefined, 'policies of Calico may not be listed'));
  if (isRefused) for (const kind of calicoUnread) collector.unread(kind);
  return undefined;
}

/** Why they could not be listed; undefined where they were. */
async function readList(
  { connection, version, resources, collector }: CalicoApi,
  kind: string,
  plural: string,
  namespace?: string,
  tier?: string,
): Promise<Refusal | undefined> {
  if (!resources.has(plural)) return undefined;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const query = tier === undefined ? {} : { query: { labelSelector: `projectcalico.org/tier==${tier}` } };
  const answer = await connection.request('GET', `/apis/${version}${scope}/${plural}`, query);
  if (answer.kind === 'refused') {
    refused(answer);
    return answer.status === 404 ? undefined : answer;
  }
  collector.add({ items: list(at(answer.body, 'items')) }, { apiVersion: version, kind });
  return undefined;
}

async function readUnread(api: CalicoApi, kind: string, plural: CalicoKind): Promise<void>;
async function readUnread(api: CalicoApi, kind: string, plural: string, unread: CalicoKind): Promise<void>;
async function readUnread(api: CalicoApi, kind: string, plural: string, unread = plural as CalicoKind): Promise<void> {
  if ((await readList(api, kind, plural)) !== undefined) api.collector.unread(unread);
}

async function readTiers(api: CalicoApi): Promise<string[]> {
  await readUnread(api, 'Tier', 'tiers');
  const { tiers } = api.collector.objects().calico;
  return tiers.filter(({ name, calicoName }) => name === calicoName).map(({ name }) => name);
}

/** Calico's API server shows the policies of a tier to who may read the tier, and older ones only those of `default` unless asked. */
async function readPolicies(
  api: CalicoApi,
  [kind, plural]: readonly [string, string],
  namespace: string | undefined,
  tiers: readonly string[],
): Promise<void> {
  const unread = (refusal: Refusal, tier: string): void => {
    // What is staged decides nothing.
    if (!kind.startsWith('Staged'))
      api.collector.addPolicy(
        unlisted({ apiVersion: api.version, kind }, namespace, unlistedReason({ plural }, refusal), tier),
      );
  };
  const refusal = await readList(api, kind, plural, namespace);
  if (refusal !== undefined) return unread(refusal, anyTier);
  if (api.version !== versions[0]) return;
  await Promise.all(
    tiers.map(async (tier) => {
      const ofTier = await readList(api, kind, plural, namespace, tier);
      if (ofTier !== undefined) unread(ofTier, tier);
    }),
  );
}
