/** Lays out the table for a screen, and applies keys to it. Functions here do no I/O. */
import { alignColumns } from '../describe.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { humanDuration } from '../../base/platform/duration.ts';
import { printable } from '../../base/platform/printable.ts';
import type { SortKey } from '../options/top-options.ts';
import { type Paint, plural } from '../terminal.ts';
import type { TopRow } from './rows.ts';

export interface Size {
  readonly columns: number;
  readonly lines: number;
}

export interface ViewState {
  readonly rows: readonly TopRow[];
  /** The rows that options hide, and these options. */
  readonly leftOut?: { readonly flows: number; readonly by: string } | undefined;
  readonly agents: { readonly asked: number; readonly answered: number };
  /** Why agents did not answer, or the error of the API server. */
  readonly problem: string | undefined;
  readonly sort: SortKey;
  readonly reversed: boolean;
  readonly filter: string;
  readonly isTyping: boolean;
  readonly selected: number;
  readonly scope: string;
}

interface Column {
  readonly title: string;
  readonly sort?: SortKey;
  readonly text: (row: TopRow, now: Millis) => string;
  readonly right?: true;
  /** The width of the narrowest screen that shows this column. */
  readonly from: number;
  /** In characters; undefined if the column gets a share of the remaining width. */
  readonly width?: number;
  /** Longer texts widen the column up to this width. */
  readonly mostWidth?: number;
}

const columns: readonly Column[] = [
  { title: 'FROM', sort: 'from', text: ({ from }) => from, from: 0 },
  { title: 'TO', sort: 'to', text: ({ to }) => to, from: 0 },
  { title: 'PORT', text: ({ port }) => port, from: 0, width: 10, mostWidth: 17 },
  { title: 'RATE/S', sort: 'rate', text: ({ rate }) => rateText(rate), right: true, from: 0, width: 8 },
  { title: 'PACKETS', sort: 'packets', text: ({ packets }) => String(packets), right: true, from: 100, width: 9 },
  {
    title: 'LAST',
    sort: 'last',
    text: ({ last }, now) => humanDuration(Math.max(0, now - last)),
    right: true,
    from: 100,
    width: 6,
  },
  { title: 'VERDICT', text: ({ verdict }) => verdict, from: 0, width: 8 },
  { title: 'POLICY', text: ({ policy }) => policy, from: 140 },
];

const keys = [
  '<q> quit',
  '<↑↓> move',
  '</> filter',
  '<shift-r> rate',
  '<shift-p> packets',
  '<shift-l> last',
  '<shift-f> from',
  '<shift-t> to',
];

/** As many keys as fit as a whole. */
function keysFor(width: number): string {
  let end = 0;
  while (end < keys.length && keys.slice(0, end + 1).join('  ').length <= width) end++;
  return keys.slice(0, end).join('  ');
}

function rateText(rate: number | undefined): string {
  if (rate === undefined) return '-';
  return rate >= 100 || rate === 0 ? rate.toFixed(0) : rate.toFixed(1);
}

export function shownRows({ rows, sort, reversed, filter }: ViewState): TopRow[] {
  const wanted = filter.toLowerCase();
  const found = rows.filter(({ from, to, port, verdict, policy }) =>
    [from, to, port, verdict, policy].some((text) => text.toLowerCase().includes(wanted)),
  );
  const sorted = found.toSorted(
    (a, b) => compare(a, b, sort) || compare(a, b, 'packets') || compare(a, b, 'from') || compare(a, b, 'to'),
  );
  return reversed ? sorted.toReversed() : sorted;
}

function compare(a: TopRow, b: TopRow, key: SortKey): number {
  if (key === 'from' || key === 'to') return a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0;
  return (b[key] ?? -1) - (a[key] ?? -1);
}

/** Returns as many lines as the screen has, each at most as wide as the screen. Screens with one column get lines of two. */
export function viewLines(state: ViewState, { columns: width, lines }: Size, now: Millis, paint: Paint): string[] {
  const rows = shownRows(state);
  const selected = Math.min(Math.max(0, state.selected), Math.max(0, rows.length - 1));
  const detail = detailOf(rows[selected], width);
  const room = Math.max(0, lines - (detail === undefined ? 4 : 5));
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), rows.length - room));
  const layout = layoutOf(width - 2, rows, now);
  const shown = rows.slice(first, first + room).map((row, index) => {
    const isSelected = first + index === selected;
    const cells = layout.map(({ column, width: own }) => ({
      column,
      text: fit(column.text(row, now), own, column.right),
    }));
    const line = cells.map(({ column, text }) =>
      column.title === 'VERDICT' && !isSelected ? paintVerdict(row, text, paint) : text,
    );
    const text = `${isSelected ? '> ' : '  '}${line.join('  ')}`;
    return isSelected ? paint('inverse', text) : text;
  });
  const head = layout.map(({ column, width: own }) => fit(titleOf(column, state), own, column.right));
  const all = [
    paint('bold', fit(summary(state, rows.length), width)),
    state.problem === undefined ? '' : paint('yellow', fit(printable(state.problem), width)),
    paint('bold', `  ${head.join('  ')}`),
    ...(rows.length === 0 ? [fit(emptyText(state), width)] : shown),
  ].slice(0, Math.max(0, lines - 1));
  const below = detail === undefined ? [] : [paint('dim', fit(detail, width))];
  const foot =
    state.isTyping || state.filter !== ''
      ? `filter: ${printable(state.filter)}${state.isTyping ? '_' : '  <esc> clear'}`
      : keysFor(width);
  return [
    ...all,
    ...Array.from({ length: Math.max(0, lines - 1 - all.length - below.length) }, () => ''),
    ...below,
    paint('dim', fit(foot, width)),
  ].slice(0, lines);
}

