/** Makes the page: one file that contains its records, and needs no network and no server. */
import { gzipSync } from 'node:zlib';
import { views } from '../aggregate/views.ts';
import type { Engine } from '../engine.ts';
import type { Matrix, AuditReport, Pair } from '../model.ts';
import { pageAssets } from './assets.ts';
import { documentOf, mostRows } from './html.ts';
import { type PageData, type MatrixSide, rowColumns, textColumns } from './row-format.ts';
import { timeLineHtml } from './time-line.ts';
import { plain } from '../texts/plain.ts';

/** The most bytes of a page: few enough for the attachment of a mail, and for a browser to open it at once. */
const largest = 3_000_000;

export async function pageHtml(engine: Engine, report: AuditReport): Promise<string> {
  const assets = await pageAssets();
  const timeLine = await timeLineHtml(engine, report);
  const rows = await readPageRows(engine);
  let most = rows.length;
  for (;;) {
    const packed = packRows(rows, most);
    const html = documentOf(report, timeLine, assets, dataOf(report, packed.count), packed.data);
    const excess = Buffer.byteLength(html) - largest;
    if (excess <= 0 || most === 0) return html;
    most = Math.max(0, Math.floor(most * (1 - excess / Math.max(1, packed.data.length)) * 0.98) - 1);
  }
}

function dataOf({ extent, timeLine, namespaces, workloads, policies }: AuditReport, count: number): PageData {
  return {
    rows: { count, all: extent.records },
    timeLine: timeLine && { start: timeLine.start, step: timeLine.step },
    namespaces: sidesOf(namespaces),
    workloads: sidesOf(workloads),
    policies: policies.top.slice(0, mostRows).map(({ policy, verdict }) => ({ policy: plain(policy), verdict })),
  };
}

function sidesOf({ rows, columns, otherRows, otherColumns }: Matrix): { from: MatrixSide; to: MatrixSide } {
  return {
    from: { names: rows.map(plain), hasOthers: otherRows > 0 },
    to: { names: columns.map(plain), hasOthers: otherColumns > 0 },
  };
}

/** More rows would make the page slow to open. */
const mostPageRows = 200_000;
/** The most characters of different texts: a page of 3 MB has no room for more, and each is in memory several times while it is packed. */
const mostText = 16_000_000;

interface Row extends Pick<Pair, 'from' | 'fromGroup' | 'to' | 'toGroup' | 'service' | 'action' | 'packets'> {
  /** A JSON list of rule, verdict and policies. */
  ruling: string;
  node: string;
  fromAddress: string;
  toAddress: string;
  at: number;
  /** The number of the row within its pair, from 1 for the latest. Rows with high numbers are left out first. */
  rank: number;
}

/** Chooses the latest rows of each pair. If there are too many pairs, those with most packets in their latest row have one row each. */
async function readPageRows(engine: Engine): Promise<Row[]> {
  const found = engine.batches<Row>(
    `SELECT "from", "fromGroup", "to", "toGroup", service, action, to_json([rule, verdict, named])::VARCHAR AS ruling, coalesce("k8s.node.name", '') AS node,
        coalesce("source.address", '') AS "fromAddress", coalesce("destination.address", '') AS "toAddress",
        epoch_ms("at")::DOUBLE AS "at", packets,
        (row_number() OVER (PARTITION BY "from", "to", service, action ORDER BY "at" DESC))::INTEGER AS rank
      FROM ${views.rows} ORDER BY rank, packets DESC LIMIT ${mostPageRows}`,
  );
  const rows: Row[] = [];
  /** Holds each text once, because most rows repeat texts of others. */
  const texts = new Map<string, string>();
  let length = 0;
  for await (const batch of found) {
    for (const row of batch) {
      for (const name of textColumns) {
        const text = texts.get(row[name]);
        if (text === undefined) {
          texts.set(row[name], row[name]);
          length += row[name].length;
        } else row[name] = text;
      }
      rows.push(row);
    }
    if (length > mostText) break;
  }
  // Neighbours that are alike pack best.
  return rows.toSorted(
    (a, b) => sortColumns.map((name) => compare(a[name], b[name])).find((order) => order !== 0) ?? a.at - b.at,
  );
}

const sortColumns = ['from', 'to', 'service', 'action'] as const;

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns three lines: rule, verdict and policies. Each policy is made printable on its own, to equal its name in the list of policies. */
function rulingText(ruling: string): string {
  const [rule = '', verdict = '', policies = ''] = JSON.parse(ruling) as string[];
  return [plain(rule), verdict, policies.split(',').map(plain).join(',')].join('\n');
}

function placeOf(places: Map<string, number>, value: string): number {
  const place = places.get(value) ?? places.size;
  places.set(value, place);
  return place;
}

/** Packs the rows of the lowest ranks as gzip in Base64: JSON, column after column, each value as its difference from the one before. */
function packRows(rows: readonly Row[], most: number) {
  const ranks = rows.map(({ rank }) => rank).toSorted((a, b) => a - b);
  const limit = ranks[most] ?? Infinity;
  let left = most - ranks.filter((rank) => rank < limit).length;
  const chosen = rows.filter(({ rank }) => rank < limit || (rank === limit && left-- > 0));
  const texts: Partial<Record<(typeof textColumns)[number], string[]>> = {};
  const packed = rowColumns.map((name) => {
    if (name === 'at' || name === 'packets') return differences(chosen.map((row) => row[name]));
    const places = new Map<string, number>();
    const values = chosen.map((row) => placeOf(places, row[name]));
    texts[name] = [...places.keys()].map(name === 'ruling' ? rulingText : plain);
    return differences(values);
  });
  const bytes = gzipSync(JSON.stringify([packed, texts]), { level: 9 });
  return { count: chosen.length, data: bytes.toString('base64') };
}

function differences(values: readonly number[]): number[] {
  return values.map((value, index) => value - (values[index - 1] ?? 0));
}
