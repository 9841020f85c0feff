/** Lays out the table of `kubectl drops`. */
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { cell, type Paint } from '../terminal.ts';
import { type DropRow, noValue } from './drop-row.ts';
import { flowEndText } from './flow-end.ts';

const longestMessage = 1100;

interface TableColumn {
  readonly title: string;
  readonly text: (row: DropRow, now: Millis) => string;
  readonly right?: true;
}

const to: TableColumn = { title: 'TO', text: (row) => flowEndText(row.to) };
const verdict: TableColumn = { title: 'VERDICT', text: (row) => cell(row.verdict) };
const policy: TableColumn = { title: 'POLICY', text: (row) => cell(row.policy) };
const ofEach: readonly TableColumn[] = [
  { title: 'FROM', text: ({ from }) => flowEndText(from) },
  to,
  { title: 'PORT', text: portText },
  { title: 'COUNT', text: ({ count }) => String(count), right: true },
  { title: 'LAST', text: ({ last }, now) => (last === undefined ? noValue : humanDuration(now - last)) },
  verdict,
];
const normal = [...ofEach, policy];
const wide = [
  ...ofEach,
  { title: 'NODE', text: ({ node }: DropRow) => cell(node) },
  policy,
  { title: 'MESSAGE', text: ({ message }: DropRow) => cell(message.trim(), longestMessage) },
];

/** The port is the receiver's, in a reply the sender's; an ICMP error is about packets to it. */
function portText({ port, ports, packet }: DropRow): string {
  const [first] = ports;
  const more = ports.length - 1 + Number(/,(\d+) more$/.exec(port)?.[1] ?? 0);
  const shown = first === undefined || port.length <= longestPorts ? port : `${first},${more} more`;
  const about = packet === undefined ? undefined : packets.get(packet);
  return cell(about === undefined ? shown : `${shown} (${about})`);
}

/** In characters: a longer list of ports would make the column wider for all rows. */
const longestPorts = 20;
const packets: ReadonlyMap<string, string> = new Map([
  ['reply', 'reply'],
  ['error', 'ICMP error'],
]);

export interface DropsTable {
  title(rows: readonly DropRow[], now: Millis): string;
  lines(rows: readonly DropRow[], now: Millis): string;
}

/**
 * Columns only grow, so that the lines of a watched table stay aligned. `width`: of the terminal, if there is one. If the table is wider,
 * the policy is in a line of its own below the row; if it is still wider, TO is there as well.
 */
export function createTable(isWide: boolean, paint: Paint, width = Infinity): DropsTable {
  let columns: readonly TableColumn[] = isWide ? wide : normal;
  const widths = columns.map(({ title }) => title.length);

  return {
    title(rows: readonly DropRow[], now: Millis): string {
      for (const row of rows) grow(row, now);
      if (!isWide && neededWidth() > width) leaveOut(policy);
      if (!isWide && neededWidth() > width) leaveOut(to);
      const title = lineOf(
        columns.map((column) => column.title),
        (plain) => paint('bold', plain),
      );
      return columns.includes(to) ? title : `${title}    ${paint('bold', '→ TO  POLICY')}\n`;
    },
    lines(rows: readonly DropRow[], now: Millis): string {
      for (const row of rows) grow(row, now);
      return rows.map((row) => lineOfRow(row, now)).join('');
    },
  };

  function neededWidth(): number {
    return widths.reduce((sum, each) => sum + each, 2 * (widths.length - 1));
  }

  function leaveOut(column: TableColumn): void {
    widths.splice(columns.indexOf(column), 1);
    columns = columns.filter((each) => each !== column);
  }

  function grow(row: DropRow, now: Millis): void {
    for (const [index, { text }] of columns.entries())
      widths[index] = Math.max(widths[index] ?? 0, widthOf(text(row, now)));
  }

  function lineOfRow(row: DropRow, now: Millis): string {
    const cells = columns.map(({ text }) => text(row, now));
    const line = lineOf(cells, (plain, column) => (column === verdict ? paint(colourOf(row), plain) : plain));
    const below = [
      ...(columns.includes(to) ? [] : [`→ ${to.text(row, now)}`]),
      ...(columns.includes(policy) || row.policy === noValue ? [] : [policy.text(row, now)]),
    ];
    return below.length === 0 ? line : `${line}    ${below.join('  ')}\n`;
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
