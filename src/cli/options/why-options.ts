import type { Command } from 'commander';
import type { Access } from '../../agent/kubernetes/kubernetes.ts';
import type { UserFlags } from '../../agent/kubernetes/kubeconfig.ts';
import { canonicalAddress, isIPv6 } from '../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';
import { type AccessOptions, accessOf, givenFlags, kubectlGroup, kubectlOptions } from './cluster-options.ts';
import { createCommand, stdinProblems } from './command.ts';
import { type PodKind, podKindOf } from './target-name.ts';
import { checked, optionsOf, type OptionTable, readOptions } from './option-table.ts';

export type NamedEnd =
  | { kind: 'address'; address: string }
  /** As `--to`, also a Service, if there is no Pod of that name. */
  | { kind: 'pod'; namespace: string; name: string }
  | { kind: 'service'; namespace: string; name: string }
  | { kind: 'workload'; workload: WorkloadKind | 'Job'; namespace: string; name: string }
  | { kind: 'node'; name: string };

/** Kinds of apps/v1 that select Pods by labels. */
export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet' | 'ReplicaSet';

export interface WhyOptions {
  from: NamedEnd;
  to: NamedEnd;
  port: number | undefined;
  protocol: string;
  /** The connection was seen on a node, so no Service translates it any more. */
  exact?: boolean;
  /** Files of saved objects. If there are none, the cluster of the kubeconfig is read. */
  files: readonly string[];
  /** The user and the cluster; undefined if `access` has them. */
  cluster?: AccessOptions | undefined;
  /** Undefined if the caller has not found it yet. */
  access?: Access | undefined;
  output: 'text' | 'json';
  /** Files of audit rows, or patterns of them. */
  audit?: readonly string[];
}

const usage = '--from END --to END --port PORT [--policies FILE]...';
const lastExits = [
  'the command line is wrong, or a file or the cluster cannot be read',
  'the verdict is unknown; the output names the missing facts',
];

/** `drops why` also takes them, instead of a Pod. */
export const connectionOptions = {
  from: {
    value: 'END',
    help: 'the end that opens the connection: NAMESPACE/POD, an address, a Node, or TYPE/NAMESPACE/NAME',
  },
  to: {
    value: 'END',
    help: 'the other end: the same, or a Service: NAMESPACE/SERVICE, svc/NAMESPACE/NAME, or its address; may end in :PORT',
  },
  port: { value: 'PORT', help: '5432/TCP, 53/UDP, 3868/SCTP, or ICMP. A number alone is a TCP port' },
  policies: {
    value: 'FILE',
    help: 'file with saved objects, JSON or YAML, instead of a cluster; of two objects with the same name, the later one counts',
    list: true,
  },
  output: {
    short: 'o',
    value: 'FORMAT',
    help: 'text (default), or json: one object (docs/why.md)',
    choices: ['text', 'json'],
  },
} as const satisfies OptionTable;

/** All commands of `drops` have these. */
const ownOptions = {
  namespace: {
    short: 'n',
    value: 'NAMESPACE',
    help: 'Namespace of names without one, such as svc/web. Default: the namespace of the context; with --policies: default',
    schema: checked(isLabel, 'is not the name of a Namespace'),
  },
} as const satisfies OptionTable;

const auditOptions = {
  audit: {
    value: 'ROWS',
    help: 'files with audit rows (docs/audit.md), or patterns in quotes: count the flows that would newly be allowed',
    list: true,
  },
} as const satisfies OptionTable;

const { output: _, ...suggestOptions } = connectionOptions;

export function whyCommand(): Command {
  return createCommand('why', {
    summary: 'which network policy allows or denies a connection, and at which clause',
    usage,
    about: `Says whether network policies allow a connection, and by which policy, rule and clause. Reads the cluster with your rights, or saved objects; changes nothing.

  kubectl get pods,namespaces,nodes,services,networkpolicies -A -o yaml > cluster.yaml
  kube-netfilter-tailer why --from batch/worker-7 --to shop/postgres-0 --port 5432/TCP --policies cluster.yaml`,
    exits: ['policies allow the connection, in both directions', 'a policy denies it', ...lastExits],
    options: [...optionsOf({ ...connectionOptions, ...ownOptions }), ...optionsOf(kubectlOptions, kubectlGroup)],
  });
}

export function suggestCommand(): Command {
  return createCommand('suggest', {
    summary: 'the smallest new NetworkPolicy that allows a connection',
    usage,
    about:
      'Prints the smallest new NetworkPolicies that allow a connection, as YAML for kubectl apply. Changes nothing itself.',
    exits: [
      'the policies are printed, or none is needed',
      'no new NetworkPolicy helps; the output names the policy that must be changed',
      ...lastExits,
    ],
    options: [
      ...optionsOf({ ...suggestOptions, ...ownOptions, ...auditOptions }),
      ...optionsOf(kubectlOptions, kubectlGroup),
    ],
  });
}

