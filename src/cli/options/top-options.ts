import type { Command } from 'commander';
import type { Millis } from '../../base/model/log-line.ts';
import {
  clusterOf,
  type ClusterOptions,
  kubectlGroup,
  kubectlOptions,
  namespaceName,
  nodeName,
} from './cluster-options.ts';
import { createCommand } from './command.ts';
import { filterGroup, filterOptions, filterProblems, type FilterValues, readTarget } from './filter-options.ts';
import { type TargetName, workloadWords } from './target-name.ts';
import { optionsOf, type OptionTable, readOptions, wholeNumber } from './option-table.ts';

const sortKeys = ['rate', 'packets', 'last', 'from', 'to'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface TopOptions extends ClusterOptions {
  readonly agents: { readonly namespace: string; readonly port: number | undefined };
  readonly node: string | undefined;
  readonly interval: Millis;
  readonly sort: SortKey;
  readonly filter: string;
  readonly filters: FilterValues;
  /** Flows from or to these Pods alone. */
  readonly target: TargetName | undefined;
  readonly plain: boolean;
  /** The number of tables; undefined if the command does not end by itself. */
  readonly count: number | undefined;
}

const topTable = {
  namespace: {
    short: 'n',
    value: 'NAMESPACE',
    help: 'only flows from or to this namespace. Default: all namespaces',
    schema: namespaceName,
  },
  allNamespaces: { short: 'A', help: 'flows of all namespaces (default)' },
  node: { value: 'NODE', help: 'only flows of this Node', schema: nodeName },
  interval: { value: 'SECONDS', help: 'time between two updates', default: '2', schema: wholeNumber(1, 3600) },
  sort: { value: 'KEY', help: `sort by ${sortKeys.join(', ')}. Default: rate`, choices: sortKeys },
  filter: { value: 'TEXT', help: 'only rows that contain this text' },
  plain: {
    help: 'print tables one after another, without colours and cursor control, for screen readers and files. Default without a terminal',
  },
  count: {
    value: 'N',
    help: 'end after N tables of --plain. Default without a terminal: 1',
    schema: wholeNumber(1, 999_999),
  },
  agentsNamespace: {
    value: 'NAME',
    help: 'namespace of the agents',
    default: 'kube-netfilter-tailer',
    schema: namespaceName,
  },
  agentsPort: {
    value: 'PORT',
    help: 'port of the agents. Default: the one named "drops" or, without it, 9092',
    schema: wholeNumber(1, 65_535),
  },
} as const satisfies OptionTable;

export function topCommand(): Command {
  return createCommand('top', {
    summary: 'a live table of the flows that are dropped now',
    usage: '[POD | TYPE/NAME] [-n NAMESPACE] [OPTION...]',
    argument: [
      '[POD]',
      `POD, NAMESPACE/POD: only flows from or to this Pod. TYPE/NAME: from or to the present Pods of a ${workloadWords}`,
    ],
    about: `Shows a live table of the flows that are dropped now: FROM, TO, port, packets a second, and the policy if it is known. Reads from the agents through the API server's proxy, with your rights; the agents must serve it (docs/live-drops.md).`,
    more: `Keys:
  q, Ctrl-C       end                      Shift-R  by rate
  ↑ ↓ j k         one row up, down         Shift-P  by packets
  PgUp PgDn g G   a page, first, last      Shift-L  by last
  /               filter: type, Enter;     Shift-F  by FROM
                  Esc clears it            Shift-T  by TO
  The same key again reverses the order.`,
    exits: [
      'ended by q, or after --count tables',
      'the API server refused, or no agent answers',
      'the command line or the kubeconfig is wrong',
    ],
    options: [
      ...optionsOf(topTable),
      ...optionsOf(filterOptions, filterGroup),
      ...optionsOf(kubectlOptions, kubectlGroup),
    ],
  }).allowExcessArguments();
}

/** `hasTerminal`: whether standard input and output are a terminal. Throws a `UsageError` that lists all that is wrong. */
export function readTopOptions(command: Command, hasTerminal: boolean): TopOptions {
  return readOptions(command, { ...topTable, ...filterOptions, ...kubectlOptions }, (values, problems) => {
    const { agentsNamespace, agentsPort: port, node, interval, sort = 'rate', filter = '', count, ...given } = values;
    const plain = given.plain || !hasTerminal;
    if (count !== undefined && !plain) problems.push('--count: is for --plain');
    // Here --namespace does not say where the target is.
    const { target } = readTarget(command.args, { ...given, namespace: undefined }, problems);
    problems.push(...filterProblems(given));
    return {
      ...clusterOf(given),
      target,
      filters: given,
      agents: { namespace: agentsNamespace, port },
      node,
      interval: interval * 1000,
      sort,
      filter,
      plain,
      count: count ?? (hasTerminal ? undefined : 1),
    };
  });
}
