import type { Command } from 'commander';
import type { UserFlags } from '../../agent/kubernetes/kubeconfig.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { createCommand, durationOf } from './command.ts';
import {
  checked,
  converted,
  optionsOf,
  type OptionTable,
  type OptionValues,
  readOptions,
  wholeNumber,
} from './option-table.ts';

const or = new Intl.ListFormat('en', { type: 'disjunction' });

const dropsFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type DropsFormat = (typeof dropsFormats)[number];

/** The path of each kind at the API server, as `API|PLURAL`. */
export const podOwners = {
  deployment: '/apis/apps/v1|deployments',
  statefulset: '/apis/apps/v1|statefulsets',
  daemonset: '/apis/apps/v1|daemonsets',
  replicaset: '/apis/apps/v1|replicasets',
  job: '/apis/batch/v1|jobs',
  service: '/api/v1|services',
} as const;
export type OwnerOption = keyof typeof podOwners;

const kinds = new Map<string, OwnerOption | 'pod'>([
  ...(['po', 'pod', 'pods'] as const).map((name) => [name, 'pod'] as const),
  ...(Object.keys(podOwners) as OwnerOption[]).flatMap((kind) => [[kind, kind] as const, [`${kind}s`, kind] as const]),
  ['deploy', 'deployment'],
  ['sts', 'statefulset'],
  ['ds', 'daemonset'],
  ['rs', 'replicaset'],
  ['svc', 'service'],
]);

export type Target = { kind: 'all' } | { kind: 'pod'; name: string } | { kind: OwnerOption; name: string };

export interface DropsOptions extends ClusterOptions {
  readonly target: Target;
  readonly selector: string | undefined;
  readonly node: string | undefined;
  readonly since: Millis | undefined;
  readonly output: DropsFormat;
  readonly watch: boolean;
  readonly all: boolean;
}

const namespaceName = checked(isLabel, 'is no name of a Namespace');
const nodeName = checked(isSubdomain, 'is not the name of a Node');

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

const listOptions = {
  selector: {
    short: 'l',
    value: 'SELECTOR',
    help: 'of the Pods with these labels',
    schema: checked((text) => text !== '' && text.length <= 1000, 'must have 1 to 1000 characters'),
  },
  ...namespaceOptions,
  node: { value: 'NAME', help: 'dropped on this Node', schema: nodeName },
  since: {
    value: 'DURATION',
    help: 'last packet at most this long ago, for example 10m or 2h',
    schema: converted(durationOf, 'must be a duration such as 90s, 10m or 2h'),
  },
  all: { help: "also incidents of the node's network" },
  watch: { short: 'w', help: 'keep listing new drops' },
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'wide, with node, policy and message; json, yaml: the Events; name: their names',
    choices: dropsFormats.slice(1),
    schema: converted(
      // As in kubectl, -o=json is allowed, too.
      (text) => dropsFormats.find((each) => each === text.replace(/^=/, '')),
      `must be ${dropsFormats.slice(1).join(', ')}; for others: kubectl get events`,
    ),
  },
} as const satisfies OptionTable;

export function dropsCommand(name: string, commands: readonly Command[]): Command {
  return createCommand(name, {
    summary: 'list the packets that Pods lost, from the Events; kubectl starts it as: kubectl drops',
    usage: '[POD | TYPE/NAME] [-n NAMESPACE | -A] [OPTION...]',
    about: `Lists the packets that Pods lost, from the Events that the agents wrote, the newest last. Reads with your rights; changes nothing.`,
    more: 'NO_COLOR=1 turns the colours of a terminal off.',
    argument: [
      '[POD]',
      `POD, pod/NAME: of one Pod. TYPE/NAME: of the Pods that a ${or.format(Object.keys(podOwners))} has now`,
    ],
    options: [...optionsOf(listOptions), ...optionsOf(kubectlOptions, kubectlGroup)],
    commands,
    exits: [
      'listed, even if the result is empty',
      'the API server refused, or cannot be reached',
      'the command line or the kubeconfig is wrong',
    ],
  });
}

