/** Help and options of `replay`. */
import { type Millis } from '../../model/log-line.ts';
import { type Verdict, verdicts } from '../../model/packet.ts';
import type { ToInstant } from '../../log-formats/rfc3339.ts';
import { zoneTime } from '../../sources/envelopes/clock.ts';
import { parseOptions } from './parse-options.ts';
import { privacyForms, readPrivacy, type ReplayPrivacy } from './replay-privacy.ts';
import { UsageError } from './usage-error.ts';

const outputs = ['table', 'wide', 'json', 'yaml', 'audit', 'mermaid', 'html'] as const;
const colors = ['auto', 'always', 'never'] as const;

export type OutputFormat = (typeof outputs)[number];

export interface ReplayOptions {
  /** Saved lists of cluster objects. */
  pods: string[];
  /** Saved policies, and objects with labels. */
  policies: string[];
  logs: string[];
  output: OutputFormat;
  /** Of the table. `auto`: on a terminal, and where NO_COLOR is not set. */
  color: (typeof colors)[number];
  /** Only of its objects. */
  namespace: string | undefined;
  /** Only of Pods of that name. */
  pod: string | undefined;
  /** Lines that were logged before then are not counted. */
  since: Millis | undefined;
  /** List each API write with its time instead of the result. */
  writes: boolean;
  /** One line to be explained instead of logs to be read. */
  explain: string | undefined;
  node: string | undefined;
  prefixes: { prefix: string; verdict: Verdict }[];
  includeNoise: boolean;
  /** Ages count from here, and no stamp without a year is later. */
  now: Millis | undefined;
  /** How stamps without a zone are read. */
  zone: ToInstant;
  bootTime: Millis | undefined;
  quiet: boolean;
  /** What audit rows leave out. */
  privacy: ReplayPrivacy;
}

export const replayHelp = `Usage: kube-netfilter-tailer replay --pods FILE LOG...

Reads saved node logs and a saved list of cluster objects, and shows the Events that the affected Pods would get.
Needs no cluster. A LOG of - is standard input; .gz and .zst are unpacked.

  kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json
  kube-netfilter-tailer replay --pods cluster.json /var/log/kern.log*
  journalctl -k -o json | kube-netfilter-tailer replay --pods cluster.json -

What to read
  --pods FILE              saved objects; may be repeated. Without it every address stays a bare address. Where network
                           policies are among them, Events say which one denied, and at which clause (docs/why.md)
  --policies FILE          more network policies, JSON or YAML, also manifests; may be repeated
  --node NAME              node the logs come from. Default: the host name in each line
  --prefix NAME=VERDICT    what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted;
                           =VERDICT is for lines without a prefix. May be repeated; comes before the built-in meanings
  --time-zone ZONE         zone of time stamps that name none, for example Europe/Berlin. Default: UTC
  --boot-time TIME         when the node booted, for logs with nothing but uptimes. Default: guessed from the file
  --include-noise          make Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery too
  --since TIME             count only what was logged from then on: a time, or 30m, 2h, 3d before now (or --now)

What to show
  -n, --namespace NAME     only objects of this Namespace
      --pod NAME           only Pods of this name
  -o, --output FORMAT      table    Events per object, as kubectl describe shows them (default)
                           wide     one row for each Event, as kubectl get events -o wide
                           json     core/v1 Events, one a line, ready for kubectl create -f -
                           yaml     the same as one List
                           audit    one line of JSON for each dropped packet
                           mermaid  a flowchart of who was refused what, for a ticket in Markdown
                           html     one page with graph, time line and Events, for a ticket (docs/report.md)
      --color WHEN         colours of the table: auto (default), always or never
      --writes             each write to the API server, with its time
      --explain LINE       how one log line is understood, step by step (no LOG needed)
      --now TIME           ages count from here. Default: the last write
  -q, --quiet              no summary, no progress bar

What audit rows leave out (docs/audit.md)
  --audit-peers HOW        redacted: of two Namespaces, only the end is named whose policy dropped the packet;
                           with --namespace only that Namespace is named. Default: shown
  --audit-ipv4-prefix BITS  cut IPv4 addresses to so many bits. Default: 32
  --audit-ipv6-prefix BITS  cut IPv6 addresses to so many bits. Default: 128
  --audit-opt-out true     do not name Namespaces with the label kube-netfilter-tailer/audit=redacted

Exit status
  0  all input was read
  1  some input could not be read, or the saved objects are of another cluster; the rest was processed
  2  the command line is wrong, or a file of --pods or --policies is not what it should be
`;

