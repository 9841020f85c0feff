/** What a verdict needs of a cluster, read with the rights of who asks. What may not be read is unknown. */
import { version } from '../../config/config.ts';
import { findAccess } from '../../kubernetes/config.ts';
import { type Connection, createConnection } from '../../kubernetes/connection.ts';
import { listAll } from '../../kubernetes/paged-list.ts';
import {
  clusterPolicyKinds,
  isServed,
  listPolicies,
  namespacedPolicyKinds,
  type PolicyKind,
} from '../../kubernetes/policy-kinds.ts';
import { RefusedError } from '../../kubernetes/refusal.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import { unknownPolicy } from '../../policies/policies.ts';
import type { NamedEnd, WhyOptions } from '../options/why-options.ts';
import { type Collector, collectObjects, type KnownObjects } from './known-objects.ts';

/** The API server cannot be asked at all. */
export class ClusterError extends Error {
  override name = 'ClusterError';
}

/** `wholeNamespaces`: all Pods of the Namespaces of the two. Throws a `ClusterError`. */
export async function readCluster(
  { from, to, kubeconfig, load }: WhyOptions,
  wholeNamespaces: boolean,
): Promise<KnownObjects> {
  const connection = await connect(kubeconfig, load);
  const collector = collectObjects();
  const ends = [from, to];
  await Promise.all(ends.map((end) => readEnd(connection, end, collector)));
  if (ends.some(({ kind }) => kind === 'address')) await readNodes(connection, collector);
  const { objects } = collector;
  const namespaces = new Set([...objects.pods.values()].map(({ namespace }) => namespace));
  await Promise.all([
    ...(wholeNamespaces ? [...namespaces].map((name) => readPods(connection, name, collector)) : []),
    ...[...namespaces].map((name) =>
      get(connection, `/api/v1/namespaces/${name}`, { apiVersion: 'v1', kind: 'Namespace' }, collector),
    ),
    ...[...namespaces].flatMap((name) =>
      namespacedPolicyKinds.map((kind) => readKind(connection, kind, name, collector)),
    ),
    ...clusterPolicyKinds.map((kind) => readKind(connection, kind, undefined, collector)),
  ]);
  return objects;
}

async function connect(kubeconfig: string | undefined, load: WhyOptions['load']): Promise<Connection> {
  try {
    return createConnection({
      load: load ?? (await findAccess(kubeconfig)),
      userAgent: `kube-netfilter-tailer/${version} why`,
      onRequest: () => {},
      clock: createSteadyClock(),
    });
  } catch (error) {
    throw new ClusterError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function readEnd(connection: Connection, end: NamedEnd, collector: Collector): Promise<void> {
  const pod = { apiVersion: 'v1', kind: 'Pod' };
  if (end.kind === 'pod') {
    const answer = await connection.request('GET', `/api/v1/namespaces/${end.namespace}/pods/${end.name}`, {});
    // A Pod that is not there is reported as in a file.
    if (answer.kind === 'refused' && answer.status !== 404) throw new ClusterError(answer.message);
    if (answer.kind === 'answered') collector.add(answer.body, pod);
    return;
  }
  const answer = await connection.request('GET', '/api/v1/pods', {
    query: { fieldSelector: `status.podIP=${end.address}` },
  });
  if (answer.kind === 'refused') return refused(answer);
  collector.add(answer.body, pod);
  collector.objects.complete.pods = true;
  const services = await connection.request('GET', '/api/v1/services', {});
  if (services.kind === 'answered') collector.add(services.body, { apiVersion: 'v1', kind: 'Service' });
}

async function readNodes(connection: Connection, { add, objects }: Collector): Promise<void> {
  const answer = await connection.request('GET', '/api/v1/nodes', { query: { resourceVersion: '0' } });
  if (answer.kind === 'refused') return refused(answer);
  add(answer.body, { apiVersion: 'v1', kind: 'Node' });
  objects.complete.nodes = true;
}

async function get(
  connection: Connection,
  path: string,
  kind: { apiVersion: string; kind: string },
  { add }: Collector,
): Promise<void> {
  const answer = await connection.request('GET', path, {});
  if (answer.kind === 'refused') return refused(answer);
  add(answer.body, kind);
}

/** Those that may not be listed are not counted. */
async function readPods(connection: Connection, namespace: string, { add }: Collector): Promise<void> {
  try {
    await listAll(connection, `/api/v1/namespaces/${namespace}/pods`, { pageSize: 500 }, (pod) =>
      add(pod, { apiVersion: 'v1', kind: 'Pod' }),
    );
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    refused(error.refusal);
  }
}

/** Of a kind that may not be listed, one policy stands for all that there may be. */
async function readKind(
  connection: Connection,
  policyKind: PolicyKind,
  namespace: string | undefined,
  { add, objects }: Collector,
): Promise<void> {
  const { apiVersion, kind, plural } = policyKind;
  const answer = await listPolicies(connection, policyKind, namespace, { fromCache: false });
  if (answer.kind === 'listed') {
    add({ items: answer.items }, { apiVersion, kind });
    return;
  }
  if (answer.status === 404 || (await isServed(connection, policyKind)) === false) return;
  refused(answer);
  const object = { apiVersion, kind, metadata: { name: '(any)', namespace } };
  const policies = objects.policies as Map<string, ReturnType<typeof unknownPolicy>>;
  policies.set(
    `${apiVersion}/${kind}/${namespace ?? ''}`,
    unknownPolicy(object, 'Admin', `${plural} may not be listed`),
  );
}

/** A missing right or object is a missing fact; no answer at all is not. */
function refused({ status, message }: { status: number; message: string }): void {
  if (status === 0 || status === 401) throw new ClusterError(`the API server cannot be asked: ${message}`);
}
