/** `kubectl drops`: prints what Pods lost, from the Events of the agents. A stranger may have written any text of an Event. */
import { dump } from 'js-yaml';
import {
  AccessError,
  connectAsUser,
  type EventList,
  type EventQuery,
  lastOf,
  listDrops,
  nodeOf,
  watchDrops,
} from './events.ts';
import { selectedPods } from './selected-pods.ts';
import type { DropsFormat, DropsOptions } from '../options/drops-options.ts';
import { cell, jsonText, type Paint, paintTerminal, type Streams, endText } from '../terminal.ts';
import { icmpName } from '../../explain/drops/drops.ts';
import { annotationPrefix, annotationSchema } from '../../publish/events/events.ts';
import { RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { at, type Json, text } from '../../base/platform/json.ts';
import { printable } from '../../base/platform/printable.ts';

/** `program`: what the user typed, for messages. Resolves to the exit status; with `--watch` only on an error. */
export async function drops(
  options: DropsOptions,
  program: string,
  streams: Pick<Streams, 'out' | 'err'>,
  paint: Paint = paintTerminal,
): Promise<0 | 1 | 2> {
  return await withStatus(program, streams, async () => {
    const cluster = connectAsUser(options);
    const wanted = { ...cluster, options, isSelected: await selectedPods(cluster, options) };
    const listed = await listDrops(wanted);
    const { output } = options;
    const watched = watchDrops(wanted, listed, (line) => streams.err(`${program}: ${line}\n`));
    if (output === 'table' || output === 'wide') await printTable(wanted, { listed, watched }, streams, paint);
    else {
      if (!options.watch || listed.events.length > 0) streams.out(printList(listed.events, output));
      if (options.watch) for await (const event of watched) streams.out(printOne(event, output));
    }
    return 0;
  });
}

/** An error of the API server (exit status 1) or of the kubeconfig (2) is printed as one line. */
export async function withStatus<T extends number>(
  program: string,
  { err }: Pick<Streams, 'err'>,
  command: () => Promise<T>,
): Promise<T | 1 | 2> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof RefusedError) && !(error instanceof AccessError)) throw error;
    err(`${program}: ${printable(error.message)}\n`);
    return error instanceof AccessError ? 2 : 1;
  }
}

async function printTable(
  wanted: EventQuery,
  { listed, watched }: { listed: EventList; watched: AsyncIterable<Json> },
  { out, err }: Pick<Streams, 'out' | 'err'>,
  paint: Paint,
): Promise<void> {
  const { options } = wanted;
  const table = createTable(options.output === 'wide', paint);
  let hasTitle = listed.events.length > 0;
  if (hasTitle) out(table.title(listed.events, Date.now()) + table.lines(listed.events, Date.now()));
  else err(nothing(wanted));
  if (!options.watch) return;
  for await (const event of watched) {
    if (!hasTitle) out(table.title([event], Date.now()));
    hasTitle = true;
    out(table.lines([event], Date.now()));
  }
}

function nothing({ options, namespace }: EventQuery): string {
  const wider = options.allNamespaces ? '' : '; -A looks into all namespaces';
  return (
    `No lost packets are known ${namespace === undefined ? 'in this cluster' : `in namespace ${namespace}`}. An Event is kept for an hour after it was last written${wider}.\n` +
    'Are they logged, and read? kubectl exec -n kube-netfilter-tailer ds/kube-netfilter-tailer -- kube-netfilter-tailer doctor\n'
  );
}

const longestMessage = 1100;

const header = ['FROM', 'TO', 'PORT', 'COUNT', 'LAST', 'VERDICT'];
const wideHeader = [...header, 'NODE', 'POLICY', 'MESSAGE'];
const countColumn = 3;
const verdictColumn = 5;

export interface DropsTable {
  title(events: readonly Json[], now: Millis): string;
  lines(events: readonly Json[], now: Millis): string;
}

/** Columns only grow, so that the lines of a watched table stay aligned. */
export function createTable(isWide: boolean, paint: Paint): DropsTable {
  const titles = isWide ? wideHeader : header;
  const widths = titles.map((title) => title.length);

  return {
    title(events: readonly Json[], now: Millis): string {
      for (const event of events) grow(cellsOf(rowOf(event), isWide, now));
      return lineOf(titles, (title) => paint('bold', title));
    },
    lines(events: readonly Json[], now: Millis): string {
      const rows = events.map(rowOf).map((row) => ({ row, cells: cellsOf(row, isWide, now) }));
      for (const { cells } of rows) grow(cells);
      const lines = rows.map(({ row, cells }) =>
        lineOf(cells, (plain, column) => (column === verdictColumn ? paint(colourOf(row), plain) : plain)),
      );
      return lines.join('');
    },
  };

  function grow(cells: readonly string[]): void {
    for (const [column, plain] of cells.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(plain));
  }

  function lineOf(cells: readonly string[], painted: (plain: string, column: number) => string): string {
    const padded = cells.map((plain, column) => {
      const space = ' '.repeat((widths[column] ?? 0) - widthOf(plain));
      const shown = painted(plain, column);
      if (column === countColumn) return space + shown;
      return column === cells.length - 1 ? shown : shown + space;
    });
    return `${padded.join('  ')}\n`;
  }
}

