/** What a verdict needs of a cluster, read with the rights of who asks. What may not be read is unknown. */
import { version } from '../../config/config.ts';
import { findAccess } from '../../kubernetes/config.ts';
import type { Access } from '../../kubernetes/http.ts';
import { readUserAccess } from '../../kubernetes/kubeconfig.ts';
import { type Connection, createConnection } from '../../kubernetes/connection.ts';
import { clusterPolicyKinds, namespacedPolicyKinds, type PolicyKind } from '../../kubernetes/policy-kinds.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import { isCalico, type Pod, type Requirements } from '../../policies/policies.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import { readCalico, readRequired } from './calico-cluster.ts';
import { findFlow } from './inputs.ts';
import { collectObjects, type Collector, evaluatorOf, type KnownObjects, workloadKinds } from './known-objects.ts';
import { ClusterError, get, readAll, readKind, refused } from './listing.ts';

/** Calico's policies are read by readCalico, with what they depend on. */
const isOther = (kind: PolicyKind): boolean => !isCalico(kind);

const podKind = { apiVersion: 'v1', kind: 'Pod' };
const nodeKind = { apiVersion: 'v1', kind: 'Node' };

/** `wholeNamespaces`: all Pods of the Namespaces of the two. Throws a `ClusterError`. */
export async function readCluster(options: WhyOptions, wholeNamespaces: boolean): Promise<KnownObjects> {
  const { from, to } = options;
  const connection = await connect(options);
  const collector = collectObjects();
  const ends = [from, to];
  await Promise.all(ends.map((end) => readEnd(connection, end, collector)));
  if (ends.some(({ kind }) => kind === 'address') && (await readAll(connection, '/api/v1/nodes', nodeKind, collector)))
    collector.complete('nodes');
  const pods = [...collector.objects().pods.values()];
  const namespaces = new Set(pods.map(({ namespace }) => namespace));
  const calico = readCalico(connection, pods, collector);
  await Promise.all([
    calico,
    // Those that may not be listed are not counted.
    ...(wholeNamespaces
      ? [...namespaces].map((name) => readAll(connection, `/api/v1/namespaces/${name}/pods`, podKind, collector))
      : []),
    ...(wholeNamespaces ? pods.map((pod) => readOwner(connection, pod, collector)) : []),
    ...[...namespaces].map((name) =>
      get(connection, `/api/v1/namespaces/${name}`, { apiVersion: 'v1', kind: 'Namespace' }, collector),
    ),
    ...[...namespaces].flatMap((name) =>
      namespacedPolicyKinds.filter(isOther).map((kind) => readKind(connection, kind, name, collector)),
    ),
    ...clusterPolicyKinds.filter(isOther).map((kind) => readKind(connection, kind, undefined, collector)),
  ]);
  const api = await calico;
  if (api !== undefined) for (const each of requirementsOf(options, collector.objects())) await readRequired(api, each);
  return collector.objects();
}

function requirementsOf(options: WhyOptions, objects: KnownObjects): Requirements[] {
  const flow = findFlow(options, objects);
  const { requirements } = evaluatorOf(objects);
  return (['ingress', 'egress'] as const).map((direction) => requirements(flow, direction));
}

async function connect({ kubeconfig, context, load }: WhyOptions): Promise<Connection> {
  try {
    const find = async (): Promise<() => Access> => {
      if (context === undefined) return await findAccess(kubeconfig);
      const access = readUserAccess({ kubeconfig, context });
      return () => access;
    };
    return createConnection({
      load: load ?? (await find()),
      userAgent: `kube-netfilter-tailer/${version} why`,
      onRequest: () => {},
      clock: createSteadyClock(),
    });
  } catch (error) {
    throw new ClusterError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function readEnd(connection: Connection, end: NamedEnd, collector: Collector): Promise<void> {
  if (end.kind === 'pod') {
    const answer = await connection.request('GET', `/api/v1/namespaces/${end.namespace}/pods/${end.name}`, {});
    // A Pod that is not there is reported as in a file.
    if (answer.kind === 'refused' && answer.status !== 404) throw new ClusterError(answer.message);
    if (answer.kind === 'answered') collector.add(answer.body, podKind);
    return;
  }
  const answer = await connection.request('GET', '/api/v1/pods', {
    query: { fieldSelector: `status.podIP=${end.address}` },
  });
  if (answer.kind === 'refused') return refused(answer);
  collector.add(answer.body, podKind);
  // The address may be that of a Service.
  if (await readAll(connection, '/api/v1/services', { apiVersion: 'v1', kind: 'Service' }, collector))
    collector.complete('pods');
}

/** An owner of another kind, or one that may not be read, is left out: the labels of the Pod stand for it. */
async function readOwner(connection: Connection, pod: Pod, collector: Collector): Promise<void> {
  const owner = collector.objects().ownerOf(pod);
  if (owner === undefined) return;
  const path = `/apis/apps/v1/namespaces/${pod.namespace}/${workloadKinds[owner.kind]}/${owner.name}`;
  await get(connection, path, { apiVersion: 'apps/v1', kind: owner.kind }, collector);
}
