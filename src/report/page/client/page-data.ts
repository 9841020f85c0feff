/** What the page brings along: sums as JSON, and rows as packed bytes. */
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
  /** Of a column of texts: places in `texts`. */
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

export async function readRows(count: number): Promise<Rows> {
  const packed = Uint8Array.from(atob(element('row-data').textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let at = 0;
  const column = (): Float64Array => {
    const values = new Float64Array(count);
    let before = 0;
    for (let row = 0; row < count; row++) {
      let [value, unit, byte] = [0, 1, 128];
      for (; byte > 127; unit *= 128) {
        byte = bytes[at++] ?? 0;
        value += (byte % 128) * unit;
      }
      before += value % 2 === 1 ? -(value + 1) / 2 : value / 2;
      values[row] = before;
    }
    return values;
  };
  const columns: Record<string, Float64Array> = Object.fromEntries(rowColumns.map((name) => [name, column()]));
  const texts = JSON.parse(new TextDecoder().decode(bytes.subarray(at))) as Record<string, string[]>;
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

/** `2026-11-14 09:15` in UTC. */
export const timeText = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');
