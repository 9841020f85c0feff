/** The rows that the page has, as bytes: one column after another, each value the difference to the one before. */
import { gzipSync } from 'node:zlib';
import { views } from '../aggregate/aggregate.ts';
import type { Engine } from '../engine.ts';
import type { Pair } from '../model.ts';
import { plain } from '../texts/plain.ts';
import { type Packed, rowColumns, textColumns } from './row-format.ts';

/** More make the page slow to open. */
const mostRows = 200_000;

type Columns = Record<(typeof rowColumns)[number], number[]>;

export interface PageRows {
  columns: Columns;
  texts: Record<(typeof textColumns)[number], string[]>;
  /** Numbers the rows of each pair: those with a high number are left out first. */
  ranks: number[];
}

interface Row extends Pick<Pair, 'from' | 'fromGroup' | 'to' | 'toGroup' | 'service' | 'action' | 'packets'> {
  /** A list as JSON: rule, verdict and policies. */
  ruling: string;
  node: string;
  fromAddress: string;
  toAddress: string;
  at: number;
  rank: number;
}

/** Chooses the latest rows of each pair, as many as there is room for; if there are more pairs than that, those with most packets have one. */
export async function readPageRows(engine: Engine): Promise<PageRows> {
  const dictionaries = new Map<string, Map<string, number>>(textColumns.map((name) => [name, new Map()]));
  const columns = Object.fromEntries(rowColumns.map((name) => [name, [] as number[]])) as Columns;
  const ranks: number[] = [];
  const rows = engine.batches<Row>(
    `SELECT * FROM (SELECT "from", "fromGroup", "to", "toGroup", service, action, to_json([rule, verdict, named])::VARCHAR AS ruling, coalesce("k8s.node.name", '') AS node,
        coalesce("source.address", '') AS "fromAddress", coalesce("destination.address", '') AS "toAddress",
        epoch_ms("at")::DOUBLE AS "at", packets,
        (row_number() OVER (PARTITION BY "from", "to", service, action ORDER BY "at" DESC))::INTEGER AS rank
      FROM ${views.rows} ORDER BY rank, packets DESC LIMIT ${mostRows})
    ORDER BY "from", "to", service, action, "at"`,
  );
  for await (const batch of rows)
    for (const row of batch) {
      for (const name of rowColumns)
        columns[name].push(
          name === 'at' || name === 'packets' ? row[name] : placeOf(dictionaries.get(name), row[name]),
        );
      ranks.push(row.rank);
    }
  const texts = Object.fromEntries(
    [...dictionaries].map(([name, places]) => [name, [...places.keys()].map(name === 'ruling' ? rulingText : plain)]),
  );
  return { columns, texts: texts as PageRows['texts'], ranks };
}

/** A line for each; each policy for itself, so that it is as in the list of policies. */
function rulingText(ruling: string): string {
  const [rule = '', verdict = '', policies = ''] = JSON.parse(ruling) as string[];
  return [plain(rule), verdict, policies.split(',').map(plain).join(',')].join('\n');
}

function placeOf(places: Map<string, number> | undefined, value: string): number {
  const found = places?.get(value);
  if (found !== undefined) return found;
  places?.set(value, places.size);
  return (places?.size ?? 1) - 1;
}

/** Returns as many rows as are asked for, those of the lowest rank. */
export function packRows({ columns, texts, ranks }: PageRows, most: number): Packed {
  const limit = ranks.length <= most ? Infinity : (ranks.toSorted((a, b) => a - b)[most] ?? Infinity);
  let left = most - ranks.filter((rank) => rank < limit).length;
  const chosen = ranks.flatMap((rank, index) => (rank < limit || (rank === limit && left-- > 0) ? [index] : []));
  const parts: Uint8Array[] = [];
  const used: Partial<PageRows['texts']> = {};
  for (const name of rowColumns) {
    const values = chosen.map((index) => columns[name][index] ?? 0);
    if (name === 'at' || name === 'packets') parts.push(differences(values));
    else {
      // The page gets the texts of these rows alone, in the order in which they first occur.
      const places = new Map([...new Set(values)].map((value, place) => [value, place]));
      parts.push(differences(values.map((value) => places.get(value) ?? 0)));
      used[name] = [...places.keys()].map((value) => texts[name][value] ?? '');
    }
  }
  const bytes = gzipSync(Buffer.concat([...parts, Buffer.from(JSON.stringify(used))]), { level: 9 });
  return { count: chosen.length, data: bytes.toString('base64') };
}

/** Seven bits a byte, the lowest first, the sign in the lowest bit. */
function differences(values: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  let before = 0;
  for (const value of values) {
    const difference = value - before;
    let rest = difference < 0 ? -2 * difference - 1 : 2 * difference;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
    before = value;
  }
  return Uint8Array.from(bytes);
}
