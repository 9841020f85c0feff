import { LRUCache } from 'lru-cache';
import { listAll, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, strings, text } from '../../base/platform/json.ts';
import type { DropsOptions } from '../options/drops-options.ts';
import { nameText, type PodKind, podTypes, type TargetName } from '../options/target-name.ts';
import { apiPath, type Cluster, refused } from './user-cluster.ts';

/** Pods that labels select. */
export interface PodSet {
  has: (namespace: string, pod: string) => boolean;
  /** Asks the API server once about a Pod that is not known, which may be new. */
  learn: (namespace: string, pod: string) => Promise<void>;
}

/** Undefined if all Pods are asked for, or one by its name. Rejects with a `RefusedError`. */
export async function selectedPods(
  cluster: Cluster,
  { target, selector }: Pick<DropsOptions, 'target'> & Partial<Pick<DropsOptions, 'selector'>>,
): Promise<PodSet | undefined> {
  if (target !== undefined && target.kind !== 'Pod') return await podsOf(cluster, target);
  return selector === undefined ? undefined : await podsWith(cluster, selector);
}

/** The Pods that a workload or a Service has now. Rejects with a `RefusedError`. */
export async function podsOf(cluster: Cluster, name: Omit<TargetName, 'namespace'>): Promise<PodSet> {
  return await podsWith(cluster, await selectorOf(cluster, name));
}

/** A Pod that may not be read counts as existing. */
export async function hasPod(
  { connection, namespace }: Pick<Cluster, 'connection' | 'namespace'>,
  name: string,
): Promise<boolean> {
  const answer =
    namespace === undefined
      ? await connection.request('GET', '/api/v1/pods', { query: { fieldSelector: `metadata.name=${name}` } })
      : await connection.request('GET', `${apiPath('/api/v1', namespace, 'pods')}/${name}`);
  if (answer.kind === 'refused') return answer.status !== 404;
  return namespace !== undefined || list(at(answer.body, 'items')).length > 0;
}

const otherKinds = (Object.keys(podTypes) as PodKind[]).filter((kind) => kind !== 'Pod');

/** Returns `; for the Pods of the deployment of this name, use deployment/web`, or '' if nothing of this name has Pods in the namespace. */
export async function sameNameHint(
  { connection, namespace }: Pick<Cluster, 'connection' | 'namespace'>,
  name: string,
): Promise<string> {
  if (namespace === undefined) return '';
  const answers = await Promise.all(
    otherKinds.map(async (kind) => {
      const { api, plural } = podTypes[kind];
      const { kind: answer } = await connection.request('GET', `${apiPath(api, namespace, plural)}/${name}`);
      return answer === 'refused' ? [] : [kind];
    }),
  );
  const [kind] = answers.flat();
  if (kind === undefined) return '';
  return `; for the Pods of the ${kind.toLowerCase()} of this name, use ${nameText({ kind, namespace: undefined, name })}`;
}

async function podsWith(cluster: Cluster, labelSelector: string): Promise<PodSet> {
  // The cache is limited, because Events may name any number of Pods during a watch.
  const found = new LRUCache<string, boolean>({ max: 100_000 });
  const look = async (namespace: string | undefined, fieldSelector?: string): Promise<string[]> => {
    const { items } = await listAll(
      cluster.connection,
      apiPath('/api/v1', namespace, 'pods'),
      { labelSelector, fieldSelector, pageSize: 500 },
      (pod) => `${text(at(pod, 'metadata', 'namespace')) ?? ''}/${text(at(pod, 'metadata', 'name')) ?? ''}`,
    );
    return items;
  };
  for (const pod of await look(cluster.namespace)) found.set(pod, true);
  return {
    has: (namespace, pod) => found.get(`${namespace}/${pod}`) === true,
    async learn(namespace, pod) {
      const key = `${namespace}/${pod}`;
      // An Event may contain any text in place of a name.
      if (found.has(key) || !isSubdomain(namespace) || !isSubdomain(pod)) return;
      found.set(key, (await look(namespace, `metadata.name=${pod}`)).length > 0);
    },
  };
}

async function selectorOf(
  { connection, namespace }: Cluster,
  { kind, name }: Omit<TargetName, 'namespace'>,
): Promise<string> {
  const { api, plural } = podTypes[kind];
  const answer = await connection.request('GET', `${apiPath(api, namespace, plural)}/${name}`);
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const selector = at(answer.body, 'spec', 'selector');
  const labels = kind === 'Service' ? selector : at(selector, 'matchLabels');
  const parts = [
    ...Object.entries(strings(labels)).map(([key, value]) => `${key}=${value}`),
    ...list(at(selector, 'matchExpressions')).map(expressionText),
  ];
  if (parts.length === 0) throw refused(`${plural} "${name}" selects no Pods by labels`, 404, 'NotFound');
  return parts.join(',');
}

function expressionText(expression: Json): string {
  const key = text(at(expression, 'key')) ?? '';
  const values = list(at(expression, 'values')).join(',');
  switch (text(at(expression, 'operator'))) {
    case 'In':
      return `${key} in (${values})`;
    case 'NotIn':
      return `${key} notin (${values})`;
    case 'Exists':
      return key;
    default:
      return `!${key}`;
  }
}