function cellsOf(row: DropRow, isWide: boolean, now: Millis): string[] {
  const age = row.last === undefined ? '-' : humanDuration(now - row.last);
  const own = [row.from, row.to, row.port, String(row.count), age, row.verdict].map((value) => cell(value));
  return isWide ? [...own, cell(row.node), cell(row.policy), cell(row.message.trim(), longestMessage)] : own;
}

function colourOf({ verdict: word }: DropRow): 'red' | 'yellow' | 'magenta' {
  if (word === 'dropped') return 'red';
  return word === 'rejected' ? 'yellow' : 'magenta';
}

function widthOf(plain: string): number {
  return Array.from(plain).length;
}

function printList(events: readonly Json[], format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return events.map(nameLine).join('');
  const all = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: events };
  return format === 'json' ? jsonText(all, 4) : printableYaml(all);
}

function printOne(event: Json, format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return nameLine(event);
  return format === 'json' ? jsonText(event) : `---\n${printableYaml(event)}`;
}

function nameLine(event: Json): string {
  return `event/${printable(String(at(event, 'metadata', 'name')))}\n`;
}

/** Prints YAML, or JSON if a character must not reach a terminal: JSON is YAML, too, and can escape any character. */
function printableYaml(value: Json): string {
  const plain = dump(value, { lineWidth: -1 });
  if (!/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u.test(plain)) return plain;
  return jsonText(value, 2);
}

export interface DropRow {
  readonly from: string;
  readonly to: string;
  readonly port: string;
  readonly count: number;
  readonly last: Millis | undefined;
  readonly verdict: string;
  readonly node: string;
  readonly policy: string;
  readonly message: string;
}

const none = '-';

export function rowOf(event: Json): DropRow {
  const [kind, namespace, name] = ['kind', 'namespace', 'name'].map(
    (key) => text(at(event, 'involvedObject', key)) ?? '',
  );
  const own = endText(kind, namespace ? `${namespace}/${name}` : (name ?? ''));
  const of = annotationsIn(event);
  const peer = peerOf(of);
  const isSending = of('direction') === 'sending';
  const reason = text(at(event, 'reason')) ?? none;
  const count = at(event, 'count');
  return {
    from: isSending ? own : peer,
    to: isSending ? peer : own,
    port: portOf(of),
    count: typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 1,
    last: lastOf(event),
    verdict: of('verdict') === 'rejected' ? 'rejected' : reason === 'PacketDrop' ? 'dropped' : reason,
    node: nodeOf(event) ?? none,
    policy: policyOf(of('policy')),
    message: text(at(event, 'message')) ?? '',
  };
}

/** Finds no annotation if another version of this program wrote them. */
export function annotationsIn(event: Json): (key: string) => string | undefined {
  const annotations = at(event, 'metadata', 'annotations');
  const of = (key: string): string | undefined => text(at(annotations, annotationPrefix + key));
  return of('schema') === annotationSchema ? of : () => undefined;
}

function peerOf(of: (key: string) => string | undefined): string {
  const [peer, peers] = [of('peer'), of('peers')];
  if (peer === undefined) return peers === undefined ? none : `${peers} ${peers === '1' ? 'peer' : 'peers'}`;
  const [kind = '', ...name] = peer.split('/');
  // A peer that is not an object has a word in lower case instead of a kind: external, unknown.
  return endText(/^[A-Z]/.test(kind) ? kind : undefined, name.join('/'));
}

/** Returns the port and the protocol: `5432/TCP`, `ICMP echo request`, `SCTP`, `22/TCP,80/TCP`. */
function portOf(of: (key: string) => string | undefined): string {
  const [port, protocol, icmp, list] = [of('port'), of('protocol'), of('icmp'), of('port-list')];
  if (port !== undefined) return `${port}/${protocol ?? 'TCP'}`;
  if (list !== undefined) {
    const more = Number(of('ports')) - list.split(',').length;
    return more > 0 ? `${list},${more} more` : list;
  }
  const [, type, code] = /^(\d{1,3})\/(\d{1,3})$/.exec(icmp ?? '') ?? [];
  if (type === undefined || protocol === undefined) return protocol ?? none;
  return `${protocol} ${icmpName(protocol, Number(type), Number(code)).replace(/ \(.*/, '')}`;
}

function policyOf(annotation: string | undefined): string {
  const [kind = none, ...name] = annotation?.split('/') ?? [];
  return annotation !== undefined && name.length === 0 ? `policy ${kind}` : [kind, name.join('/')].join(' ').trim();
}
