/** Names of a cluster and of a kubeconfig, for completing a command line. */
import { listAll } from '../agent/kubernetes/kubernetes.ts';
import { kubeconfigNames, type UserFlags } from '../agent/kubernetes/kubeconfig.ts';
import { optionName } from '../agent/config/settings.ts';
import type { Millis } from '../base/model/log-line.ts';
import { isSubdomain } from '../base/platform/api-names.ts';
import { at, text } from '../base/platform/json.ts';
import { apiPath, type Cluster, connectAsUser } from './drops/user-cluster.ts';
import { kubectlOptions } from './options/cluster-options.ts';
import type { CompletedLine, NameKind } from './options/completion.ts';
import type { OptionRow } from './options/option-table.ts';
import { podKindOf, podTypes } from './options/target-name.ts';

/** A user waits for the answer. */
const longestWait: Millis = 3000;

/** Rejects if the kubeconfig or the cluster cannot be asked. */
export async function clusterNames(kind: NameKind, typed: string, { given }: CompletedLine): Promise<string[]> {
  if (kind === 'CONTEXT' || kind === 'CLUSTER' || kind === 'USER') {
    return kubeconfigNames(given.get('kubeconfig'))[kind].filter((name) => /^[\w.@:/-]+$/.test(name));
  }
  const namespace = given.get('namespace');
  const options = { flags: flagsIn(given), namespace, allNamespaces: given.has('all-namespaces'), timeout: undefined };
  const cluster = connectAsUser(options, longestWait);
  if (kind === 'NAMESPACE') return await listNames(cluster, '/api/v1/namespaces');
  if (kind === 'NODE') return await listNames(cluster, '/api/v1/nodes');
  return await endNames(cluster, kind, typed);
}

/** The options that choose the cluster and the user. */
function flagsIn(given: CompletedLine['given']): UserFlags {
  const flags = Object.entries(kubectlOptions).map(([key, row]: [string, OptionRow]) => {
    const value = given.get(row.flag ?? optionName(key));
    return [
      key,
      row.list !== undefined && value !== undefined ? [value] : row.value === undefined ? value !== undefined : value,
    ];
  });
  return Object.fromEntries(flags) as UserFlags;
}

/** Names of Pods, TYPE/NAME, NAMESPACE/POD and TYPE/NAMESPACE/NAME. */
async function endNames(cluster: Cluster, kind: 'POD' | 'END', typed: string): Promise<string[]> {
  const parts = typed.split('/').slice(0, -1);
  const type = podKindOf(parts[0] ?? '');
  const [namespace] = type === undefined ? parts : parts.slice(1);
  const prefix = parts.map((part) => `${part}/`).join('');
  const { api, plural } = podTypes[type ?? 'Pod'];
  // Before the first "/" there may be a type, or a Namespace, which `why` wants with a Pod.
  if (parts.length === 0) {
    const types = Object.keys(podTypes).map((each) => `${each.toLowerCase()}/`);
    const others = kind === 'END' ? (await listNames(cluster, '/api/v1/namespaces')).map((name) => `${name}/`) : [];
    const pods = kind === 'POD' ? await listNames(cluster, apiPath(api, cluster.namespace, plural)) : [];
    return [...pods, ...others, ...(typed === '' ? [] : types)];
  }
  const names = await listNames(cluster, apiPath(api, namespace ?? cluster.namespace, plural));
  return names.map((name) => prefix + name);
}

async function listNames({ connection }: Cluster, path: string): Promise<string[]> {
  const { items } = await listAll(connection, path, { pageSize: 500 }, (item) => text(at(item, 'metadata', 'name')));
  // A name becomes part of a command line.
  return items.filter(isSubdomain);
}
