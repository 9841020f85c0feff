import type { Command, Option } from 'commander';
import type { UserFlags } from '../../agent/kubernetes/kubeconfig.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { createCommand, durationOf, grouped, option, pathOf, problemsOf, UsageError } from './command.ts';

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
    options: [
      option('-l, --selector <SELECTOR>', 'of the Pods with these labels'),
      ...namespaceOptions,
      option('--node <NAME>', 'dropped on this Node'),
      option('--since <DURATION>', 'last packet at most this long ago, for example 10m or 2h'),
      option('--all', "also incidents of the node's network"),
      option('-w, --watch', 'keep listing new drops'),
      option(
        '-o, --output <FORMAT>',
        'wide, with node, policy and message; json, yaml: the Events; name: their names',
        {
          choices: dropsFormats.slice(1),
        },
      ),
      ...kubectlOptions,
    ],
    commands,
    exits: [
      'listed, even if the result is empty',
      'the API server refused, or cannot be reached',
      'the command line or the kubeconfig is wrong',
    ],
  });
}

type RawOptions<Name extends string> = Partial<Record<Name, string>>;

export function readDropsOptions(command: Command): DropsOptions {
  const problems: string[] = [];
  const given = command.optsWithGlobals<RawOptions<'selector' | 'node' | 'since' | 'output'>>();
  const { watch = false, all = false } = command.optsWithGlobals<{ watch?: boolean; all?: boolean }>();
  const cluster = readClusterOptions(command, problems);
  const { selector, node } = given;
  const target = readTarget(command.args, problems);
  if (selector === '' || (selector?.length ?? 0) > 1000) problems.push('--selector: must have 1 to 1000 characters');
  if (selector !== undefined && target.kind !== 'all') problems.push('--selector and a name exclude each other');
  if (cluster.allNamespaces && target.kind !== 'all' && target.kind !== 'pod')
    problems.push(`${target.kind}/${target.name}: is in one namespace; --all-namespaces excludes it`);
  if (node !== undefined && !isSubdomain(node)) problems.push(`--node ${node}: is not the name of a Node`);
  // As in kubectl, -o=json is allowed, too.
  const output = (given.output ?? 'table').replace(/^=/, '');
  const format = dropsFormats.find((each) => each === output);
  if (format === undefined)
    problems.push(`--output ${output}: must be ${dropsFormats.slice(1).join(', ')}; for others: kubectl get events`);
  const since = durationOf(given.since);
  if (given.since !== undefined && since === undefined)
    problems.push(`--since ${given.since}: must be a duration such as 90s, 10m or 2h`);
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return {
    ...cluster,
    target,
    selector,
    node,
    since,
    output: format ?? 'table',
    watch,
    all,
  };
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

export const namespaceOptions: readonly Option[] = [
  option('-n, --namespace <NAMESPACE>', 'default: that of the current context'),
  option('-A, --all-namespaces', 'of all namespaces'),
];

export const kubectlOptions: readonly Option[] = grouped('As for kubectl', [
  ...['kubeconfig <FILE>', 'context <NAME>', 'cluster <NAME>', 'user <NAME>'].map((flag) => option(`--${flag}`, '')),
  option('-s, --server <URL>', ''),
  ...['token <TOKEN>', 'as <USER>'].map((flag) => option(`--${flag}`, '')),
  option('--as-group <GROUP>', 'may be repeated', { many: true }),
  option('--as-uid <UID>', ''),
]);

export interface ClusterOptions {
  readonly flags: UserFlags;
  /** Undefined for the namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

function readClusterOptions(command: Command, problems: string[]): ClusterOptions {
  const {
    namespace,
    allNamespaces = false,
    asGroup: asGroups,
    ...flags
  } = command.optsWithGlobals<UserFlags & { namespace?: string; allNamespaces?: boolean; asGroup?: string[] }>();
  if (namespace !== undefined && !isLabel(namespace))
    problems.push(`--namespace ${namespace}: is no name of a Namespace`);
  return { namespace, allNamespaces, flags: { ...flags, asGroups } };
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
  const given =
    command.optsWithGlobals<RawOptions<'node' | 'interval' | 'filter' | 'count' | 'agentsNamespace' | 'agentsPort'>>();
  const number = (flag: string, text: string | undefined, most: number): number | undefined => {
    if (text === undefined) return undefined;
    const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > most) problems.push(`--${flag} ${text}: must be a whole number from 1 to ${most}`);
    return value;
  };
  const { node, agentsNamespace: namespace = 'kube-netfilter-tailer', filter = '' } = given;
  const { sort = 'rate', plain: isPlain = false } = command.opts<{ sort?: SortKey; plain?: boolean }>();
  if (!isLabel(namespace)) problems.push(`--agents-namespace ${namespace}: is no name of a Namespace`);
  if (node !== undefined && !isSubdomain(node)) problems.push(`--node ${node}: is not the name of a Node`);
  const plain = isPlain || !hasTerminal;
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
