import type { Command, Option } from 'commander';
import type { Access } from '../../kubernetes/kubernetes.ts';
import { canonicalAddress, isIPv6 } from '../../platform/address.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { createCommand, option, pathOf, problemsOf, stdinProblems, UsageError } from './command.ts';

export type NamedEnd = { kind: 'pod'; namespace: string; name: string } | { kind: 'address'; address: string };

export interface WhyOptions {
  from: NamedEnd;
  to: NamedEnd;
  port: number | undefined;
  protocol: string;
  /** Files of saved objects. If there are none, the cluster of the kubeconfig is read. */
  files: string[];
  kubeconfig: string | undefined;
  context?: string | undefined;
  /** Undefined if the caller has not found it yet. */
  access?: Access | undefined;
  output: 'text' | 'json';
  /** Files of audit rows, or patterns of them. */
  audit?: readonly string[];
}

const usage = '--from END --to END --port PORT [--policies FILE]...';
const lastExits = [
  'the command line is wrong, or a file or the cluster cannot be read',
  'it cannot be known; the output names the facts that are missing',
];

/** `drops why` also takes them, instead of a Pod. */
export function connectionOptions(): Option[] {
  return [
    option('--from <END>', 'NAMESPACE/POD, or an address'),
    option('--to <END>', 'NAMESPACE/POD, or an address: not that of a Service, but of the Pod behind it'),
    option('--port <PORT>', 'as 5432/TCP, 53/UDP, 3868/SCTP; TCP without a protocol; ICMP has no port'),
    option(
      '--policies <FILE>',
      'saved objects, JSON or YAML, instead of a cluster; may be repeated: of two objects of one name the later counts',
      { many: true },
    ),
    option('-o, --output <FORMAT>', 'text (default), or json: one object (docs/why.md)', { choices: ['text', 'json'] }),
  ];
}

const clusterOptions = [
  option('--kubeconfig <FILE>', 'the cluster, and who asks. Default: as kubectl'),
  option('--context <NAME>', 'of the kubeconfig. Default: the current one'),
];

export function whyCommand(): Command {
  return createCommand('why', {
    summary: 'which network policy admits or denies a connection, and at which clause',
    usage,
    about: `Says whether network policies admit a connection, and by which policy, rule and clause. Reads only: with your rights, or saved objects.

  kubectl get pods,namespaces,nodes,services,networkpolicies -A -o yaml > cluster.yaml
  kube-netfilter-tailer why --from batch/worker-7 --to shop/postgres-0 --port 5432/TCP --policies cluster.yaml`,
    exits: ['policies admit the connection, in both directions', 'a policy denies it', ...lastExits],
    options: [...connectionOptions(), ...clusterOptions],
  });
}

export function suggestCommand(): Command {
  return createCommand('suggest', {
    summary: 'the least new network policy that admits a connection',
    usage,
    about:
      'Prints the least new NetworkPolicies that admit a connection, as YAML for kubectl apply. Changes nothing by itself.',
    exits: [
      'the policies are printed, or none is needed',
      'no new NetworkPolicy helps; the output names the policy that must be changed',
      ...lastExits,
    ],
    options: [
      ...connectionOptions().filter(({ long }) => long !== '--output'),
      ...clusterOptions,
      option(
        '--audit <ROWS>',
        'rows of the audit (docs/audit.md), files or patterns in quotes: counts their flows that would newly be admitted; may be repeated',
        { many: true },
      ),
    ],
  });
}

/** Throws a `UsageError` with all problems. */
export function readWhyOptions(command: Command): WhyOptions {
  const problems = problemsOf(command);
  const given = command.optsWithGlobals<{
    from?: string;
    to?: string;
    port?: string;
    policies?: string[];
    audit?: string[];
    kubeconfig?: string;
    context?: string;
    output?: string;
  }>();
  const from = readEnd('--from', given.from, problems);
  const to = readEnd('--to', given.to, problems);
  const { port, protocol } = readPort(given.port, problems);
  const { policies: files = [], audit = [], kubeconfig, context } = given;
  problems.push(...stdinProblems([...files, ...audit]));
  for (const name of ['kubeconfig', 'context'] as const)
    if (files.length > 0 && given[name] !== undefined) problems.push(`--policies and --${name} exclude each other`);
  if (from?.kind === 'address' && to?.kind === 'address' && isIPv6(from.address) !== isIPv6(to.address))
    problems.push('--from and --to: are addresses of two families');
  if (problems.length > 0 || from === undefined || to === undefined) throw new UsageError(problems, pathOf(command));
  return {
    from,
    to,
    port,
    protocol,
    files,
    kubeconfig,
    context,
    audit,
    output: given.output === 'json' ? 'json' : 'text',
  };
}

function readEnd(flag: string, given: string | undefined, problems: string[]): NamedEnd | undefined {
  const wanted = 'must be NAMESPACE/POD or an address';
  if (given === undefined) return void problems.push(`${flag}: is missing; it ${wanted}`);
  const address = canonicalAddress(given);
  if (address !== '') return { kind: 'address', address };
  const [namespace = '', name = '', ...more] = given.split('/');
  if (isLabel(namespace) && isSubdomain(name) && more.length === 0) return { kind: 'pod', namespace, name };
  return void problems.push(`${flag} ${given}: ${wanted}`);
}

function readPort(given: string | undefined, problems: string[]): { port: number | undefined; protocol: string } {
  if (given?.toUpperCase() === 'ICMP') return { port: undefined, protocol: 'ICMP' };
  const [, digits = '', name = 'TCP'] = /^(\d{1,5})(?:\/(\w+))?$/.exec(given ?? '') ?? [];
  const port = Number(digits);
  const protocol = name.toUpperCase();
  const isPort = digits !== '' && port >= 1 && port <= 65_535;
  if (!isPort || !['TCP', 'UDP', 'SCTP'].includes(protocol))
    problems.push(`--port${given === undefined ? ': is missing; it' : ` ${given}:`} must be such as 5432/TCP, or ICMP`);
  return { port, protocol };
}