/** `namespaceOf`: that of the context, for names without one; saved objects have none. Throws a `UsageError` with all problems. */
export function readWhyOptions(
  command: Command,
  namespaceOf: (flags: UserFlags) => string = () => 'default',
): WhyOptions {
  const table = { ...connectionOptions, ...ownOptions, ...auditOptions, ...kubectlOptions };
  return readOptions(command, table, (given, problems) => {
    const { policies: files, audit, output = 'text' } = given;
    const cluster = accessOf(given);
    const namespace = given.namespace ?? namespaceOf(cluster.flags);
    const from = readEnd('--from', given.from, namespace, problems);
    const [target, targetPort] = splitPort(given.to);
    const to = readEnd('--to', target, namespace, problems);
    const service = readPort(given.port, targetPort, problems);
    problems.push(...stdinProblems([...files, ...audit]));
    if (files.length > 0)
      problems.push(...givenFlags(cluster).map((flag) => `--policies and ${flag} exclude each other`));
    if (from?.kind === 'address' && to?.kind === 'address' && isIPv6(from.address) !== isIPv6(to.address))
      problems.push('--from and --to: are addresses of two families');
    return {
      ...service,
      from: from ?? nowhere,
      to: to ?? nowhere,
      files,
      cluster,
      audit,
      output,
    };
  });
}

/** Stands for an end that is missing, which is a problem. */
const nowhere: NamedEnd = { kind: 'address', address: '' };

/** Splits `shop/web:80`, `10.96.0.9:80` and `[2001:db8::1]:80`. An address of IPv6 without brackets has no port. */
function splitPort(given: string | undefined): [end: string | undefined, port: string | undefined] {
  if (given === undefined || canonicalAddress(given) !== '') return [given, undefined];
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(given) ?? [];
  return [bracketed ?? plain ?? given, port];
}

function readEnd(flag: string, given: string | undefined, place: string, problems: string[]): NamedEnd | undefined {
  const wanted = 'must be NAMESPACE/POD, an address, a Node, or TYPE/NAME such as svc/web or deploy/shop/web';
  if (given === undefined) return void problems.push(`${flag}: is missing; it ${wanted}`);
  const address = canonicalAddress(given);
  if (address !== '') return { kind: 'address', address };
  const parts = given.split('/');
  const word = parts[0]?.toLowerCase() ?? '';
  const type = ['node', 'nodes', 'no'].includes(word) ? 'Node' : podKindOf(word);
  const end =
    type !== undefined && parts.length > 1
      ? typedEnd(type, parts.slice(1), place)
      : parts.length === 1
        ? typedEnd('Node', parts, place)
        : typedEnd('Pod', parts, place);
  return end ?? void problems.push(`${flag} ${given}: ${wanted}`);
}

function typedEnd(type: PodKind | 'Node', parts: readonly string[], place: string): NamedEnd | undefined {
  const [name = '', namespace = place, ...more] = parts.toReversed();
  if (!isSubdomain(name) || !isLabel(namespace) || more.length > 0) return undefined;
  // Digits and dots alone are an address with a typo.
  if (type === 'Node') return parts.length === 1 && /[a-z]/.test(name) ? { kind: 'node', name } : undefined;
  if (type === 'Pod') return { kind: 'pod', namespace, name };
  return type === 'Service'
    ? { kind: 'service', namespace, name }
    : { kind: 'workload', workload: type, namespace, name };
}

function readPort(
  ofOption: string | undefined,
  ofTarget: string | undefined,
  problems: string[],
): { port: number | undefined; protocol: string } {
  const given = ofOption ?? ofTarget;
  if (given?.toUpperCase() === 'ICMP') return { port: undefined, protocol: 'ICMP' };
  const [, digits = '', name = 'TCP'] = /^(\d{1,5})(?:\/(\w+))?$/.exec(given ?? '') ?? [];
  const port = Number(digits);
  const protocol = name.toUpperCase();
  const isPort = digits !== '' && port >= 1 && port <= 65_535;
  if (!isPort || !['TCP', 'UDP', 'SCTP'].includes(protocol))
    problems.push(
      `--port${given === undefined ? ': is missing; it' : ` ${given}:`} must look like 5432/TCP, or be ICMP`,
    );
  else if (ofTarget !== undefined && Number(ofTarget) !== port)
    problems.push(`--to ends in :${ofTarget}, and --port is ${given}: give one`);
  return { port, protocol };
}
