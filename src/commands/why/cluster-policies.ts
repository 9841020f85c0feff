/** Lists the policies of a cluster and what they depend on, with the user's rights. Facts that may not be read are unknown. */
import type { Refusal } from '../../events/events.ts';
import {
  type Connection,
  isTooLarge,
  listAll,
  listPolicies,
  type PolicyKind,
  type Query,
  RefusedError,
  servedKinds,
  unlistedReason,
} from '../../kubernetes/kubernetes.ts';
import { at, type Json, list, text } from '../../platform/json.ts';
import {
  anyTier,
  awayPolicy,
  type CalicoKind,
  type Pod,
  type Policy,
  type Requirements,
  serviceNameLabel,
  unknownPolicy,
} from '../../policies/policies.ts';
import { type Collector, type ItemKind, WhyError } from './known-objects.ts';

export interface Reader {
  readonly connection: Connection;
  readonly collector: Collector;
}

/** Throws a `WhyError` if the API server cannot be asked. Other refusals only make a fact unknown: a missing right or object, or a list that is too large. */
export function requireAnswer(refusal: Refusal): void {
  const { status, message } = refusal;
  if (!isTooLarge(refusal) && (status === 0 || status === 401))
    throw new WhyError(`the API server cannot be asked: ${message}`);
}

export async function readOne({ connection, collector }: Reader, path: string, kind: ItemKind): Promise<void> {
  const answer = await connection.request('GET', path, {});
  if (answer.kind === 'refused') return requireAnswer(answer);
  collector.add(answer.body, kind);
}

/** Reads a list in pages, and adds the objects that are wanted. Resolves to false if a part could not be read. */
export async function readAll(
  { connection, collector }: Reader,
  path: string,
  kind: ItemKind,
  isWanted: (object: Json) => boolean = () => true,
): Promise<boolean> {
  try {
    await listAll(connection, path, { pageSize: 250 }, (object) => {
      if (isWanted(object)) collector.add(object, kind);
      return undefined;
    });
    return true;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    requireAnswer(error.refusal);
    return false;
  }
}

/** Reads policies of a kind. If they may not be listed, or the list is too large, one unknown policy stands for all of them. */
export async function readPolicies(reader: Reader, kind: PolicyKind, namespace: string | undefined): Promise<void> {
  const refusal = await readList(reader, kind, namespace);
  if (refusal === undefined) return;
  // The refusal may mean that the cluster does not have the kind, so ask which kinds it has.
  const served = isTooLarge(refusal) ? [kind] : await servedKinds(reader.connection, [kind]).catch(() => [kind]);
  if (served.length === 0) return;
  reader.collector.addPolicy(unlisted(kind, namespace, refusal));
}

/** Reads policies of a kind. Returns the refusal if they could not be listed; undefined if they were, or if the cluster does not have the kind. */
async function readList(
  { connection, collector }: Reader,
  policyKind: PolicyKind,
  namespace: string | undefined,
  query: Query = {},
): Promise<Refusal | undefined> {
  const { apiVersion, kind } = policyKind;
  const answer = await listPolicies(connection, policyKind, namespace, query);
  if (answer.kind === 'listed') return void collector.add({ items: answer.items }, { apiVersion, kind });
  requireAnswer(answer);
  return answer.status === 404 ? undefined : answer;
}

function unlisted(kind: PolicyKind, namespace: string | undefined, refusal: Refusal, tier = anyTier): Policy {
  const name = tier === anyTier ? '(any)' : `(any of the tier ${tier})`;
  const { apiVersion } = kind;
  return unknownPolicy(
    { apiVersion, kind: kind.kind, metadata: { name, namespace } },
    tier,
    unlistedReason(kind, refusal),
  );
}

/** The API of Calico's API server, and the API of stored objects. The first one that the cluster has is used. */
const versions = ['projectcalico.org/v3', 'crd.projectcalico.org/v1'] as const;

const policiesOfCluster = ['GlobalNetworkPolicy', 'StagedGlobalNetworkPolicy'];
const policiesOfNamespace = ['NetworkPolicy', 'StagedNetworkPolicy', 'StagedKubernetesNetworkPolicy'];

export interface CalicoApi extends Reader {
  readonly version: string;
  /** The kinds that this release of Calico has, by their plural names. */
  readonly resources: ReadonlySet<string>;
}

