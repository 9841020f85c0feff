/** Writes the summary at the end of `replay`, and warns if logs, saved objects and `--node` do not belong together. */
import { documentAt } from '../../agent/config/docs-url.ts';
import { didYouMean } from '../../agent/config/suggest.ts';
import { alignColumns } from '../describe.ts';
import { causeOf } from '../../explain/incidents/incidents.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { decodeBytes, isKernelMessage } from '../../read/parsing/parsing.ts';
import type { Statistics } from '../../count/pipeline/pipeline.ts';
import { printable } from '../../base/platform/printable.ts';
import { type ClusterObjects, type EndpointFinder, shorten } from '../../explain/resolving/resolving.ts';
import type { ReplayOptions } from '../options/replay-options.ts';
import type { ReadTotals } from './log-target.ts';

export interface RunTotals extends ReadTotals {
  unknownNode: string | undefined;
  events: number;
  incidents: number;
  /** Single failures of programs, which opened no incident, by the code of the cause. */
  unrepeated: Readonly<Record<string, number>>;
  packetsPastLimits: { uncounted: number; overflowed: number };
  now: Millis | undefined;
}

export function summarise(statistics: Statistics, totals: RunTotals): string {
  const { verdicts } = statistics;
  const others = statistics.withoutPods;
  const { uncounted, overflowed } = totals.packetsPastLimits;
  const ages = totals.now === undefined ? '' : `; ages as of ${new Date(totals.now).toISOString().slice(0, 19)}Z`;
  const rows: [string, string | undefined][] = [
    ['lines', linesRead(totals)],
    ['earlier', some(totals.earlier, 'records logged before --since, not counted')],
    ['drops', number(verdicts.dropped + verdicts.rejected) + dropDetails(statistics, totals)],
    [
      '  of Pods',
      number(statistics.withPods) + (others > 0 ? `, and ${number(others)} with no known Pod at either end` : ''),
    ],
    ['not drops', notDrops(statistics)],
    ['connections', failures(statistics)],
    [
      'kernel',
      listed([
        [statistics.conntrackFull, 'conntrack table full'],
        [statistics.neighbourOverflow, 'neighbour table overflow'],
        [statistics.ipvsNoDestination, 'IPVS without destination'],
        [statistics.martian, 'martian'],
      ]),
    ],
    [
      'programs',
      some(statistics.programRecords, 'records of kube-proxy and calico-node', 'record of kube-proxy and calico-node'),
    ],
    ['incidents', totals.incidents > 0 ? `${number(totals.incidents)} (single failures are not counted)` : undefined],
    ...unrepeatedRows(totals.unrepeated),
    [
      'suppressed',
      some(
        statistics.suppressed,
        'log lines never written: counts near them are lower bounds',
        'log line never written: counts near it are lower bounds',
      ),
    ],
    ['unparsable', number(statistics.unparsable)],
    ...unparsableRows(statistics),
    ['unresolved', unresolved(statistics)],
    ...unreadRows(totals),
    ['too long', some(totals.tooLong, 'lines over 64 KiB, skipped', 'line over 64 KiB, skipped')],
    [
      'refused',
      some(
        statistics.notKernel,
        "lines that look like the kernel's or a policy logger's but come from another program",
        "line that looks like the kernel's or a policy logger's but comes from another program",
      ),
    ],
    [
      'no node',
      some(
        statistics.nodeUnknown,
        'lines about a node that nothing names: use --node',
        'line about a node that nothing names: use --node',
      ),
    ],
    ['node', totals.unknownNode],
    [
      'time',
      some(
        totals.guessedTimes,
        'lines have no wall-clock time: it was inferred (--boot-time, --now)',
        'line has no wall-clock time: it was inferred (--boot-time, --now)',
      ),
    ],
    [
      'joined',
      overflowed + uncounted > 0
        ? `${number(overflowed)} packets beyond 8 Events per object per hour, 3 of them per peer${uncounted > 0 ? `; ${number(uncounted)} past the memory limit` : ''}`
        : undefined,
    ],
    ['Events', number(totals.events) + ages],
  ];
  const shown = rows.flatMap(([key, value]) => (value === undefined ? [] : [[key, printable(value)]]));
  return `${alignColumns(shown).join('\n')}\n`;
}

function linesRead({ lines, files, bytes }: RunTotals): string {
  const hint = "; reading the kernel's log needs root, or the group adm or systemd-journal";
  return `${number(lines)} in ${files} ${files === 1 ? 'file' : 'files'}, ${size(bytes)}${files > 0 && lines === 0 ? hint : ''}`;
}

function dropDetails(statistics: Statistics, { lines, earlier, unread }: RunTotals): string {
  const parts = listed([
    [statistics.verdicts.rejected, 'rejected'],
    [statistics.noise, 'link-local chatter, no Event (--include-noise)'],
  ]);
  const hint = `; without a LOG rule nothing is logged: see ${documentAt('docs/logging.md')}`;
  return (
    (parts === undefined ? '' : `, of these ${parts}`) +
    (lines > 0 && earlier === 0 && unread.size === 0 && isSilent(statistics) ? hint : '')
  );
}

function notDrops(statistics: Statistics): string | undefined {
  const { logged, accepted } = statistics.verdicts;
  if (logged + accepted === 0) return undefined;
  return `${number(logged)} only logged, ${number(accepted)} accepted${prefixHint(statistics)}`;
}