/**
 * Reads the arguments after `replay`. Throws a `UsageError` that lists all that is wrong. `isTerminal`: standard output is one; `clock`:
 * the time now.
 */
export function readReplayOptions(
  args: string[],
  { isTerminal = false, clock = Date.now() }: { isTerminal?: boolean; clock?: Millis } = {},
): ReplayOptions | 'help' {
  const { values, last, switches, operands, problems } = parseOptions(args, forms, true);
  if (switches.has('help')) return 'help';
  const output = last('output') ?? 'table';
  const now = readTime('--now', last('now'), problems);
  const options: ReplayOptions = {
    pods: [...(values['pods'] ?? [])],
    policies: [...(values['policies'] ?? [])],
    logs: [...operands],
    output: oneOf(`--output ${output}:`, output, outputs, problems),
    color: oneOf(`--color ${last('color')}:`, last('color') ?? 'auto', colors, problems),
    namespace: last('namespace'),
    pod: last('pod'),
    since: readSince(last('since'), now ?? clock, problems),
    writes: switches.has('writes'),
    explain: last('explain'),
    node: last('node'),
    prefixes: (values['prefix'] ?? []).map((text) => readPrefix(text, problems)),
    includeNoise: switches.has('include-noise'),
    now,
    zone: readZone(last('time-zone'), problems),
    bootTime: readTime('--boot-time', last('boot-time'), problems),
    quiet: switches.has('quiet'),
    privacy: readPrivacy(last, output, problems),
  };
  if (options.logs.length === 0 && options.explain === undefined)
    problems.push('no LOG is named; - reads standard input');
  if (options.logs.length > 0 && options.explain !== undefined) problems.push('--explain takes one line and no LOG');
  if (options.node === '') problems.push('--node: has no value');
  for (const name of ['namespace', 'pod'] as const) if (options[name] === '') problems.push(`--${name}: has no value`);
  if (options.writes && options.output !== 'table' && options.output !== 'json')
    problems.push(`--writes and --output ${output} exclude each other`);
  if (options.output === 'html' && isTerminal && options.explain === undefined)
    problems.push('--output html: write the page to a file (replay … > replay.html), or take --output table');
  if ([...options.logs, ...options.pods, ...options.policies].filter((file) => file === '-').length > 1)
    problems.push('standard input (-) can be read only once');
  if (problems.length > 0) throw new UsageError(problems, 'replay');
  return options;
}

const forms = {
  pods: { type: 'string' },
  policies: { type: 'string' },
  output: { type: 'string', short: 'o' },
  color: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  pod: { type: 'string' },
  since: { type: 'string' },
  writes: { type: 'boolean' },
  explain: { type: 'string' },
  node: { type: 'string' },
  prefix: { type: 'string' },
  'include-noise': { type: 'boolean' },
  now: { type: 'string' },
  'time-zone': { type: 'string' },
  'boot-time': { type: 'string' },
  quiet: { type: 'boolean', short: 'q' },
  ...privacyForms,
  help: { type: 'boolean', short: 'h' },
} as const;

function readPrefix(text: string, problems: string[]): { prefix: string; verdict: Verdict } {
  const at = text.lastIndexOf('=');
  const prefix = text.slice(0, Math.max(0, at));
  const named = at === 0 || prefix.trim() !== '';
  if (!named) problems.push(`--prefix ${text}: must be NAME=VERDICT, for example --prefix my-drop=dropped`);
  return {
    prefix,
    verdict: oneOf(`--prefix ${text}: the verdict`, named ? text.slice(at + 1) : 'dropped', verdicts, problems),
  };
}

function oneOf<T extends string>(what: string, value: string, allowed: readonly T[], problems: string[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) problems.push(`${what} must be one of ${allowed.join(', ')}`);
  return found ?? (allowed[0] as T);
}

/** A date, with or without a time; without a zone it is UTC, like the time stamps of the logs. */
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

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function readSince(value: string | undefined, now: Millis, problems: string[]): Millis | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(value ?? '') ?? [];
  if (count === undefined) return readTime('--since', value, problems);
  return now - Number(count) * units[unit as keyof typeof units];
}

function readZone(value: string | undefined, problems: string[]): ToInstant {
  try {
    if (value !== undefined) return zoneTime(value);
  } catch {
    problems.push(`--time-zone ${value}: is no time zone; try Europe/Berlin, UTC or +02:00`);
  }
  return Date.UTC;
}
