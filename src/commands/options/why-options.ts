/** Help and options of `why` and `suggest`. */
import type { Access } from '../../kubernetes/http.ts';
import { canonicalAddress, isIPv6 } from '../../platform/address.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { parseOptions } from './parse-options.ts';
import { UsageError } from './usage-error.ts';

/** A Pod by name, or an address. */
export type NamedEnd = { kind: 'pod'; namespace: string; name: string } | { kind: 'address'; address: string };

export interface WhyOptions {
  from: NamedEnd;
  to: NamedEnd;
  /** Undefined for ICMP. */
  port: number | undefined;
  protocol: string;
  /** Saved objects; none: the cluster of the kubeconfig. */
  files: string[];
  kubeconfig: string | undefined;
  /** Of the kubeconfig; undefined: the current one. */
  context?: string | undefined;
  /** The cluster, and who asks, where that is known already. */
  load?: (() => Access) | undefined;
  output: 'text' | 'json';
  /** Rows of the audit, of which `suggest` counts what it would newly admit. */
  audit?: readonly string[];
}

const connection = `  --from END             NAMESPACE/POD, or an address
  --to END               NAMESPACE/POD, or an address: not that of a Service, but of the Pod behind it
  --port PORT            as 5432/TCP, 53/UDP, 3868/SCTP; TCP without a protocol; ICMP has no port
  --policies FILE        saved objects, JSON or YAML, instead of a cluster; may be repeated: of two objects of one name the later counts
  --kubeconfig FILE      the cluster, and who asks. Default: as kubectl
  --context NAME         of the kubeconfig. Default: the current one`;

export const whyHelp = `Usage: kube-netfilter-tailer why --from END --to END --port PORT [--policies FILE]...

Says whether network policies admit a connection, and by which policy, rule and clause. Reads only: with your rights, or saved objects.

  kubectl get pods,namespaces,nodes,networkpolicies -A -o yaml > cluster.yaml
  kube-netfilter-tailer why --from batch/worker-7 --to shop/postgres-0 --port 5432/TCP --policies cluster.yaml

${connection}
  -o, --output FORMAT    text (default), or json: one object (docs/why.md)

Exit status
  0  policies admit the connection, in both directions
  1  a policy denies it
  2  the command line is wrong, or a file or the cluster cannot be read
  3  it cannot be known; the output names the facts that are missing
`;

export const suggestHelp = `Usage: kube-netfilter-tailer suggest --from END --to END --port PORT [--policies FILE]...

Prints the least new NetworkPolicies that admit a connection, as YAML for kubectl apply. Changes nothing by itself.

${connection}
  --audit ROWS           rows of the audit (docs/audit.md), files or patterns in quotes: counts their flows that would newly be admitted;
                         may be repeated

Exit status
  0  the policies are printed, or none is needed
  1  no new NetworkPolicy helps; the output names the policy that must be changed
  2  the command line is wrong, or a file or the cluster cannot be read
  3  it cannot be known; the output names the facts that are missing
`;

/** Reads the arguments after `why` or `suggest`. Throws a `UsageError` that lists all that is wrong. */
export function readWhyOptions(args: readonly string[], command: 'why' | 'suggest'): WhyOptions | 'help' {
  const { values, last, switches, problems } = parseOptions(args, command === 'why' ? whyForms : suggestForms, false);
  if (switches.has('help')) return 'help';
  const from = readEnd('--from', last('from'), problems);
  const to = readEnd('--to', last('to'), problems);
  const { port, protocol } = readPort(last('port'), problems);
  const output = last('output') ?? 'text';
  if (output !== 'text' && output !== 'json') problems.push(`--output ${output}: must be text or json`);
  const files = [...(values['policies'] ?? [])];
  if ([...files, ...(values['audit'] ?? [])].filter((file) => file === '-').length > 1)
    problems.push('standard input (-) can be read only once');
  for (const name of ['kubeconfig', 'context'] as const)
    if (files.length > 0 && last(name) !== undefined) problems.push(`--policies and --${name} exclude each other`);
  if (from?.kind === 'address' && to?.kind === 'address' && isIPv6(from.address) !== isIPv6(to.address))
    problems.push('--from and --to: are addresses of two families');
  if (problems.length > 0 || from === undefined || to === undefined) throw new UsageError(problems, command);
  return {
    from,
    to,
    port,
    protocol,
    files,
    kubeconfig: last('kubeconfig'),
    context: last('context'),
    audit: [...(values['audit'] ?? [])],
    output: output === 'json' ? 'json' : 'text',
  };
}

const connectionForms = {
  from: { type: 'string' },
  to: { type: 'string' },
  port: { type: 'string' },
  policies: { type: 'string' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

const whyForms = { ...connectionForms, output: { type: 'string', short: 'o' } } as const;

const suggestForms = { ...connectionForms, audit: { type: 'string' } } as const;

function readEnd(option: string, given: string | undefined, problems: string[]): NamedEnd | undefined {
  const wanted = 'must be NAMESPACE/POD or an address';
  if (given === undefined) return void problems.push(`${option}: is missing; it ${wanted}`);
  const address = canonicalAddress(given);
  if (address !== '') return { kind: 'address', address };
  const [namespace = '', name = '', ...more] = given.split('/');
  if (isLabel(namespace) && isSubdomain(name) && more.length === 0) return { kind: 'pod', namespace, name };
  return void problems.push(`${option} ${given}: ${wanted}`);
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
