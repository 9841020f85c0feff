/** Reads the data of the page (sums as JSON, records as packed columns), and selects and sorts records. */
import {
  type PageData,
  rowColumns,
  type RowColumn,
  rulingColumns,
  textColumns,
  type TextColumn,
} from '../row-format.ts';

export interface Rows {
  count: number;
  /** Values of each column; for texts, their positions in `texts`. */
  columns: Record<RowColumn, Float64Array>;
  texts: Record<TextColumn, string[]>;
}

export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

export function readData(): PageData {
  return JSON.parse(element('data').textContent) as PageData;
}

export async function unpackRows(count: number): Promise<Rows> {
  const gzip = Uint8Array.from(atob(element('row-data').textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([gzip]).stream().pipeThrough(new DecompressionStream('gzip'));
  const [packed, texts] = (await new Response(stream).json()) as [number[][], Record<string, string[]>];
  const columns: Record<string, Float64Array> = Object.fromEntries(
    rowColumns.map((name, index) => {
      let value = 0;
      return [name, Float64Array.from(packed[index] ?? [], (difference) => (value += difference))];
    }),
  );
  for (const name of textColumns) texts[name] ??= [];
  const rulings = (texts['ruling'] ?? []).map((text) => text.split('\n'));
  for (const [line, name] of rulingColumns.entries()) {
    columns[name] = columns['ruling'] ?? new Float64Array();
    texts[name] = rulings.map((lines) => lines[line] ?? '');
  }
  delete texts['ruling'];
  return { count, columns, texts };
}

const numbers = new Intl.NumberFormat('en-US');
export const numberText = (value: number): string => numbers.format(value);

/** A time, as exactly as the step between times is. */
export const timeText = (time: number, step: number): string =>
  new Date(time)
    .toISOString()
    .slice(0, step % 60_000 === 0 ? 16 : 19)
    .replace('T', ' ');

/** A condition that the reader can remove. */
export interface Chip {
  id: 'from' | 'to' | 'time' | 'policy' | 'verdict';
  label: string;
  /** The column must have one of these names, or with `not` none of them. */
  column?: TextColumn;
  names?: readonly string[];
  not?: boolean;
  /** The beginning (included) and the end (excluded) of a period, in milliseconds since 1970. */
  span?: readonly [number, number];
}

export interface Conditions {
  chips: Chip[];
  search: string;
  action: string;
  service: string;
  policy: string;
  verdict: string;
}

/** The conditions that are chosen from a list, each with its column. */
export const choices = [
  ['action', 'action'],
  ['service', 'service'],
  ['policy', 'policies'],
  ['verdict', 'verdict'],
] as const satisfies readonly (readonly [keyof Conditions, TextColumn])[];

export interface Order {
  column: RowColumn;
  isDescending: boolean;
}

const searched: readonly TextColumn[] = [
  'from',
  'to',
  'service',
  'rule',
  'policies',
  'node',
  'fromAddress',
  'toAddress',
];

export function namesIn(column: TextColumn, text: string): readonly string[] {
  return column === 'policies' ? text.split(',') : [text];
}

export function selectRows(rows: Rows, { chips, search, ...chosen }: Conditions): Uint32Array {
  const tests: ((row: number) => boolean)[] = [];
  const one = (column: TextColumn, isMeant: (text: string) => boolean): void => {
    const allowed = rows.texts[column].map(isMeant);
    const places = rows.columns[column];
    tests.push((row) => allowed[places[row] ?? 0] === true);
  };
  for (const [kind, column] of choices) {
    const name = chosen[kind];
    if (name !== '') one(column, (text) => namesIn(column, text).includes(name));
  }
  for (const { column, names, not = false, span } of chips) {
    const set = new Set(names);
    if (column !== undefined) one(column, (text) => namesIn(column, text).some((name) => set.has(name)) !== not);
    const { at } = rows.columns;
    if (span !== undefined) tests.push((row) => (at[row] ?? 0) >= span[0] && (at[row] ?? 0) < span[1]);
  }
  for (const word of search.toLowerCase().split(/\s+/).filter(Boolean)) {
    const found = searched.map((column) => rows.texts[column].map((text) => text.toLowerCase().includes(word)));
    tests.push((row) => searched.some((column, index) => found[index]?.[rows.columns[column][row] ?? 0] === true));
  }
  const selected = new Uint32Array(rows.count);
  let count = 0;
  for (let row = 0; row < rows.count; row++) if (tests.every((test) => test(row))) selected[count++] = row;
  return selected.subarray(0, count);
}

/** Sorts indexes of rows in place. Equal rows are in the order of their indexes. */
export function sortRows(rows: Rows, selected: Uint32Array, { column, isDescending }: Order): void {
  const values = rows.columns[column];
  const texts = (rows.texts as Partial<Record<RowColumn, string[]>>)[column];
  let keys = values;
  if (texts !== undefined) {
    const order = texts.map((_, place) => place).toSorted((a, b) => ((texts[a] ?? '') < (texts[b] ?? '') ? -1 : 1));
    const rank = new Float64Array(texts.length);
    for (const [index, place] of order.entries()) rank[place] = index;
    keys = values.map((place) => rank[place] ?? 0);
  }
  const sign = isDescending ? -1 : 1;
  selected.sort((a, b) => sign * ((keys[a] ?? 0) - (keys[b] ?? 0)) || a - b);
}
