/** Reads the objects that a verdict needs from a cluster, with the user's rights. Unreadable objects count as unknown. */
import { version } from '../../config/config.ts';
import { type Connection, createConnection, findAccess, listAll, RefusedError } from '../../kubernetes/kubernetes.ts';
import { readUserAccess } from '../../kubernetes/kubeconfig.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import type { Json } from '../../platform/json.ts';
import { isCalico, type Pod, readPod } from '../../policies/policies.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import { findKinds, readPolicies, type Reader, readRequired, requireAnswer } from './cluster-policies.ts';
import { collectObjects, type ItemKind, type KnownObjects, WhyError, workloadKinds } from './known-objects.ts';

const podKind = { apiVersion: 'v1', kind: 'Pod' };
const nodeKind = { apiVersion: 'v1', kind: 'Node' };

/** `wholeNamespaces`: also reads all Pods of the two Namespaces, and the owners of the two Pods. Rejects with a `WhyError`. */
export async function readCluster(options: WhyOptions, wholeNamespaces: boolean): Promise<KnownObjects> {
  const collector = collectObjects();
  const reader: Reader = { connection: await connect(options), collector };
  const ends = [options.from, options.to];
  await Promise.all(ends.map((end) => readEnd(reader, end)));
  if (ends.some(({ kind }) => kind === 'address')) {
    const isComplete = await readAll(reader, '/api/v1/nodes', nodeKind);
    if (isComplete) collector.complete('nodes');
  }
  const pods = [...collector.objects().pods.values()];
  const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
  const kinds = await findKinds(reader);
  const hasCalico = kinds.some(isCalico);
  await Promise.all([
    readPolicies(reader, kinds, namespaces),
    ...(wholeNamespaces ? namespaces.map((name) => readAll(reader, `/api/v1/namespaces/${name}/pods`, podKind)) : []),
    ...(wholeNamespaces ? pods.map((pod) => readOwner(reader, pod)) : []),
    ...namespaces.map((name) => readOne(reader, `/api/v1/namespaces/${name}`, { apiVersion: 'v1', kind: 'Namespace' })),
    ...pods.flatMap(({ hostNetwork, node }) =>
      hostNetwork && node !== undefined ? [readOne(reader, `/api/v1/nodes/${node}`, nodeKind)] : [],
    ),
    ...(hasCalico ? pods.map((pod) => readAccount(reader, pod)) : []),
  ]);
  if (hasCalico) await readRequired(reader, kinds, options);
  return collector.objects();
}

async function connect({ kubeconfig, context, access }: WhyOptions): Promise<Connection> {
  try {
    return createConnection({
      access:
        access ?? (context === undefined ? await findAccess(kubeconfig) : readUserAccess({ kubeconfig, context })),
      userAgent: `kube-netfilter-tailer/${version} why`,
      clock: createSteadyClock(),
    });
  } catch (error) {
    throw new WhyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function readEnd(reader: Reader, end: NamedEnd): Promise<void> {
  const { connection, collector } = reader;
  if (end.kind === 'pod') {
    const answer = await connection.request('GET', `/api/v1/namespaces/${end.namespace}/pods/${end.name}`, {});
    // findFlow reports a Pod that does not exist.
    if (answer.kind === 'refused' && answer.status !== 404) throw new WhyError(answer.message);
    if (answer.kind === 'answered') collector.add(answer.body, podKind);
    return;
  }
  const { address } = end;
  const answer = await connection.request('GET', '/api/v1/pods', {
    query: { fieldSelector: `status.podIP=${address}` },
  });
  if (answer.kind === 'refused') return requireAnswer(answer);
  collector.add(answer.body, podKind);
  const hasAddress = (pod: Pod | undefined): boolean => pod?.completed === false && pod.addresses.includes(address);
  // The selector compares only the first address of a Pod, so an address that it does not find is searched in all Pods.
  if (![...collector.objects().pods.values()].some(hasAddress)) {
    const isComplete = await readAll(reader, '/api/v1/pods', podKind, (object) => hasAddress(readPod(object)));
    if (!isComplete) return;
  }
  // An address that no Pod has may be a Service's, so it counts as external only after the Services have been read.
  if (await readAll(reader, '/api/v1/services', { apiVersion: 'v1', kind: 'Service' })) collector.complete('pods');
}

/** If the owner is unreadable or of another kind, the Pod's own labels are used instead. */
async function readOwner(reader: Reader, pod: Pod): Promise<void> {
  const owner = reader.collector.objects().ownerOf(pod);
  if (owner === undefined) return;
  const path = `/apis/apps/v1/namespaces/${pod.namespace}/${workloadKinds[owner.kind]}/${owner.name}`;
  await readOne(reader, path, { apiVersion: 'apps/v1', kind: owner.kind });
}

async function readAccount(reader: Reader, { namespace, serviceAccount = 'default' }: Pod): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}`;
  await readOne(reader, path, { apiVersion: 'v1', kind: 'ServiceAccount' });
}

async function readOne({ connection, collector }: Reader, path: string, kind: ItemKind): Promise<void> {
  const answer = await connection.request('GET', path);
  if (answer.kind === 'refused') return requireAnswer(answer);
  collector.add(answer.body, kind);
}

/** Resolves to false if a part could not be read. */
async function readAll(
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