/** Screen readers and files get no control characters. */
export function plainText(state: ViewState, now: Millis): string {
  const rows = shownRows(state);
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ text }) => text(row, now)))];
  const problem = state.problem === undefined ? '' : `${printable(state.problem)}\n`;
  const table = rows.length === 0 ? emptyText(state) : alignColumns(cells).join('\n');
  return `${new Date(now).toISOString().slice(0, 19)}Z  ${summary(state, rows.length)}\n${problem}${table}\n`;
}

function summary({ rows, agents: { asked, answered }, scope }: ViewState, shown: number): string {
  const rate = rows.reduce((sum, row) => sum + (row.rate ?? 0), 0);
  const count = shown === rows.length ? `${shown} flows` : `${shown} of ${rows.length} flows`;
  return `drops  ${scope}  ${count}  ${rateText(rate)} packets/s  agents ${answered}/${asked}`;
}

/** The width from which all columns are shown. */
const widest = Math.max(...columns.map(({ from }) => from));

/** The whole names of the selected row, where columns are cut or left out. */
function detailOf(row: TopRow | undefined, width: number): string | undefined {
  if (row === undefined || width >= widest) return undefined;
  return `policy: ${row.policy}  ${row.from} → ${row.to}`;
}

function emptyText({ rows, filter, leftOut }: ViewState): string {
  if (rows.length > 0) return `Nothing matches ${printable(filter)}`;
  return leftOut !== undefined
    ? `${plural(leftOut.flows, 'flow')}, none matches ${printable(leftOut.by)}`
    : 'Nothing was dropped in the last hour, as far as it is logged';
}

function titleOf({ title, sort }: Column, state: ViewState): string {
  if (sort !== state.sort) return title;
  const isUp = state.reversed !== (sort === 'from' || sort === 'to');
  return `${title}${isUp ? '↑' : '↓'}`;
}

function layoutOf(width: number, rows: readonly TopRow[], now: Millis): { column: Column; width: number }[] {
  const shown = columns.filter(({ from }) => width + 2 >= from);
  const widths = shown.map((column) => widthOf(column, rows, now));
  const fixed = widths.reduce<number>((sum, own = 0) => sum + own, 0) + 2 * (shown.length - 1);
  const shares = widths.filter((own) => own === undefined).length;
  const each = Math.max(4, Math.floor((width - fixed) / shares));
  let left = width;
  return shown.flatMap((column, index) => {
    const own = Math.min(widths[index] ?? each, left);
    left -= own + 2;
    return own > 0 ? [{ column, width: own }] : [];
  });
}

function widthOf({ width, mostWidth, text }: Column, rows: readonly TopRow[], now: Millis): number | undefined {
  if (width === undefined || mostWidth === undefined) return width;
  const longest = rows.reduce((most, row) => Math.max(most, Array.from(text(row, now)).length), width);
  return Math.min(longest, mostWidth);
}

/** `width` is in characters: in names of Kubernetes, each takes one column. */
function fit(text: string, width: number, right?: true): string {
  const characters = Array.from(text);
  if (characters.length > width)
    return `${characters.slice(0, Math.max(0, width - 1)).join('')}…`.slice(0, Math.max(0, width));
  const space = ' '.repeat(width - characters.length);
  return right ? space + text : text + space;
}

function paintVerdict({ verdict }: TopRow, text: string, paint: Paint): string {
  return paint(verdict === 'rejected' ? 'yellow' : 'red', text);
}

export interface Key {
  readonly name?: string | undefined;
  readonly sequence?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly shift?: boolean | undefined;
}

const longestFilter = 100;

const sortOf: Readonly<Record<string, SortKey>> = { R: 'rate', P: 'packets', L: 'last', F: 'from', T: 'to' };

/** `page`: the number of rows on the screen. */
export function press(state: ViewState, key: Key, page: number): ViewState | 'quit' {
  const { name, sequence = '', ctrl } = key;
  if (ctrl === true && (name === 'c' || name === 'd')) return 'quit';
  if (state.isTyping) return type(state, key);
  if (sequence === 'q') return 'quit';
  if (sequence === '/') return { ...state, isTyping: true, filter: '', selected: 0 };
  if (name === 'escape') return { ...state, filter: '', selected: 0 };
  const sort = Object.hasOwn(sortOf, sequence) ? sortOf[sequence] : undefined;
  if (sort !== undefined) return { ...state, sort, reversed: sort === state.sort && !state.reversed, selected: 0 };
  return { ...state, selected: moved(state, key, page) };
}

function moved(state: ViewState, { name = '', sequence = '' }: Key, page: number): number {
  const last = Math.max(0, shownRows(state).length - 1);
  const by = (rows: number): number => Math.min(last, Math.max(0, Math.min(state.selected, last) + rows));
  if (name === 'down' || sequence === 'j') return by(1);
  if (name === 'up' || sequence === 'k') return by(-1);
  if (name === 'pagedown') return by(page);
  if (name === 'pageup') return by(-page);
  if (name === 'home' || sequence === 'g') return 0;
  return name === 'end' || sequence === 'G' ? last : state.selected;
}

function type(state: ViewState, { name, sequence = '', ctrl }: Key): ViewState {
  if (name === 'escape') return { ...state, isTyping: false, filter: '' };
  if (name === 'return' || name === 'enter') return { ...state, isTyping: false };
  if (name === 'backspace') return { ...state, filter: state.filter.slice(0, -1) };
  if (ctrl === true || !/^[!-~ ]$/.test(sequence) || state.filter.length >= longestFilter) return state;
  return { ...state, filter: state.filter + sequence, selected: 0 };
}
