/** Lays out the table of `kubectl drops`. */
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { cell, type Paint } from '../terminal.ts';
import { type DropRow, none } from './drop-row.ts';
import { flowEndText } from './flow-end.ts';

const longestMessage = 1100;

interface TableColumn {
  readonly title: string;
  readonly text: (row: DropRow, now: Millis) => string;
  readonly right?: true;
}

const verdict: TableColumn = { title: 'VERDICT', text: (row) => cell(row.verdict) };
const policy: TableColumn = { title: 'POLICY', text: (row) => cell(row.policy) };
const ofEach: readonly TableColumn[] = [
  { title: 'FROM', text: ({ from }) => flowEndText(from) },
  { title: 'TO', text: ({ to }) => flowEndText(to) },
  { title: 'PORT', text: ({ port }) => cell(port) },
  { title: 'COUNT', text: ({ count }) => String(count), right: true },
  { title: 'LAST', text: ({ last }, now) => (last === undefined ? none : humanDuration(now - last)) },
  verdict,
];
const normal = [...ofEach, policy];
const wide = [
  ...ofEach,
  { title: 'NODE', text: ({ node }: DropRow) => cell(node) },
  policy,
  { title: 'MESSAGE', text: ({ message }: DropRow) => cell(message.trim(), longestMessage) },
];

export interface DropsTable {
  title(rows: readonly DropRow[], now: Millis): string;
  lines(rows: readonly DropRow[], now: Millis): string;
}

/**
 * Columns only grow, so that the lines of a watched table stay aligned. `width`: of the terminal, if there is one. Where the table is
 * wider, the policy stands in a line of its own below the row.
 */
export function createTable(isWide: boolean, paint: Paint, width = Infinity): DropsTable {
  let columns: readonly TableColumn[] = isWide ? wide : normal;
  const widths = columns.map(({ title }) => title.length);

  return {
    title(rows: readonly DropRow[], now: Millis): string {
      for (const row of rows) grow(row, now);
      const needed = widths.reduce((sum, each) => sum + each, 2 * (widths.length - 1));
      if (!isWide && needed > width) columns = ofEach;
      return lineOf(
        columns.map(({ title }) => title),
        (title) => paint('bold', title),
      );
    },
    lines(rows: readonly DropRow[], now: Millis): string {
      for (const row of rows) grow(row, now);
      return rows.map((row) => lineOfRow(row, now)).join('');
    },
  };

  function grow(row: DropRow, now: Millis): void {
    for (const [index, { text }] of columns.entries())
      widths[index] = Math.max(widths[index] ?? 0, widthOf(text(row, now)));
  }

  function lineOfRow(row: DropRow, now: Millis): string {
    const cells = columns.map(({ text }) => text(row, now));
    const line = lineOf(cells, (plain, column) => (column === verdict ? paint(colourOf(row), plain) : plain));
    return columns !== ofEach || row.policy === none ? line : `${line}    ${policy.text(row, now)}\n`;
  }

  function lineOf(cells: readonly string[], painted: (plain: string, column: TableColumn) => string): string {
    const padded = columns.map((column, index) => {
      const plain = cells[index] ?? '';
      const space = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(plain)));
      const shown = painted(plain, column);
      if (column.right) return space + shown;
      return index === columns.length - 1 ? shown : shown + space;
    });
    return `${padded.join('  ')}\n`;
  }
}

function colourOf({ verdict: word }: DropRow): 'red' | 'yellow' | 'magenta' {
  if (word === 'dropped') return 'red';
  return word === 'rejected' ? 'yellow' : 'magenta';
}

function widthOf(plain: string): number {
  return Array.from(plain).length;
}