/** Reads Calico's policies. Returns undefined if the cluster has no Calico. `readRequired` then reads the objects that the policies name. */
export async function readCalico(reader: Reader, pods: readonly Pod[]): Promise<CalicoApi | undefined> {
  const api = await findApi(reader);
  if (api === undefined) return undefined;
  const namespaces = new Set(pods.map(({ namespace }) => namespace));
  await readObjects(api, 'Tier', 'tiers');
  const tiers = api.collector
    .objects()
    .calico.tiers.flatMap(({ name, calicoName }) => (name === calicoName ? [name] : []));
  await Promise.all([
    readObjects(api, 'GlobalNetworkSet', 'networksets'),
    readObjects(api, 'HostEndpoint', 'hostendpoints'),
    ...policiesOfCluster.map((kind) => readCalicoPolicies(api, kind, undefined, tiers)),
    ...[...namespaces].flatMap((namespace) =>
      policiesOfNamespace.map((kind) => readCalicoPolicies(api, kind, namespace, tiers)),
    ),
    ...pods.map(({ namespace, serviceAccount = 'default' }) =>
      readOne(api, `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}`, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
      }),
    ),
  ]);
  return api;
}

/** Reads the NetworkSets and the endpoints of Services that policies name. */
export async function readRequired(
  api: CalicoApi,
  { networkSets, services }: Pick<Requirements, 'networkSets' | 'services'>,
): Promise<void> {
  await Promise.all([
    ...(networkSets === 'all' ? [undefined] : networkSets).map((namespace) =>
      readObjects(api, 'NetworkSet', 'networksets', namespace),
    ),
    ...services.map((service) => readEndpoints(api, service)),
  ]);
}

async function readEndpoints({ connection, collector: { add, endpoints } }: Reader, service: string): Promise<void> {
  const [namespace = '', name = ''] = service.split('/');
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const answer = await connection.request('GET', path, { query: { labelSelector: `${serviceNameLabel}=${name}` } });
  if (answer.kind === 'refused') {
    requireAnswer(answer);
    return endpoints.unread(namespace);
  }
  add({ items: list(at(answer.body, 'items')) }, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' });
  endpoints.complete(service);
}

/** Finds Calico's API, which any user may ask for. If the API server refuses, or Calico's own does not answer, Calico's policies are unknown. */
async function findApi({ connection, collector }: Reader): Promise<CalicoApi | undefined> {
  const refusals: { version: string; refusal: Refusal }[] = [];
  for (const version of versions) {
    const answer = await connection.request('GET', `/apis/${version}`, {});
    if (answer.kind === 'answered') {
      const resources = new Set(list(at(answer.body, 'resources')).map((each) => text(at(each, 'name')) ?? ''));
      if (resources.has('globalnetworkpolicies')) return { connection, version, resources, collector };
    } else {
      requireAnswer(answer);
      if (answer.status !== 404) refusals.push({ version, refusal: answer });
    }
  }
  const [first] = refusals;
  if (first === undefined) return undefined;
  const away = refusals.find(({ refusal }) => refusal.status >= 500);
  const any = { apiVersion: versions[0], kind: 'GlobalNetworkPolicy', plural: 'policies of Calico' };
  collector.addPolicy(away === undefined ? unlisted(any, undefined, first.refusal) : awayPolicy(away.version));
  for (const kind of ['tiers', 'networksets', 'hostendpoints'] as const) collector.unread(kind);
  return undefined;
}

/** Reads the objects of a kind. If they may not be listed, notes the kind as `unread`. */
async function readObjects(api: CalicoApi, kind: string, unread: CalicoKind, namespace?: string): Promise<void> {
  if ((await listCalico(api, kind, namespace)) !== undefined) api.collector.unread(unread);
}

async function listCalico(
  api: CalicoApi,
  kind: string,
  namespace: string | undefined,
  query?: Query,
): Promise<Refusal | undefined> {
  const calicoKind = kindOf(api, kind);
  return api.resources.has(calicoKind.plural) ? await readList(api, calicoKind, namespace, query) : undefined;
}

function kindOf({ version }: CalicoApi, kind: string): PolicyKind {
  return { apiVersion: version, kind, plural: `${kind.toLowerCase().replace(/y$/, 'ie')}s` };
}

/**
 * Lists the policies tier by tier, because Calico's API server shows a policy only to users who may read its tier, and older ones show only `default`
 * unless another tier is named.
 */
async function readCalicoPolicies(
  api: CalicoApi,
  kind: string,
  namespace: string | undefined,
  tiers: readonly string[],
): Promise<void> {
  const noteUnread = (refusal: Refusal | undefined, tier: string): void => {
    // Staged policies may be missing, because they are not enforced.
    if (refusal === undefined || kind.startsWith('Staged')) return;
    api.collector.addPolicy(unlisted(kindOf(api, kind), namespace, refusal, tier));
  };
  const refusal = await listCalico(api, kind, namespace);
  noteUnread(refusal, anyTier);
  if (refusal !== undefined || api.version !== versions[0]) return;
  await Promise.all(
    tiers.map(async (tier) => {
      const query = { labelSelector: `projectcalico.org/tier==${tier}` };
      noteUnread(await listCalico(api, kind, namespace, query), tier);
    }),
  );
}
