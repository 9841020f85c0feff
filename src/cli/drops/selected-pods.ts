import { LRUCache } from 'lru-cache';
import { listAll, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, list, strings, text } from '../../base/platform/json.ts';
import { type DropsOptions, podOwners } from '../options/drops-options.ts';
import { type Cluster, type PodSelection, apiPath, refused } from './events.ts';

export async function selectedPods(
  cluster: Cluster,
  { target, selector }: DropsOptions,
): Promise<PodSelection | undefined> {
  if (target.kind === 'pod' || (target.kind === 'all' && selector === undefined)) return undefined;
  const labelSelector =
    target.kind === 'all' ? selector : await selectorOf(cluster, podOwners[target.kind], target.name);
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
  return watchedPods(look, found);
}

/** Asks the API server once about an unknown Pod, which may be new, but not about an invalid name: an Event may contain any text. */
function watchedPods(
  look: (namespace: string, fieldSelector: string) => Promise<string[]>,
  found: LRUCache<string, boolean>,
): PodSelection {
  return async (namespace, pod) => {
    const key = `${namespace}/${pod}`;
    const known = found.get(key);
    if (known !== undefined || !isSubdomain(namespace) || !isSubdomain(pod)) return known ?? false;
    const isOne = (await look(namespace, `metadata.name=${pod}`)).length > 0;
    found.set(key, isOne);
    return isOne;
  };
}

async function selectorOf({ connection, namespace }: Cluster, apiAndPlural: string, name: string): Promise<string> {
  const [api = '', plural = ''] = apiAndPlural.split('|');
  const answer = await connection.request('GET', `${apiPath(api, namespace, plural)}/${name}`);
  if (answer.kind === 'refused') throw new RefusedError(answer);
  const selector = at(answer.body, 'spec', 'selector');
  const labels = plural === 'services' ? selector : at(selector, 'matchLabels');
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
