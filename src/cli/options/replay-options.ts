import type { Command } from 'commander';
import * as z from 'zod/mini';
import { optionName } from '../../agent/config/settings.ts';
import { auditPeersChoices, prefix } from '../../agent/config/values.ts';
import { isSubdomain } from '../../base/platform/api-names.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { Verdict } from '../../base/model/packet.ts';
import type { ToInstant } from '../../base/log-formats/rfc3339.ts';
import { zoneTime } from '../../read/sources/reading.ts';
import { namespaceName } from './cluster-options.ts';
import { createCommand, durationOf, stdinProblems } from './command.ts';
import {
  checked,
  converted,
  optionsOf,
  type OptionTable,
  type OptionValues,
  readOptions,
  wholeNumber,
} from './option-table.ts';

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
  pods: readonly string[];
  /** Files of saved policies, and of the objects that policies select by labels. */
  policies: readonly string[];
  logs: readonly string[];
  output: OutputFormat;
  /** `auto`: colours on a terminal, if NO_COLOR is not set. */
  color: (typeof colors)[number];
  namespace: string | undefined;
  pod: string | undefined;
  since: Millis | undefined;
  writes: boolean;
  explain: string | undefined;
  node: string | undefined;
  prefixes: readonly { prefix: string; verdict: Verdict }[];
  includeNoise: boolean;
  /** The time from which ages count. A time stamp without a year is not later than this. */
  now: Millis | undefined;
  /** Of stamps without one; undefined if the user has not set it. */
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
    options: [
      ...optionsOf(input, 'What to read'),
      ...optionsOf(shown, 'What to show'),
      ...optionsOf(privacy, 'Privacy of audit rows (docs/audit.md)'),
    ],
    exits: [
      'all input was read',
      'some input could not be read, or the saved objects are of another cluster; the rest was processed',
      'the command line is wrong, or a file of --pods or --policies is invalid',
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

/** Without a zone, a time is in UTC, even if `--time-zone` names another zone for the logs. */
const timeFormat = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

function timeOf(text: string): Millis | undefined {
  const found = timeFormat.exec(text);
  const time = found ? Date.parse(text.length > 10 && found[1] === undefined ? `${text}Z` : text) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

const mustBeTime = 'must be a time such as 2026-11-21T03:42:11Z';
const time = converted(timeOf, mustBeTime);

/** A function of the time before which a duration counts. */
function startOf(text: string): ((now: Millis) => Millis) | undefined {
  const [duration, start] = [durationOf(text), timeOf(text)];
  if (duration !== undefined) return (now) => now - duration;
  return start === undefined ? undefined : () => start;
}

function zoneOf(text: string): ToInstant | undefined {
  try {
    return zoneTime(text);
  } catch {
    return undefined;
  }
}

/** The name of a Node, as logs write it. */
const hostName = checked((text) => isSubdomain(text.toLowerCase()), 'is not the name of a Node');

const input = {
  pods: {
    value: 'FILE',
    help: 'file with saved objects, JSON or YAML. Without it, no Pod gets an Event. If it has network policies, Events say which one denied the packet, and at which clause (docs/why.md)',
    list: true,
  },
  policies: { value: 'FILE', help: 'file with more network policies, JSON or YAML', list: true },
  node: { value: 'NAME', help: 'node of the logs. Default: the host name in each line', schema: hostName },
  prefixes: {
    flag: 'prefix',
    value: 'NAME=VERDICT',
    help: 'what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted; =VERDICT is for lines without a prefix. Takes precedence over the built-in meanings',
    list: true,
    schema: prefix,
  },
  zone: {
    flag: 'time-zone',
    value: 'ZONE',
    help: 'zone of time stamps without one, for example Europe/Berlin. Default: UTC',
    schema: converted(zoneOf, 'is not a time zone; try Europe/Berlin, UTC or +02:00'),
  },
  bootTime: {
    value: 'TIME',
    help: 'when the node booted, for logs that have only uptimes. Default: guessed from the age of the file',
    schema: time,
  },
  includeNoise: { help: 'also make Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery' },
  since: {
    value: 'TIME',
    help: 'count only lines logged since then: a time, or 30m, 2h, 3d before now (or --now)',
    schema: converted(startOf, `${mustBeTime}, or 30m, 2h, 3d`),
  },
} as const satisfies OptionTable;

const shown = {
  namespace: { short: 'n', value: 'NAME', help: 'only objects of this Namespace', schema: namespaceName },
  pod: {
    value: 'NAME',
    help: 'only Pods of this name',
    schema: checked((text) => !text.includes('/'), 'must be a name; --namespace names its Namespace').check(
      z.refine((text) => text !== '', { error: 'has no value' }),
    ),
  },
  output: { short: 'o', value: 'FORMAT', help: formats, choices: outputs },
  color: { value: 'WHEN', help: 'colour the table: auto (default), always or never', choices: colors },
  writes: { help: 'show each write to the API server, with its time' },
  explain: { value: 'LINE', help: 'explain how this log line is understood, step by step (no LOG needed)' },
  now: { value: 'TIME', help: 'time from which ages count. Default: the last write', schema: time },
  quiet: { short: 'q', help: 'no summary, no progress' },
} as const satisfies OptionTable;

const privacy = {
  auditPeers: {
    value: 'HOW',
    help: 'redacted: between two Namespaces, name only the end whose policy dropped the packet; with --namespace, name only that Namespace. Default: shown',
    choices: auditPeersChoices,
  },
  auditIpv4Prefix: {
    value: 'BITS',
    help: 'truncate IPv4 addresses to this prefix length. Default: 32',
    schema: wholeNumber(0, 32),
  },
  auditIpv6Prefix: {
    value: 'BITS',
    help: 'truncate IPv6 addresses to this prefix length. Default: 128',
    schema: wholeNumber(0, 128),
  },
  auditOptOut: {
    value: 'true',
    help: 'do not name Namespaces with the label kube-netfilter-tailer/audit=redacted',
    choices: ['true', 'false'],
  },
} as const satisfies OptionTable;

/** `isTerminal`: whether standard output is a terminal. Throws a `UsageError` that lists all that is wrong. */
export function readReplayOptions(
  command: Command,
  { isTerminal = false, clock = Date.now() }: { isTerminal?: boolean; clock?: Millis } = {},
): ReplayOptions {
  return readOptions(command, { ...input, ...shown, ...privacy }, (values, problems) => {
    const { auditPeers, auditIpv4Prefix, auditIpv6Prefix, auditOptOut, ...given } = values;
    const { output = 'table', color = 'auto', since, now } = given;
    const options: ReplayOptions = {
      ...given,
      logs: command.args,
      output,
      color,
      since: since?.(now ?? clock),
      privacy: {
        peers: auditPeers ?? 'shown',
        bits: { ipv4: auditIpv4Prefix ?? 32, ipv6: auditIpv6Prefix ?? 128 },
        optOut: auditOptOut === 'true',
      },
    };
    problems.push(...combinationProblems(options, values, isTerminal));
    return options;
  });
}

function combinationProblems(
  { logs, pods, policies, explain, output, writes }: ReplayOptions,
  values: OptionValues<typeof privacy>,
  isTerminal: boolean,
): string[] {
  const problems: string[] = [];
  if (logs.length === 0 && explain === undefined) problems.push('no LOG is named; - reads standard input');
  if (logs.length > 0 && explain !== undefined) problems.push('--explain takes one line and no LOG');
  if (writes && output !== 'table' && output !== 'json')
    problems.push(`--writes and --output ${output} exclude each other`);
  for (const key of Object.keys(privacy) as (keyof typeof privacy)[])
    if (output !== 'audit' && values[key] !== undefined) problems.push(`--${optionName(key)}: is for --output audit`);
  if (output === 'html' && isTerminal && explain === undefined)
    problems.push('--output html: write the page to a file (replay … > replay.html), or take --output table');
  return [...problems, ...stdinProblems([...logs, ...pods, ...policies])];
}
