import type { Command } from 'commander';
import { settings } from '../../agent/config/settings.ts';
import { auditPeersChoices, prefix } from '../../agent/config/values.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Verdict } from '../../base/model/packet.ts';
import type { ToInstant } from '../../base/log-formats/rfc3339.ts';
import { zoneTime } from '../../read/sources/reading.ts';
import {
  createCommand,
  durationOf,
  grouped,
  option,
  pathOf,
  problemsOf,
  stdinProblems,
  UsageError,
} from './command.ts';

const { auditPeers, auditIpv4Prefix, auditIpv6Prefix, auditOptOut } = settings;

const outputs = ['table', 'wide', 'json', 'yaml', 'audit', 'mermaid', 'html'] as const;
const colors = ['auto', 'always', 'never'] as const;

export type OutputFormat = (typeof outputs)[number];

export interface ReplayPrivacy {
  peers: (typeof auditPeersChoices)[number];
  /** How many bits of an address are kept. */
  bits: { ipv4: number; ipv6: number };
  /** Whether Namespaces with the opt-out label on their saved object are not named. */
  optOut: boolean;
}

export interface ReplayOptions {
  pods: string[];
  /** Files of saved policies, and of the objects that policies select by labels. */
  policies: string[];
  logs: string[];
  output: OutputFormat;
  /** `auto`: colours on a terminal, if NO_COLOR is not set. */
  color: (typeof colors)[number];
  namespace: string | undefined;
  pod: string | undefined;
  since: Millis | undefined;
  writes: boolean;
  explain: string | undefined;
  node: string | undefined;
  prefixes: { prefix: string; verdict: Verdict }[];
  includeNoise: boolean;
  /** The time from which ages count. A time stamp without a year is not later than this. */
  now: Millis | undefined;
  /** Of stamps without one; undefined if nobody has said it. */
  zone: ToInstant | undefined;
  bootTime: Millis | undefined;
  quiet: boolean;
  privacy: ReplayPrivacy;
}

export function replayCommand(): Command {
  return createCommand('replay', {
    summary: 'turn saved node logs into Events; no cluster needed',
    usage: '--pods FILE LOG...',
    about: `Reads saved node logs and a saved list of cluster objects, and shows the Events that the affected Pods would get. Needs no cluster. A LOG of - is standard input; .gz and .zst are unpacked.

  kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json
  kube-netfilter-tailer replay --pods cluster.json /var/log/kern.log*
  journalctl -k -o json | kube-netfilter-tailer replay --pods cluster.json -`,
    argument: ['[LOG...]'],
    options: [...inputOptions, ...outputOptions, ...privacyOptions],
    exits: [
      'all input was read',
      'some input could not be read, or the saved objects are of another cluster; the rest was processed',
      'the command line is wrong, or a file of --pods or --policies is not what it should be',
    ],
  });
}

const formats = `table    Events per object, as kubectl describe shows them (default)
wide     one row for each Event, as kubectl get events -o wide
json     core/v1 Events, one a line, ready for kubectl create -f -
yaml     the same as one List
audit    one line of JSON for each dropped packet
mermaid  a flowchart of who was refused what, for a ticket in Markdown
html     one page with graph, time line and Events, for a ticket (docs/report.md)`;

const inputOptions = grouped('What to read', [
  option(
    '--pods <FILE>',
    'saved objects, JSON or YAML; may be repeated. Without it every address stays a bare address. Where network policies are among them, Events say which one denied, and at which clause (docs/why.md)',
    { many: true },
  ),
  option('--policies <FILE>', 'more network policies, JSON or YAML, also manifests; may be repeated', { many: true }),
  option('--node <NAME>', 'node the logs come from. Default: the host name in each line'),
  option(
    '--prefix <NAME=VERDICT>',
    'what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted; =VERDICT is for lines without a prefix. May be repeated; comes before the built-in meanings',
    { many: true },
  ),
  option('--time-zone <ZONE>', 'zone of time stamps that name none, for example Europe/Berlin. Default: UTC'),
  option(
    '--boot-time <TIME>',
    'when the node booted, for logs with nothing but uptimes. Default: guessed from the file',
  ),
  option('--include-noise', 'make Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery too'),
  option('--since <TIME>', 'count only what was logged from then on: a time, or 30m, 2h, 3d before now (or --now)'),
]);

const outputOptions = grouped('What to show', [
  option('-n, --namespace <NAME>', 'only objects of this Namespace'),
  option('--pod <NAME>', 'only Pods of this name'),
  option('-o, --output <FORMAT>', formats, { choices: outputs }),
  option('--color <WHEN>', 'colours of the table: auto (default), always or never', { choices: colors }),
  option('--writes', 'each write to the API server, with its time'),
  option('--explain <LINE>', 'how one log line is understood, step by step (no LOG needed)'),
  option('--now <TIME>', 'ages count from here. Default: the last write'),
  option('-q, --quiet', 'no summary, no progress'),
]);

const privacyOptions = grouped('What audit rows leave out (docs/audit.md)', [
  option(
    `--${auditPeers.flag} <HOW>`,
    'redacted: of two Namespaces, only the end is named whose policy dropped the packet; with --namespace only that Namespace is named. Default: shown',
    { choices: auditPeersChoices },
  ),
  option(`--${auditIpv4Prefix.flag} <BITS>`, 'cut IPv4 addresses to so many bits. Default: 32'),
  option(`--${auditIpv6Prefix.flag} <BITS>`, 'cut IPv6 addresses to so many bits. Default: 128'),
  option(`--${auditOptOut.flag} <true>`, 'do not name Namespaces with the label kube-netfilter-tailer/audit=redacted', {
    choices: ['true', 'false'],
  }),
]);

