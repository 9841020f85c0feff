/** Options of `drops top`. */
import type { Command } from 'commander';
import type { Millis } from '../../model/log-line.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { type ClusterOptions, kubectlOptions, readClusterOptions } from './drops-options.ts';
import { createCommand, option, pathOf, problemsOf, UsageError } from './command.ts';

const sortKeys = ['rate', 'packets', 'last', 'from', 'to'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface TopOptions extends ClusterOptions {
  readonly agents: { readonly namespace: string; readonly port: number | undefined };
  readonly node: string | undefined;
  readonly interval: Millis;
  readonly sort: SortKey;
  readonly filter: string;
  /** Whether tables are printed one after another, without control of the terminal. */
  readonly plain: boolean;
  /** The number of tables after which the command ends; undefined if it never ends. */
  readonly count: number | undefined;
}

export function topCommand(): Command {
  return createCommand('top', {
    summary: 'a live table of what is dropped now',
    usage: '[-n NAMESPACE] [OPTION...]',
    about: `A live table of what is dropped now: FROM, TO, port, packets a second, and the policy where the log names it. Read from the agents, through the API server's proxy, with your rights; the agents have to serve it (docs/kubectl-plugin.md).`,
    more: `Keys:
  q, Ctrl-C       end                      Shift-R  by rate
  ↑ ↓ j k         one row up, down         Shift-P  by packets
  PgUp PgDn g G   a page, first, last      Shift-L  by last
  /               filter: type, Enter;     Shift-F  by FROM
                  Esc clears it            Shift-T  by TO
  The same key again sorts the other way round.`,
    exits: [
      'ended by q, or after --count tables',
      'the API server refused, or no agent answers',
      'the command line or the kubeconfig is wrong',
    ],
    options: [
      option('-n, --namespace <NAMESPACE>', 'flows from or to this namespace only. Default: all'),
      option('--node <NAME>', 'of this Node only'),
      option('--interval <SECONDS>', 'between two looks. Default: 2'),
      option('--sort <KEY>', `${sortKeys.join(', ')}. Default: rate`, { choices: sortKeys }),
      option('--filter <TEXT>', 'rows with this text only'),
      option(
        '--plain',
        'one table after another, without colours and control of the terminal: for screen readers and files. Without a terminal it is always so',
      ),
      option('--count <N>', 'ends after N tables of --plain. Default: without a terminal 1'),
      option('--agents-namespace <NAME>', 'where the agents are. Default: kube-netfilter-tailer'),
      option('--agents-port <PORT>', 'default: that of their port "drops", else 9092'),
      ...kubectlOptions,
    ],
  });
}

/** `hasTerminal`: whether standard input and output are a terminal. Throws a `UsageError` that lists all that is wrong. */
export function readTopOptions(command: Command, hasTerminal: boolean): TopOptions {
  const problems = problemsOf(command);
  const given = command.optsWithGlobals<{
    node?: string;
    interval?: string;
    sort?: SortKey;
    filter?: string;
    plain?: boolean;
    count?: string;
    agentsNamespace?: string;
    agentsPort?: string;
  }>();
  const number = (flag: string, text: string | undefined, most: number): number | undefined => {
    if (text === undefined) return undefined;
    const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > most) problems.push(`--${flag} ${text}: must be a whole number from 1 to ${most}`);
    return value;
  };
  const { node, agentsNamespace: namespace = 'kube-netfilter-tailer', sort = 'rate', filter = '' } = given;
  if (!isLabel(namespace)) problems.push(`--agents-namespace ${namespace}: is no name of a Namespace`);
  if (node !== undefined && !isSubdomain(node)) problems.push(`--node ${node}: is not the name of a Node`);
  const plain = given.plain === true || !hasTerminal;
  const count = number('count', given.count, 999_999);
  if (count !== undefined && !plain) problems.push('--count: is for --plain');
  const options: TopOptions = {
    ...readClusterOptions(command, problems),
    agents: { namespace, port: number('agents-port', given.agentsPort, 65_535) },
    node,
    interval: (number('interval', given.interval, 3600) ?? 2) * 1000,
    sort,
    filter,
    plain,
    count: count ?? (hasTerminal ? undefined : 1),
  };
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return options;
}
