/** `kubectl drops`: the packets that Pods lost, from the Events of the agents, as a table or as objects. Control characters are shown, not sent to a terminal. */
import { dump } from 'js-yaml';
import { RefusedError } from '../../kubernetes/kubernetes.ts';
import type { Millis } from '../../model/log-line.ts';
import { humanDuration } from '../../platform/duration.ts';
import { at, type Json } from '../../platform/json.ts';
import { printable, printableJson } from '../../platform/printable.ts';
import type { DropsFormat, DropsOptions } from '../options/drops-options.ts';
import { cell, type Paint, paintTerminal, type Streams } from '../terminal.ts';
import { AccessError, connectAsUser, listDrops, type Listed, type Wanted, watchDrops } from './events.ts';
import { type DropRow, rowOf } from './row.ts';
import { selectedPods } from './selected-pods.ts';

/** `program`: what the user typed, for messages. Resolves to the exit status; with `watch` only on an error. */
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
    if (output === 'table' || output === 'wide') await printTable(wanted, listed, streams, paint);
    else {
      if (!options.watch || listed.events.length > 0) streams.out(printList(listed.events, output));
      if (options.watch) for await (const event of watchDrops(wanted, listed)) streams.out(printOne(event, output));
    }
    return 0;
  });
}

/** Runs a part of `drops`. Errors of the API server and of the kubeconfig are one line. */
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
  wanted: Wanted,
  listed: Listed,
  { out, err }: Pick<Streams, 'out' | 'err'>,
  paint: Paint,
): Promise<void> {
  const { options } = wanted;
  const table = createTable(options.output === 'wide', paint);
  let hasTitle = listed.events.length > 0;
  if (hasTitle) out(table.title(listed.events, Date.now()) + table.lines(listed.events, Date.now()));
  else err(nothing(wanted));
  if (!options.watch) return;
  for await (const event of watchDrops(wanted, listed)) {
    if (!hasTitle) out(table.title([event], Date.now()));
    hasTitle = true;
    out(table.lines([event], Date.now()));
  }
}

/** An empty list may also mean that nothing is logged or read. */
function nothing({ options, namespace }: Wanted): string {
  const wider = options.allNamespaces ? '' : '; -A looks into all namespaces';
  return (
    `No lost packets are known ${namespace === undefined ? 'in this cluster' : `in namespace ${namespace}`}. An Event is kept for an hour after it was last written${wider}.\n` +
    'Are they logged, and read? kubectl exec -n kube-netfilter-tailer ds/kube-netfilter-tailer -- kube-netfilter-tailer doctor\n'
  );
}

const longestMessage = 1100;

const header = ['FROM', 'TO', 'PORT', 'COUNT', 'LAST', 'VERDICT'];
const wideHeader = [...header, 'NODE', 'POLICY', 'MESSAGE'];
const count = 3;
const verdict = 5;

/** Columns grow with what is printed, so that a table that is watched stays one. */
export function createTable(isWide: boolean, paint: Paint) {
  const titles = isWide ? wideHeader : header;
  const widths = titles.map((title) => title.length);

  return {
    title(events: readonly Json[], now: Millis): string {
      for (const event of events) grow(cellsOf(rowOf(event), isWide, now));
      return lineOf(titles, (text) => paint('bold', text));
    },
    lines(events: readonly Json[], now: Millis): string {
      const rows = events.map(rowOf).map((row) => ({ row, cells: cellsOf(row, isWide, now) }));
      for (const { cells } of rows) grow(cells);
      const lines = rows.map(({ row, cells }) =>
        lineOf(cells, (text, column) => (column === verdict ? paint(colourOf(row), text) : text)),
      );
      return lines.join('');
    },
  };

  function grow(cells: readonly string[]): void {
    for (const [column, text] of cells.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(text));
  }

  function lineOf(cells: readonly string[], painted: (text: string, column: number) => string): string {
    const padded = cells.map((plain, column) => {
      const space = ' '.repeat((widths[column] ?? 0) - widthOf(plain));
      const text = painted(plain, column);
      if (column === count) return space + text;
      return column === cells.length - 1 ? text : text + space;
    });
    return `${padded.join('  ')}\n`;
  }
}

function cellsOf(row: DropRow, isWide: boolean, now: Millis): string[] {
  const age = row.last === undefined ? '-' : humanDuration(now - row.last);
  const own = [row.from, row.to, row.port, String(row.count), age, row.verdict].map((text) => cell(text));
  return isWide ? [...own, cell(row.node), cell(row.policy), cell(row.message.trim(), longestMessage)] : own;
}

function colourOf({ verdict: word }: DropRow): 'red' | 'yellow' | 'magenta' {
  if (word === 'dropped') return 'red';
  return word === 'rejected' ? 'yellow' : 'magenta';
}

function widthOf(text: string): number {
  let width = 0;
  for (const _ of text) width++;
  return width;
}

export function printList(events: readonly Json[], format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return events.map(nameLine).join('');
  const all = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: events };
  return format === 'json' ? `${printableJson(JSON.stringify(all, undefined, 4))}\n` : printableYaml(all);
}

export function printOne(event: Json, format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return nameLine(event);
  return format === 'json' ? `${printableJson(JSON.stringify(event))}\n` : `---\n${printableYaml(event)}`;
}

function nameLine(event: Json): string {
  return `event/${printable(String(at(event, 'metadata', 'name')))}\n`;
}

/** Prints as JSON what has a character that a terminal must not get: JSON is YAML, too, and can escape any character. */
function printableYaml(value: Json): string {
  const plain = dump(value, { lineWidth: -1 });
  if (!/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(plain)) return plain;
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}
