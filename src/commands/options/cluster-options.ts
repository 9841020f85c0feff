/** Options by which kubectl and its plugins find a cluster, and say who asks. */
import type { UserFlags } from '../../kubernetes/kubeconfig.ts';
import { isLabel } from '../../platform/api-names.ts';
import type { ParsedOptions } from './parse-options.ts';

export const clusterForms = {
  namespace: { type: 'string', short: 'n' },
  'all-namespaces': { type: 'boolean', short: 'A' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  cluster: { type: 'string' },
  user: { type: 'string' },
  server: { type: 'string', short: 's' },
  token: { type: 'string' },
  as: { type: 'string' },
  'as-group': { type: 'string' },
  'as-uid': { type: 'string' },
} as const;

export const clusterHelp = `  -n, --namespace NAMESPACE  default: that of the current context
  -A, --all-namespaces       of all namespaces
      --context, --kubeconfig, --cluster, --user, --server, --token, --as, --as-group, --as-uid
                             as for kubectl`;

export interface ClusterOptions {
  readonly flags: UserFlags;
  /** Undefined: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

export function readClusterOptions({ last, values, switches, problems }: ParsedOptions): ClusterOptions {
  const namespace = last('namespace');
  if (namespace !== undefined && !isLabel(namespace))
    problems.push(`--namespace ${namespace}: is no name of a Namespace`);
  return {
    namespace,
    allNamespaces: switches.has('all-namespaces'),
    flags: {
      kubeconfig: last('kubeconfig'),
      context: last('context'),
      cluster: last('cluster'),
      user: last('user'),
      server: last('server'),
      token: last('token'),
      as: last('as'),
      asGroups: values['as-group'],
      asUid: last('as-uid'),
    },
  };
}
