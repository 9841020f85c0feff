/** Options of commands that ask a cluster, as kubectl has them. */
import type { UserFlags } from '../../agent/kubernetes/kubeconfig.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { checked, type OptionTable, type OptionValues } from './option-table.ts';

export const namespaceName = checked(isLabel, 'is no name of a Namespace');
export const nodeName = checked(isSubdomain, 'is not the name of a Node');

export const namespaceOptions = {
  namespace: {
    short: 'n',
    value: 'NAMESPACE',
    help: 'default: that of the current context',
    schema: namespaceName,
  },
  allNamespaces: { short: 'A', help: 'of all namespaces' },
} as const satisfies OptionTable;

export const kubectlOptions = {
  kubeconfig: { value: 'FILE', help: '' },
  context: { value: 'NAME', help: '' },
  cluster: { value: 'NAME', help: '' },
  user: { value: 'NAME', help: '' },
  server: { short: 's', value: 'URL', help: '' },
  token: { value: 'TOKEN', help: '' },
  as: { value: 'USER', help: '' },
  asGroups: { flag: 'as-group', value: 'GROUP', help: '', list: true },
  asUid: { value: 'UID', help: '' },
} as const satisfies OptionTable;

export const kubectlGroup = 'As for kubectl';

export interface ClusterOptions {
  readonly flags: UserFlags;
  /** Undefined for the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

export function clusterOf(given: OptionValues<typeof kubectlOptions> & Omit<ClusterOptions, 'flags'>): ClusterOptions {
  const flags = Object.fromEntries(Object.keys(kubectlOptions).map((key) => [key, given[key as keyof UserFlags]]));
  return { namespace: given.namespace, allNamespaces: given.allNamespaces, flags };
}
