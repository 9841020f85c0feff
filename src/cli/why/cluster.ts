/** Reads the objects that a verdict needs from a cluster, with the user's rights. Unreadable objects count as unknown. */
import { version } from '../../agent/config/config.ts';
import { type Connection, createConnection, listAll, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { createSteadyClock } from '../../base/platform/clock.ts';
import { at, type Json, strings } from '../../base/platform/json.ts';
import { isCalico, type PolicyPod, readPod } from '../../explain/policies/policies.ts';
import { accessWith } from '../user-access.ts';
import { podTypes } from '../options/target-name.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import {
  findKinds,
  readEndpoints,
  readPolicies,
  type ClusterReader,
  readRequired,
  requireAnswer,
} from './cluster-policies.ts';
import { findEntry } from './connections.ts';
import { hasLabels, serviceSelects } from './services.ts';
import { collectObjects, type ItemKind, type KnownObjects, WhyError, workloadKinds } from './known-objects.ts';

const podKind = { apiVersion: 'v1', kind: 'Pod' };
const nodeKind = { apiVersion: 'v1', kind: 'Node' };
const serviceKind = { apiVersion: 'v1', kind: 'Service' };

/** `wholeNamespaces`: also reads all Pods of the two Namespaces, and the owners of the two Pods. Rejects with a `WhyError`. */
export async function readCluster(options: WhyOptions, wholeNamespaces: boolean): Promise<KnownObjects> {
  const collector = collectObjects();
  const reader: ClusterReader = { connection: await connect(options), collector };
  const ends = [options.from, options.to];
  await Promise.all(ends.map((end) => readEnd(reader, end)));
  if (ends.some(({ kind }) => kind === 'address' || kind === 'node')) {
    const isComplete = await readAll(reader, '/api/v1/nodes', nodeKind);
    if (isComplete) collector.complete('nodes');
  }
  if (options.exact !== true) await readBehind(reader, options);
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

async function connect({ cluster, access }: WhyOptions): Promise<Connection> {
  try {
    const { timeout } = cluster ?? {};
    return createConnection({
      access: access ?? (await accessWith(cluster ?? { flags: {}, timeout: undefined })),
      ...(timeout !== undefined && { timeout }),
      userAgent: `kube-netfilter-tailer/${version} why`,
      clock: createSteadyClock(),
    });
  } catch (error) {
    throw new WhyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function readEnd(reader: ClusterReader, end: NamedEnd): Promise<void> {
  const { connection, collector } = reader;
  if (end.kind === 'pod') {
    const answer = await connection.request('GET', `/api/v1/namespaces/${end.namespace}/pods/${end.name}`, {});
    // findConnections reports a Pod that does not exist.
    if (answer.kind === 'refused' && answer.status !== 404) throw new WhyError(answer.message);
    if (answer.kind === 'answered') collector.add(answer.body, podKind);
    return;
  }
  if (end.kind === 'workload') return readWorkload(reader, end);
  if (end.kind !== 'address') return;
  const { address } = end;
  const answer = await connection.request('GET', '/api/v1/pods', {
    query: { fieldSelector: `status.podIP=${address}` },
  });
  if (answer.kind === 'refused') return requireAnswer(answer);
  collector.add(answer.body, podKind);
  const hasAddress = (pod: PolicyPod | undefined): boolean =>
    pod?.completed === false && pod.addresses.includes(address);
  // The selector compares only the first address of a Pod, so an address that it does not find is searched in all Pods.
  if (![...collector.objects().pods.values()].some(hasAddress)) {
    const isComplete = await readAll(reader, '/api/v1/pods', podKind, (object) => hasAddress(readPod(object)));
    if (!isComplete) return;
  }
  // An address that no Pod has may be a Service's, so it counts as external only after the Services have been read.
  if (await readAll(reader, '/api/v1/services', serviceKind)) collector.complete('pods');
}

/** Reads a workload and the Pods that its selector matches. */
async function readWorkload(
  reader: ClusterReader,
  { workload, namespace, name }: NamedEnd & { kind: 'workload' },
): Promise<void> {
  const { api, plural } = podTypes[workload];
  const kind = { apiVersion: api.slice('/apis/'.length), kind: workload };
  const path = `${api}/namespaces/${namespace}/${plural}/${name}`;
  const answer = await reader.connection.request('GET', path);
  if (answer.kind === 'refused') throw new WhyError(answer.message);
  reader.collector.add(answer.body, kind);
  await readAll(reader, `/api/v1/namespaces/${namespace}/pods`, podKind, (pod) =>
    hasLabels(strings(at(pod, 'metadata', 'labels')), strings(at(answer.body, 'spec', 'selector', 'matchLabels'))),
  );
}

/**
 * Reads the Services that may translate the connection, and the endpoints of the one that takes it. Services that may not be read translate
 * nothing, so the question is answered literally.
 */
async function readBehind(reader: ClusterReader, options: WhyOptions): Promise<void> {
  const { to } = options;
  const { collector } = reader;
  if (to.kind === 'pod' || to.kind === 'service')
    await readAll(reader, `/api/v1/namespaces/${to.namespace}/services`, serviceKind);
  else if (to.kind === 'address' && collector.objects().services.size === 0)
    await readAll(reader, '/api/v1/services', serviceKind);
  const entry = findEntry(options, collector.objects());
  const { services, pods, complete } = collector.objects();
  const needsNodes =
    [...services.values()].some(({ replacesSource }) => replacesSource) ||
    (entry !== undefined && entry.service.selector === undefined);
  if (needsNodes && !complete.nodes) await readAll(reader, '/api/v1/nodes', nodeKind);
  if (entry === undefined) return;
  const { service } = entry;
  const [namespace = ''] = service.name.split('/');
  await readEndpoints(reader, service.name);
  const addresses = new Set([...collector.objects().slices.values()].flatMap((slice) => slice.addresses));
  const known = new Set(pods.keys());
  await readAll(reader, `/api/v1/namespaces/${namespace}/pods`, podKind, (object) => {
    const pod = readPod(object);
    return (
      pod !== undefined &&
      !known.has(`${pod.namespace}/${pod.name}`) &&
      (serviceSelects(service, pod) || pod.addresses.some((address) => addresses.has(address)))
    );
  });
}

/** If the owner is unreadable or of another kind, the Pod's own labels are used instead. */
async function readOwner(reader: ClusterReader, pod: PolicyPod): Promise<void> {
  const owner = reader.collector.objects().ownerOf(pod);
  if (owner === undefined) return;
  const path = `/apis/apps/v1/namespaces/${pod.namespace}/${workloadKinds[owner.kind]}/${owner.name}`;
  await readOne(reader, path, { apiVersion: 'apps/v1', kind: owner.kind });
}

async function readAccount(reader: ClusterReader, { namespace, serviceAccount = 'default' }: PolicyPod): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}`;
  await readOne(reader, path, { apiVersion: 'v1', kind: 'ServiceAccount' });
}

async function readOne({ connection, collector }: ClusterReader, path: string, kind: ItemKind): Promise<void> {
  const answer = await connection.request('GET', path);
  if (answer.kind === 'refused') return requireAnswer(answer);
  collector.add(answer.body, kind);
}

/** Resolves to false if a part could not be read. */
async function readAll(
  { connection, collector }: ClusterReader,
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
