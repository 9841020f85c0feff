import { causeOf } from '../../incidents/catalogue/catalogue.ts';
import type { Millis } from '../../model/log-line.ts';
import { alignColumns } from '../../events/describe.ts';
import { isKernelMessage } from '../../parsing/netfilter/prefixes.ts';
import { printable } from '../../platform/printable.ts';
import type { Statistics } from '../../pipeline/statistics.ts';
import type { ReadTotals } from './read-log.ts';

export interface RunTotals extends ReadTotals {
  /** What is wrong with `--node`. */
  unknownNode: string | undefined;
  events: number;
  incidents: number;
  /** Attempts of programs that failed and made no incident, by the code of the cause. */
  unrepeated: Readonly<Record<string, number>>;
  packetsPastLimits: { uncounted: number; overflowed: number };
  now: Millis | undefined;
}

/** What was read and what became of it, for a person. */
export function summarise(statistics: Statistics, totals: RunTotals): string {
  const { verdicts } = statistics;
  const drops = verdicts.dropped + verdicts.rejected;
  const rows: [string, string][] = [
    [
      'lines',
      `${number(totals.lines)} in ${totals.files} ${totals.files === 1 ? 'file' : 'files'}, ${bytes(totals.bytes)}${totals.files > 0 && totals.lines === 0 ? "; whoever reads the kernel's log needs root, or the group adm or systemd-journal" : ''}`,
    ],
    [
      'drops',
      `${number(drops)}${details([
        [verdicts.rejected, 'rejected'],
        [statistics.noise, 'link-local chatter, no Event (--include-noise)'],
      ])}${totals.lines > 0 && isSilent(statistics) ? '; no LOG rule, no line: docs/logging.md tells how to turn the logging on' : ''}`,
    ],
    [
      '  of Pods',
      `${number(statistics.withPods)}${statistics.withoutPods > 0 ? `, and ${number(statistics.withoutPods)} with no known Pod at either end` : ''}`,
    ],
  ];
  if (verdicts.logged + verdicts.accepted > 0) {
    rows.push([
      'not drops',
      `${number(verdicts.logged)} only logged, ${number(verdicts.accepted)} accepted${prefixHint(statistics)}`,
    ]);
  }
  const kernel: [number, string][] = [
    [statistics.conntrackFull, 'conntrack table full'],
    [statistics.neighbourOverflow, 'neighbour table overflow'],
    [statistics.martian, 'martian'],
  ];
  if (kernel.some(([count]) => count > 0)) rows.push(['kernel', listed(kernel)]);
  if (statistics.programRecords > 0)
    rows.push(['programs', `${number(statistics.programRecords)} records of kube-proxy and calico-node`]);
  if (totals.incidents > 0)
    rows.push(['incidents', `${number(totals.incidents)}; what failed once and not again is none`]);
  rows.push(...unrepeatedRows(totals.unrepeated));
  if (statistics.suppressed > 0)
    rows.push([
      'suppressed',
      `${number(statistics.suppressed)} log lines never written: counts near them are lower bounds`,
    ]);
  rows.push(['unparsable', number(statistics.unparsable)]);
  for (const [reason, { count, place }] of [...statistics.unparsableReasons].slice(0, 5))
    rows.push(['', `${place}: ${reason}${count > 1 ? ` (and ${number(count - 1)} more)` : ''}`]);
  if (statistics.unparsableReasons.size > 5) rows.push(['', `… ${statistics.unparsableReasons.size - 5} more reasons`]);
  rows.push(['unresolved', unresolved(statistics)]);
  if (totals.tooLong > 0) rows.push(['too long', `${number(totals.tooLong)} lines over 64 KiB, skipped`]);
  if (statistics.notKernel > 0)
    rows.push([
      'refused',
      `${number(statistics.notKernel)} lines that look like the kernel's or a policy logger's but come from another program`,
    ]);
  if (statistics.nodeUnknown > 0)
    rows.push(['no node', `${number(statistics.nodeUnknown)} lines about a node that nothing names: use --node`]);
  if (totals.unknownNode !== undefined) rows.push(['node', totals.unknownNode]);
  if (totals.guessedTimes > 0)
    rows.push([
      'time',
      `${number(totals.guessedTimes)} lines have no wall-clock time: it was inferred (--boot-time, --now)`,
    ]);
  const { uncounted, overflowed } = totals.packetsPastLimits;
  if (overflowed + uncounted > 0)
    rows.push([
      'joined',
      `${number(overflowed)} counts past the 8 Events that an object gets in an hour${uncounted > 0 ? `; ${number(uncounted)} past the memory limit` : ''}`,
    ]);
  rows.push([
    'Events',
    `${number(totals.events)}${totals.now === undefined ? '' : `; ages as of ${new Date(totals.now).toISOString().slice(0, 19)}Z`}`,
  ]);
  return `${alignColumns(rows.map((row) => row.map(printable))).join('\n')}\n`;
}

/** A failure that is seen once is no incident, but the user who looks for it must find it. */
function unrepeatedRows(unrepeated: RunTotals['unrepeated']): [string, string][] {
  return Object.entries(unrepeated).map(([code, count], i) => [
    i === 0 ? 'failures' : '',
    `${code} ${number(count)}, part of no incident: no Event (${causeOf(code).title}: docs/causes/${code}-${causeOf(code).name}.md)`,
  ]);
}

function prefixHint({ loggedPrefixes }: Statistics): string {
  const [most] = [...loggedPrefixes]
    .filter(([prefix]) => prefix !== '' && !prefix.startsWith('TRACE') && !isKernelMessage(prefix))
    .toSorted((a, b) => b[1] - a[1]);
  if (most === undefined) return '';
  const [word = ''] = most[0].split(/[\s:]/, 1);
  // Anybody may have written it, and it is to be copied to a shell.
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

function details(parts: [number, string][]): string {
  const text = listed(parts);
  return text === '' ? '' : `, of these ${text}`;
}

function listed(parts: [number, string][]): string {
  return parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${number(count)} ${what}`)
    .join(', ');
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function bytes(value: number): string {
  if (value < 10_000) return `${value} bytes`;
  return value < 10_000_000 ? `${number(Math.round(value / 1000))} KB` : `${number(Math.round(value / 1_000_000))} MB`;
}

/** Not a word of a packet, a full table or a program that fails. */
function isSilent(statistics: Statistics): boolean {
  const { verdicts, programRecords, conntrackFull, neighbourOverflow, martian, unparsable, notKernel } = statistics;
  const packets = verdicts.dropped + verdicts.rejected + verdicts.logged + verdicts.accepted;
  return packets + programRecords + conntrackFull + neighbourOverflow + martian + unparsable + notKernel === 0;
}