export function readDropsOptions(command: Command): DropsOptions {
  return readOptions(command, { ...listOptions, ...kubectlOptions }, (given, problems) => {
    const { allNamespaces, selector, node, since, output = 'table', watch, all } = given;
    const target = readTarget(command.args, problems);
    if (selector !== undefined && target.kind !== 'all') problems.push('--selector and a name exclude each other');
    if (allNamespaces && target.kind !== 'all' && target.kind !== 'pod')
      problems.push(`${target.kind}/${target.name}: is in one namespace; --all-namespaces excludes it`);
    return { ...clusterOf(given), target, selector, node, since, output, watch, all };
  });
}

function clusterOf({
  namespace,
  allNamespaces,
  ...given
}: OptionValues<typeof kubectlOptions> & Omit<ClusterOptions, 'flags'>): ClusterOptions {
  return { namespace, allNamespaces, flags: given };
}

function readTarget(operands: readonly string[], problems: string[]): Target {
  const [operand, ...more] = operands;
  if (operand === undefined) return { kind: 'all' };
  if (more.length > 0) problems.push(`${more.join(' ')}: one Pod or workload at a time`);
  const slash = operand.indexOf('/');
  const type = slash < 0 ? 'pod' : operand.slice(0, slash).toLowerCase();
  const name = operand.slice(slash + 1);
  const kind = kinds.get(type);
  if (kind === undefined)
    problems.push(`${operand}: must be POD, or one of ${Object.keys(podOwners).join(', ')} and /NAME`);
  else if (!(kind === 'service' ? isLabel : isSubdomain)(name))
    problems.push(`${operand}: is not the name of a ${kind === 'pod' ? 'Pod' : kind}`);
  return { kind: kind ?? 'pod', name };
}

const sortKeys = ['rate', 'packets', 'last', 'from', 'to'] as const;
export type SortKey = (typeof sortKeys)[number];

export interface TopOptions extends ClusterOptions {
  readonly agents: { readonly namespace: string; readonly port: number | undefined };
  readonly node: string | undefined;
  readonly interval: Millis;
  readonly sort: SortKey;
  readonly filter: string;
  readonly plain: boolean;
  /** The number of tables; undefined if the command does not end by itself. */
  readonly count: number | undefined;
}

const topTable = {
  namespace: {
    short: 'n',
    value: 'NAMESPACE',
    help: 'flows from or to this namespace only. Default: all',
    schema: namespaceName,
  },
  node: { value: 'NAME', help: 'of this Node only', schema: nodeName },
  interval: { value: 'SECONDS', help: 'between two looks', default: '2', schema: wholeNumber(1, 3600) },
  sort: { value: 'KEY', help: `${sortKeys.join(', ')}. Default: rate`, choices: sortKeys },
  filter: { value: 'TEXT', help: 'rows with this text only' },
  plain: {
    help: 'one table after another, without colours and control of the terminal: for screen readers and files. Without a terminal it is always so',
  },
  count: {
    value: 'N',
    help: 'ends after N tables of --plain. Default: without a terminal 1',
    schema: wholeNumber(1, 999_999),
  },
  agentsNamespace: {
    value: 'NAME',
    help: 'where the agents are',
    default: 'kube-netfilter-tailer',
    schema: namespaceName,
  },
  agentsPort: {
    value: 'PORT',
    help: 'default: that of their port "drops", else 9092',
    schema: wholeNumber(1, 65_535),
  },
} as const satisfies OptionTable;

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
    options: [...optionsOf(topTable), ...optionsOf(kubectlOptions, kubectlGroup)],
  });
}

/** `hasTerminal`: whether standard input and output are a terminal. Throws a `UsageError` that lists all that is wrong. */
export function readTopOptions(command: Command, hasTerminal: boolean): TopOptions {
  return readOptions(command, { ...topTable, ...kubectlOptions }, (values, problems) => {
    const { agentsNamespace, agentsPort: port, node, interval, sort = 'rate', filter = '', count, ...given } = values;
    const plain = given.plain || !hasTerminal;
    if (count !== undefined && !plain) problems.push('--count: is for --plain');
    return {
      ...clusterOf({ ...given, allNamespaces: false }),
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
