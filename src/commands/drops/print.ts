/** Rows as a table, and Events as kubectl prints objects. Control characters are shown, not sent to a terminal. */
import { dump } from 'js-yaml';
import type { Millis } from '../../model/log-line.ts';
import { humanDuration } from '../../platform/duration.ts';
import { at, type Json } from '../../platform/json.ts';
import { printable, printableJson } from '../../platform/printable.ts';
import type { DropsFormat } from '../options/drops-options.ts';
import { cell, type Paint } from '../terminal.ts';
import { type DropRow, rowOf } from './row.ts';

/** In bytes. */
const longestMessage = 1100;

const header = ['FROM', 'TO', 'PORT', 'COUNT', 'LAST', 'VERDICT'];
const wideHeader = [...header, 'NODE', 'POLICY', 'MESSAGE'];
const count = 3;
const verdict = 5;

export interface Table {
  /** Lines for rows; columns keep the widths of all that was shown. */
  readonly lines: (events: readonly Json[], now: Millis) => string;
  readonly title: (events: readonly Json[], now: Millis) => string;
}

export function createTable(isWide: boolean, paint: Paint): Table {
  const titles = isWide ? wideHeader : header;
  const widths = titles.map((title) => title.length);

  function cellsOf(row: DropRow, now: Millis): string[] {
    const { from, to, port, last } = row;
    const age = last === undefined ? '-' : humanDuration(now - last);
    const own = [from, to, port, String(row.count), age, row.verdict];
    return [...own, ...(isWide ? [row.node, row.policy, row.message.trim()] : [])].map((text, column) =>
      cell(text, column === wideHeader.length - 1 ? longestMessage : undefined),
    );
  }

  function grown(events: readonly Json[], now: Millis): { row: DropRow; cells: string[] }[] {
    const rows = events.map(rowOf).map((row) => ({ row, cells: cellsOf(row, now) }));
    for (const { cells } of rows)
      for (const [column, text] of cells.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(text));
    return rows;
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

  return {
    title(events, now) {
      grown(events, now);
      return lineOf(titles, (text) => paint('bold', text));
    },
    lines: (events, now) =>
      grown(events, now)
        .map(({ row, cells }) =>
          lineOf(cells, (text, column) => (column === verdict ? paint(colourOf(row), text) : text)),
        )
        .join(''),
  };
}

function colourOf({ verdict: word }: DropRow): 'red' | 'yellow' | 'magenta' {
  if (word === 'dropped') return 'red';
  return word === 'rejected' ? 'yellow' : 'magenta';
}

/** In code points. */
function widthOf(text: string): number {
  let width = 0;
  for (const _ of text) width++;
  return width;
}

/** All Events at once, as `kubectl get` prints them. */
export function printList(events: readonly Json[], format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return events.map(nameLine).join('');
  const all = { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items: events };
  return format === 'json' ? `${printableJson(JSON.stringify(all, undefined, 4))}\n` : printableYaml(all);
}

/** One Event of a watch. */
export function printOne(event: Json, format: Exclude<DropsFormat, 'table' | 'wide'>): string {
  if (format === 'name') return nameLine(event);
  return format === 'json' ? `${printableJson(JSON.stringify(event))}\n` : `---\n${printableYaml(event)}`;
}

function nameLine(event: Json): string {
  return `event/${printable(String(at(event, 'metadata', 'name')))}\n`;
}

/** Where a text has a character that a terminal must not get, as JSON, which is YAML too: there any character can be escaped. */
function printableYaml(value: Json): string {
  const plain = dump(value, { lineWidth: -1 });
  if (!/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(plain)) return plain;
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}
