/** Options by which kubectl and its plugins find a cluster, and say who asks. */
import type { Command, Option } from 'commander';
import type { UserFlags } from '../../kubernetes/kubeconfig.ts';
import { isLabel } from '../../platform/api-names.ts';
import { option } from './command.ts';

export const namespaceOptions: readonly Option[] = [
  option('-n, --namespace <NAMESPACE>', 'default: that of the current context'),
  option('-A, --all-namespaces', 'of all namespaces'),
];

export const kubectlOptions: readonly Option[] = [
  ...['kubeconfig <FILE>', 'context <NAME>', 'cluster <NAME>', 'user <NAME>'].map((flag) => option(`--${flag}`, '')),
  option('-s, --server <URL>', ''),
  ...['token <TOKEN>', 'as <USER>'].map((flag) => option(`--${flag}`, '')),
  option('--as-group <GROUP>', 'may be repeated', { many: true }),
  option('--as-uid <UID>', ''),
].map((each) => each.helpGroup('As for kubectl:'));

export interface ClusterOptions {
  readonly flags: UserFlags;
  /** Undefined: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

export function readClusterOptions(command: Command, problems: string[]): ClusterOptions {
  const {
    namespace,
    allNamespaces = false,
    asGroup,
    ...flags
  } = command.optsWithGlobals<{
    namespace?: string;
    allNamespaces?: boolean;
    asGroup?: readonly string[];
    [flag: string]: unknown;
  }>();
  if (namespace !== undefined && !isLabel(namespace))
    problems.push(`--namespace ${namespace}: is no name of a Namespace`);
  const of = (name: string): string | undefined => flags[name] as string | undefined;
  return {
    namespace,
    allNamespaces,
    flags: {
      kubeconfig: of('kubeconfig'),
      context: of('context'),
      cluster: of('cluster'),
      user: of('user'),
      server: of('server'),
      token: of('token'),
      as: of('as'),
      asGroups: asGroup,
      asUid: of('asUid'),
    },
  };
}