/** `isTerminal`: whether standard output is a terminal. Throws a `UsageError` that lists all that is wrong. */
export function readReplayOptions(
  command: Command,
  { isTerminal = false, clock = Date.now() }: { isTerminal?: boolean; clock?: Millis } = {},
): ReplayOptions {
  const problems = problemsOf(command);
  const given = command.opts<RawReplayOptions>();
  const now = readTime('--now', given.now, problems);
  const options: ReplayOptions = {
    pods: given.pods ?? [],
    policies: given.policies ?? [],
    logs: command.args,
    output: given.output ?? 'table',
    color: given.color ?? 'auto',
    namespace: given.namespace,
    pod: given.pod,
    since: readSince(given.since, now ?? clock, problems),
    writes: given.writes ?? false,
    explain: given.explain,
    node: given.node,
    prefixes: (given.prefix ?? []).flatMap((text) => readPrefix(text, problems)),
    includeNoise: given.includeNoise ?? false,
    now,
    zone: readZone(given.timeZone, problems),
    bootTime: readTime('--boot-time', given.bootTime, problems),
    quiet: given.quiet ?? false,
    privacy: readPrivacy(given, problems),
  };
  problems.push(...combinationProblems(options, isTerminal));
  if (problems.length > 0) throw new UsageError(problems, pathOf(command));
  return options;
}

type RawReplayOptions = Partial<
  Pick<ReplayOptions, 'pods' | 'policies' | 'output' | 'color' | 'writes' | 'includeNoise' | 'quiet'>
> &
  Partial<Record<'namespace' | 'pod' | 'since' | 'explain' | 'node' | 'now' | 'timeZone' | 'bootTime', string>> &
  Partial<Record<'auditIpv4Prefix' | 'auditIpv6Prefix' | 'auditOptOut', string>> & {
    prefix?: string[];
    auditPeers?: ReplayPrivacy['peers'];
  };

function combinationProblems(options: ReplayOptions, isTerminal: boolean): string[] {
  const { logs, pods, policies, explain, output, writes } = options;
  const problems: string[] = [];
  if (logs.length === 0 && explain === undefined) problems.push('no LOG is named; - reads standard input');
  if (logs.length > 0 && explain !== undefined) problems.push('--explain takes one line and no LOG');
  for (const name of ['node', 'namespace', 'pod'] as const)
    if (options[name] === '') problems.push(`--${name}: has no value`);
  if (options.pod?.includes('/'))
    problems.push(`--pod ${options.pod}: must be a name; --namespace names its Namespace`);
  if (writes && output !== 'table' && output !== 'json')
    problems.push(`--writes and --output ${output} exclude each other`);
  if (output === 'html' && isTerminal && explain === undefined)
    problems.push('--output html: write the page to a file (replay … > replay.html), or take --output table');
  return [...problems, ...stdinProblems([...logs, ...pods, ...policies])];
}

function readPrefix(text: string, problems: string[]): ReplayOptions['prefixes'] {
  const { success, data, error } = prefix.safeParse(text);
  if (!success) problems.push(`--prefix ${text}: ${error.issues[0]?.message}`);
  return success ? [data] : [];
}

function readPrivacy(given: RawReplayOptions, problems: string[]): ReplayPrivacy {
  const bits = (flag: string, value: string | undefined, most: number): number => {
    if (value === undefined || (/^\d{1,3}$/.test(value) && Number(value) <= most)) return Number(value ?? most);
    problems.push(`--${flag} ${value}: must be 0 to ${most}`);
    return most;
  };
  const flags = { auditPeers, auditIpv4Prefix, auditIpv6Prefix, auditOptOut };
  if (given.output !== 'audit')
    for (const key of Object.keys(flags) as (keyof typeof flags)[])
      if (given[key] !== undefined) problems.push(`--${flags[key].flag}: is for --output audit`);
  return {
    peers: given.auditPeers ?? 'shown',
    bits: {
      ipv4: bits(auditIpv4Prefix.flag, given.auditIpv4Prefix, 32),
      ipv6: bits(auditIpv6Prefix.flag, given.auditIpv6Prefix, 128),
    },
    optOut: given.auditOptOut === 'true',
  };
}

/** Without a zone, a time is in UTC, even if `--time-zone` names another zone for the logs. */
const timeFormat = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

function readTime(name: string, value: string | undefined, problems: string[]): Millis | undefined {
  if (value === undefined) return undefined;
  const found = timeFormat.exec(value);
  const time = found ? Date.parse(value.length > 10 && found[1] === undefined ? `${value}Z` : value) : NaN;
  if (Number.isNaN(time))
    problems.push(
      `${name} ${value}: must be a time such as 2026-11-21T03:42:11Z${name === '--since' ? ', or 30m, 2h, 3d' : ''}`,
    );
  return time;
}

function readSince(value: string | undefined, now: Millis, problems: string[]): Millis | undefined {
  const duration = durationOf(value);
  return duration === undefined ? readTime('--since', value, problems) : now - duration;
}

function readZone(value: string | undefined, problems: string[]): ToInstant | undefined {
  try {
    if (value !== undefined) return zoneTime(value);
  } catch {
    problems.push(`--time-zone ${value}: is no time zone; try Europe/Berlin, UTC or +02:00`);
  }
  return undefined;
}
