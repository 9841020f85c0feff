/** Reads the network policies of a cluster, and Calico's objects that they depend on, with the user's rights. Unreadable objects count as unknown. */
import type { Refusal } from '../../publish/events/events.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  type Connection,
  discoverKinds,
  isTooLarge,
  listPolicies,
  namespacedPolicyKinds,
  networkSetKinds,
  type PolicyKind,
  type Query,
  unevaluatedPolicy,
  unlistedPolicy,
  unlistedReason,
  unreadKindOf,
} from '../../agent/kubernetes/kubernetes.ts';
import { at, list } from '../../base/platform/json.ts';
import { anyTier, awayPolicy, isCalico, serviceNameLabel } from '../../explain/policies/policies.ts';
import type { WhyOptions } from '../options/why-options.ts';
import { findConnections } from './connections.ts';
import { type Collector, evaluatorOf, WhyError } from './known-objects.ts';

export interface ClusterReader {
  readonly connection: Connection;
  readonly collector: Collector;
}

const calicoServer = 'projectcalico.org/v3';
const kindsOfCluster = [...clusterPolicyKinds, ...staged('StagedGlobalNetworkPolicy', 'stagedglobalnetworkpolicies')];
const kindsOfNamespace = [
  ...namespacedPolicyKinds,
  ...staged('StagedNetworkPolicy', 'stagednetworkpolicies'),
  ...staged('StagedKubernetesNetworkPolicy', 'stagedkubernetesnetworkpolicies'),
];

/** Staged policies are not enforced, so the agent does not read them. */
function staged(kind: string, plural: string): PolicyKind[] {
  return [calicoServer, 'crd.projectcalico.org/v1'].map((apiVersion) => ({ apiVersion, kind, plural }));
}

/** Throws a `WhyError` if the API server gives no answer, or 401. Other refusals only make a fact unknown: a missing right, or a too large list. */
export function requireAnswer(refusal: Refusal): void {
  const { status, message } = refusal;
  if (!isTooLarge(refusal) && (status === 0 || status === 401))
    throw new WhyError(`the API server cannot be reached: ${message}`);
}

/** Calico's policies are unknown if its API cannot be discovered. */
export async function findKinds({ connection, collector }: ClusterReader): Promise<readonly PolicyKind[]> {
  const all = [...kindsOfCluster, ...kindsOfNamespace, ...calicoKinds, ...networkSetKinds];
  const { served, away, unevaluated } = await discoverKinds(connection, all, calicoServer);
  for (const kind of unevaluated) collector.addPolicy(unevaluatedPolicy(kind));
  for (const { refusal } of away) requireAnswer(refusal);
  const ofCalico = away.filter(isCalico);
  const [first] = ofCalico;
  if (first !== undefined) {
    const down = ofCalico.find(({ refusal }) => refusal.status >= 500);
    const any = { apiVersion: calicoServer, kind: 'GlobalNetworkPolicy', plural: 'policies of Calico' };
    collector.addPolicy(
      down === undefined
        ? unlistedPolicy(any, undefined, unlistedReason(any, first.refusal))
        : awayPolicy(down.apiVersion),
    );
    for (const kind of ['tiers', 'networksets', 'hostendpoints'] as const) collector.unread(kind);
  }
  // A user who lacks the right to discover another API may still list its objects.
  const unsure = all.filter((kind) => !isCalico(kind) && away.some(({ apiVersion }) => apiVersion === kind.apiVersion));
  return [...served, ...unsure];
}

/** Rejects with a `WhyError` if the API server cannot be asked. */
export async function readPolicies(
  reader: ClusterReader,
  kinds: readonly PolicyKind[],
  namespaces: readonly string[],
): Promise<void> {
  const served = (some: readonly PolicyKind[]): PolicyKind[] => kinds.filter((kind) => some.includes(kind));
  await Promise.all(served(calicoKinds).map((kind) => readObjects(reader, kind, undefined)));
  const { tiers } = reader.collector.objects().calico;
  const names = tiers.flatMap(({ name, calicoName }) => (name === calicoName ? [name] : []));
  await Promise.all([
    ...served(kindsOfCluster).map((kind) => readPoliciesOf(reader, kind, undefined, names)),
    ...served(kindsOfNamespace).flatMap((kind) =>
      namespaces.map((namespace) => readPoliciesOf(reader, kind, namespace, names)),
    ),
  ]);
}

/** Lists each tier by itself: Calico's server shows only tiers that the user may read, and older ones only `default` if none is named. */
async function readPoliciesOf(
  reader: ClusterReader,
  kind: PolicyKind,
  namespace: string | undefined,
  tiers: readonly string[],
): Promise<void> {
  const read = async (tier: string, query: Query): Promise<boolean> => {
    const refusal = await readList(reader, kind, namespace, query);
    // Staged policies may be missing, because they are not enforced.
    if (refusal !== undefined && !kind.kind.startsWith('Staged'))
      reader.collector.addPolicy(unlistedPolicy(kind, namespace, unlistedReason(kind, refusal), tier));
    return refusal === undefined;
  };
  if ((await read(anyTier, {})) && kind.apiVersion === calicoServer)
    await Promise.all(tiers.map((tier) => read(tier, { labelSelector: `projectcalico.org/tier==${tier}` })));
}

async function readObjects(reader: ClusterReader, kind: PolicyKind, namespace: string | undefined): Promise<void> {
  if ((await readList(reader, kind, namespace, {})) !== undefined) reader.collector.unread(unreadKindOf(kind));
}

/** Resolves to undefined after success, and if the cluster lacks the kind. */
async function readList(
  { connection, collector }: ClusterReader,
  policyKind: PolicyKind,
  namespace: string | undefined,
  query: Query,
): Promise<Refusal | undefined> {
  const { apiVersion, kind } = policyKind;
  const answer = await listPolicies(connection, policyKind, namespace, query);
  if (answer.kind === 'listed') return void collector.add({ items: answer.items }, { apiVersion, kind });
  requireAnswer(answer);
  return answer.status === 404 ? undefined : answer;
}

/** Reads the NetworkSets and the endpoints of Services that Calico's policies name. */
export async function readRequired(
  reader: ClusterReader,
  kinds: readonly PolicyKind[],
  options: WhyOptions,
): Promise<void> {
  const objects = reader.collector.objects();
  const { connections } = findConnections(options, objects);
  const { requirements } = evaluatorOf(objects);
  const sets = kinds.filter((kind) => networkSetKinds.includes(kind));
  const needed = connections.flatMap(({ flow }) => [requirements(flow, 'ingress'), requirements(flow, 'egress')]);
  const isAll = needed.some(({ networkSets }) => networkSets === 'all');
  const places = isAll ? [undefined] : [...new Set(needed.flatMap(({ networkSets }) => networkSets as string[]))];
  const services = new Set(needed.flatMap((each) => each.services));
  await Promise.all([
    ...sets.flatMap((kind) => places.map((namespace) => readObjects(reader, kind, namespace))),
    ...[...services].map((service) => readEndpoints(reader, service)),
  ]);
}

export async function readEndpoints(
  { connection, collector: { add, endpoints } }: ClusterReader,
  service: string,
): Promise<void> {
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
