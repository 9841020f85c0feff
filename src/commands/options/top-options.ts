/** Help and options of `drops top`. */
import type { Millis } from '../../model/log-line.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { clusterForms, type ClusterOptions, readClusterOptions } from './cluster-options.ts';
import { parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

export const sortKeys = ['rate', 'packets', 'last', 'from', 'to'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface TopOptions extends ClusterOptions {
  /** Where the agents are. */
  readonly agents: { readonly namespace: string; readonly port: number | undefined };
  readonly node: string | undefined;
  readonly interval: Millis;
  readonly sort: SortKey;
  readonly filter: string;
  /** One table after another, without control of the terminal. */
  readonly plain: boolean;
  /** Tables, then the end; undefined: without end. */
  readonly count: number | undefined;
}

export function topHelp(program: string): string {
  return `Usage: ${program} top [-n NAMESPACE] [OPTION...]

A live table of what is dropped now: FROM, TO, port, packets a second, and the policy where the log names it. Read from the agents, through the
API server's proxy, with your rights; the agents have to serve it (docs/kubectl-plugin.md).

  -n, --namespace NAMESPACE    flows from or to this namespace only. Default: all
      --node NAME              of this Node only
      --interval SECONDS       between two looks. Default: 2
      --sort KEY               ${sortKeys.join(', ')}. Default: rate
      --filter TEXT            rows with this text only
      --plain                  one table after another, without colours and control of the terminal: for screen readers and files.
                               Without a terminal it is always so
      --count N                ends after N tables of --plain. Default: without a terminal 1
      --agents-namespace NAME  where the agents are. Default: kube-netfilter-tailer
      --agents-port PORT       Default: that of their port "drops", else 9092
      --context, --kubeconfig, --cluster, --user, --server, --token, --as, --as-group, --as-uid
                               as for kubectl

Keys
  q, Ctrl-C           end                     Shift-R  by rate       Shift-F  by FROM
  ↑ ↓ j k             one row up, down        Shift-P  by packets    Shift-T  by TO
  PgUp PgDn g G       a page, first, last     Shift-L  by last       the same again: the other way round
  /                   filter: type, Enter; Esc clears it

Exit status
  0  ended by q, or after --count tables
  1  the API server refused, or no agent answers
  2  the command line or the kubeconfig is wrong
`;
}

const { 'all-namespaces': _, ...ofCluster } = clusterForms;
const forms = {
  ...ofCluster,
  node: { type: 'string' },
  interval: { type: 'string' },
  sort: { type: 'string' },
  filter: { type: 'string' },
  plain: { type: 'boolean' },
  count: { type: 'string' },
  'agents-namespace': { type: 'string' },
  'agents-port': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Reads the arguments after `top`. `hasTerminal`: standard input and output are one. Throws a `UsageError` that lists all that is wrong. */
export function readTopOptions(args: readonly string[], program: string, hasTerminal: boolean): TopOptions | 'help' {
  const parsed = parseOptions(args, forms, false);
  const { last, switches, problems } = parsed;
  if (switches.has('help')) return 'help';
  const number = (name: string, most: number): number | undefined => {
    const given = last(name);
    if (given === undefined) return undefined;
    const value = /^\d{1,6}$/.test(given) ? Number(given) : 0;
    if (value < 1 || value > most) problems.push(`--${name} ${given}: must be a whole number from 1 to ${most}`);
    return value;
  };
  const sort = last('sort') ?? 'rate';
  const found = sortKeys.find((key) => key === sort);
  if (found === undefined) problems.push(`--sort ${sort}: must be ${sortKeys.join(', ')}`);
  const namespace = last('agents-namespace') ?? 'kube-netfilter-tailer';
  if (!isLabel(namespace)) problems.push(`--agents-namespace ${namespace}: is no name of a Namespace`);
  const node = last('node');
  if (node !== undefined && !isSubdomain(node)) problems.push(`--node ${node}: is not the name of a Node`);
  const plain = switches.has('plain') || !hasTerminal;
  const count = number('count', 999_999);
  if (count !== undefined && !plain) problems.push('--count: is for --plain');
  const options: TopOptions = {
    ...readClusterOptions(parsed),
    agents: { namespace, port: number('agents-port', 65_535) },
    node,
    interval: (number('interval', 3600) ?? 2) * 1000,
    sort: found ?? 'rate',
    filter: last('filter') ?? '',
    plain,
    count: count ?? (hasTerminal ? undefined : 1),
  };
  if (problems.length > 0) throw new UsageError(problems, 'top', program);
  return options;
}
