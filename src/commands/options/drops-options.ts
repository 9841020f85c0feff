/** Help and options of `drops`, which kubectl starts as `kubectl drops`. */
import type { Millis } from '../../model/log-line.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { clusterForms, clusterHelp, type ClusterOptions, readClusterOptions } from './cluster-options.ts';
import { parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

export const dropsFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type DropsFormat = (typeof dropsFormats)[number];

/** What has Pods, as it is named on the command line and where the API server has it. */
export const podOwners = {
  deployment: '/apis/apps/v1|deployments',
  statefulset: '/apis/apps/v1|statefulsets',
  daemonset: '/apis/apps/v1|daemonsets',
  replicaset: '/apis/apps/v1|replicasets',
  job: '/apis/batch/v1|jobs',
  service: '/api/v1|services',
} as const;
export type PodOwner = keyof typeof podOwners;

/** As kubectl knows them. */
const kinds = new Map<string, PodOwner | 'pod'>([
  ...(['po', 'pod', 'pods'] as const).map((name) => [name, 'pod'] as const),
  ...(Object.keys(podOwners) as PodOwner[]).flatMap((kind) => [[kind, kind] as const, [`${kind}s`, kind] as const]),
  ['deploy', 'deployment'],
  ['sts', 'statefulset'],
  ['ds', 'daemonset'],
  ['rs', 'replicaset'],
  ['svc', 'service'],
]);

/** Whose drops are asked for. */
export type Target = { kind: 'all' } | { kind: 'pod'; name: string } | { kind: PodOwner; name: string };

export interface DropsOptions extends ClusterOptions {
  readonly target: Target;
  /** Of Pods. */
  readonly selector: string | undefined;
  readonly node: string | undefined;
  /** Drops whose last packet is older are left out. */
  readonly since: Millis | undefined;
  readonly output: DropsFormat;
  readonly watch: boolean;
  /** Also what is no lost packet of a Pod: incidents of the node's network. */
  readonly all: boolean;
}

/** Words behind `drops` that are no name of a Pod. */
export const subcommands = ['top', 'why', 'report', 'help'] as const;

export function dropsHelp(program: string): string {
  return `Usage: ${program} [POD | TYPE/NAME] [-n NAMESPACE | -A] [OPTION...]
       ${program} top [-n NAMESPACE]
       ${program} why POD [-n NAMESPACE]
       ${program} report ROWS...

Lists the packets that Pods lost, from the Events that the agents wrote, the newest last. Reads with your rights; changes nothing.

  POD, pod/NAME              of one Pod
  TYPE/NAME                  of the Pods that a deployment, statefulset, daemonset, replicaset, job or service has now
  -l, --selector SELECTOR    of the Pods with these labels
${clusterHelp}
      --node NAME            dropped on this Node
      --since DURATION       whose last packet is not older, for example 10m or 2h
      --all                  also incidents of the node's network
  -w, --watch                goes on with what is new
  -o, --output FORMAT        wide, with node, policy and message; json, yaml: the Events; name: their names
  -h, --help

  top                        a live table of what is dropped now; ${program} top --help
  why POD                    the rule that denies the newest drops of a Pod; with --from, --to and --port, of any connection
  report ROWS...             a page on rows of the audit

NO_COLOR=1 turns the colours of a terminal off.

Exit status
  0  listed, also where there is none
  1  the API server refused, or cannot be reached
  2  the command line or the kubeconfig is wrong
`;
}

const forms = {
  ...clusterForms,
  selector: { type: 'string', short: 'l' },
  node: { type: 'string' },
  since: { type: 'string' },
  output: { type: 'string', short: 'o' },
  watch: { type: 'boolean', short: 'w' },
  all: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Reads the arguments after `drops`. `program`: what the user typed for that. Throws a `UsageError` that lists all that is wrong. */
export function readDropsOptions(args: readonly string[], program: string): DropsOptions | 'help' {
  const parsed = parseOptions(args, forms, true);
  const { last, switches, operands, problems } = parsed;
  if (switches.has('help')) return 'help';
  const target = readTarget(operands, problems);
  const selector = last('selector');
  const allNamespaces = switches.has('all-namespaces');
  if (selector === '' || (selector?.length ?? 0) > 1000) problems.push('--selector: must have 1 to 1000 characters');
  if (selector !== undefined && target.kind !== 'all') problems.push('--selector and a name exclude each other');
  if (allNamespaces && target.kind !== 'all' && target.kind !== 'pod')
    problems.push(`${target.kind}/${target.name}: is in one namespace; --all-namespaces excludes it`);
  const node = last('node');
  if (node !== undefined && !isSubdomain(node)) problems.push(`--node ${node}: is not the name of a Node`);
  // As kubectl, which takes -o=json too.
  const output = (last('output') ?? 'table').replace(/^=/, '');
  const format = dropsFormats.find((each) => each === output);
  if (format === undefined)
    problems.push(`--output ${output}: must be ${dropsFormats.slice(1).join(', ')}; for others: kubectl get events`);
  const options: DropsOptions = {
    ...readClusterOptions(parsed),
    target,
    selector,
    node,
    since: readDuration(last('since'), problems),
    output: format ?? 'table',
    watch: switches.has('watch'),
    all: switches.has('all'),
  };
  if (problems.length > 0) throw new UsageError(problems, '', program);
  return options;
}

function readTarget(operands: readonly string[], problems: string[]): Target {
  const [operand, ...more] = operands;
  if (operand === undefined) return { kind: 'all' };
  if (more.length > 0) problems.push(`${more.join(' ')}: one Pod or workload at a time`);
  if (subcommands.some((each) => each === operand))
    problems.push(`${operand}: stands first, before options; for the Pod of that name: pod/${operand}`);
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

const units: Readonly<Record<string, Millis>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `10m`, `1h30m`. */
function readDuration(given: string | undefined, problems: string[]): Millis | undefined {
  if (given === undefined) return undefined;
  const parts = /^(?:\d{1,6}[smhd]){1,4}$/.test(given) ? [...given.matchAll(/(\d{1,6})([smhd])/g)] : [];
  const millis = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0), 0);
  if (millis > 0) return millis;
  return void problems.push(`--since ${given}: must be a duration such as 90s, 10m or 2h`);
}