function failures({ failures: { denied, ...others } }: Statistics): string | undefined {
  const rest = Object.values(others).reduce((sum, each) => sum + each, 0);
  if (denied + rest === 0) return undefined;
  return `${number(denied + rest)} failed without an answer; policies deny ${number(denied)}, which count as drops`;
}

/** Lists failures that were seen once: they are not incidents, but a user may look for them. */
function unrepeatedRows(unrepeated: RunTotals['unrepeated']): [string, string][] {
  return Object.entries(unrepeated).map(([code, count], i) => [
    i === 0 ? 'failures' : '',
    `${code} ${number(count)}, part of no incident: no Event (${causeOf(code).title}: ${documentAt(`docs/causes/${code}-${causeOf(code).name}.md`)})`,
  ]);
}

function unparsableRows({ unparsableReasons: reasons }: Statistics): [string, string][] {
  const rows = [...reasons]
    .slice(0, 5)
    .map(([reason, { count, place }]): [string, string] => [
      '',
      `${place}: ${reason}${count > 1 ? ` (and ${number(count - 1)} more)` : ''}`,
    ]);
  return reasons.size > 5 ? [...rows, ['', `… ${reasons.size - 5} more reasons`]] : rows;
}

/** Says why lines about packets were not read. */
function unreadRows({ unread }: RunTotals): [string, string][] {
  return [...unread.values()].flatMap(({ name, advice, count, place, example }, i): [string, string][] => [
    [i === 0 ? 'not read' : '', `${number(count)} ${count === 1 ? 'line has' : 'lines have'} ${name}: ${advice}`],
    ['', `${place}: ${decodeBytes(example)}`],
  ]);
}

function prefixHint({ loggedPrefixes }: Statistics): string {
  const [most] = [...loggedPrefixes]
    .filter(([prefix]) => prefix !== '' && !prefix.startsWith('TRACE') && !isKernelMessage(prefix))
    .toSorted((a, b) => b[1] - a[1]);
  if (most === undefined) return '';
  const [word = ''] = most[0].split(/[\s:]/, 1);
  // The user copies this option to a shell, and a stranger may have written the word, so words with other characters are left out.
  const option = /^[\w.-]+$/.test(word) ? `--prefix '${word}=dropped'` : '--prefix';
  return ` (most: "${most[0]}"; if its rule stands before a drop: ${option})`;
}

function unresolved({ unresolved: addresses }: Statistics): string {
  const top = [...addresses].toSorted((a, b) => b[1] - a[1]);
  if (top.length === 0) return '0';
  const shown = top
    .slice(0, 3)
    .map(([address, count]) => `${address} (${number(count)})`)
    .join(', ');
  return `${top.length} ${top.length === 1 ? 'address' : 'addresses'} no Pod had at the time: ${shown}${top.length > 3 ? ', …' : ''}`;
}

/** `ofOne`: the text of a single one. */
function some(count: number, what: string, ofOne = what): string | undefined {
  return count > 0 ? `${number(count)} ${count === 1 ? ofOne : what}` : undefined;
}

function listed(parts: [number, string][]): string | undefined {
  return parts.flatMap(([count, what]) => some(count, what) ?? []).join(', ') || undefined;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function size(value: number): string {
  if (value < 10_000) return `${value} bytes`;
  return value < 10_000_000 ? `${number(Math.round(value / 1000))} KB` : `${number(Math.round(value / 1_000_000))} MB`;
}

/** Returns whether the logs contain no packets and no records. */
function isSilent(statistics: Statistics): boolean {
  const {
    verdicts,
    programRecords,
    conntrackFull,
    neighbourOverflow,
    ipvsNoDestination,
    martian,
    unparsable,
    notKernel,
    failures: { unproven, told, foreign, overflowed },
  } = statistics;
  const packets = verdicts.dropped + verdicts.rejected + verdicts.logged + verdicts.accepted;
  return (
    packets +
      programRecords +
      conntrackFull +
      neighbourOverflow +
      ipvsNoDestination +
      martian +
      unparsable +
      notKernel +
      (unproven + told + foreign + overflowed) ===
    0
  );
}

const mostNames = 5;

export function unknownNode(
  { node }: Pick<ReplayOptions, 'node'>,
  { nodes, pods }: ClusterObjects,
  hosts: ReadonlySet<string>,
): string | undefined {
  const names = [...new Set([...nodes.map(({ name }) => name), ...pods.flatMap((pod) => pod.node ?? []), ...hosts])];
  if (node === undefined || names.length === 0) return undefined;
  const all = [...names, ...nodes.flatMap(({ hostNames }) => hostNames)].map((name) => name.toLowerCase());
  const known = new Set([...all, ...all.map(shorten)]);
  if (known.has(node.toLowerCase()) || known.has(shorten(node.toLowerCase()))) return undefined;
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : '';
  return `no object and no line knows ${node} (--node); they name ${names.slice(0, mostNames).join(', ')}${more}${didYouMean(node, names)}`;
}

export function otherCluster(
  { pods: files }: Pick<ReplayOptions, 'pods'>,
  { podCount }: Pick<EndpointFinder, 'podCount'>,
  { podInterfaces }: Pick<Statistics, 'podInterfaces'>,
): string | undefined {
  if (podCount === 0 || podInterfaces.seen === 0 || podInterfaces.known > 0) return undefined;
  return (
    `${files.join(', ')}: none of its Pods (${podCount}) owns any of the interfaces in the logs (${podInterfaces.seen} lines name one): ` +
    'it is of another cluster, or of another time. Addresses may be given to the wrong Pods.'
  );
}
