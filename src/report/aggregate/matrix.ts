import type { Engine } from '../engine.ts';
import type { Matrix } from '../model.ts';

/** The matrix of two columns of the table of pairs. All packets are in it: what is less frequent is in the last row and column. */
export async function readMatrix(
  engine: Engine,
  pairs: string,
  [from, to]: readonly [string, string],
  size: number,
): Promise<Matrix> {
  const rows = await names(engine, pairs, from, size);
  const columns = await names(engine, pairs, to, size);
  const [sources, destinations] = [rows.top, columns.top].map(
    (top) => new Map(top.map((name, place) => [name, place])),
  );
  const cells = Array.from({ length: rows.top.length + Number(rows.others > 0) }, () =>
    Array.from({ length: columns.top.length + Number(columns.others > 0) }, () => 0),
  );
  const sums = engine.batches<{ source: string; destination: string; packets: number }>(
    `SELECT "${from}" AS source, "${to}" AS destination, sum(packets)::DOUBLE AS packets FROM ${pairs} GROUP BY ALL`,
  );
  for await (const batch of sums)
    for (const { source, destination, packets } of batch) {
      const row = cells[sources?.get(source) ?? rows.top.length];
      const column = destinations?.get(destination) ?? columns.top.length;
      if (row !== undefined) row[column] = (row[column] ?? 0) + packets;
    }
  return { rows: rows.top, columns: columns.top, otherRows: rows.others, otherColumns: columns.others, cells };
}

async function names(
  engine: Engine,
  pairs: string,
  column: string,
  size: number,
): Promise<{ top: string[]; others: number }> {
  const found = await engine.all<{ name: string; total: number }>(
    `SELECT "${column}" AS name, count(*) OVER ()::DOUBLE AS total FROM ${pairs} GROUP BY name ORDER BY sum(packets) DESC, name LIMIT ${size}`,
  );
  return { top: found.map(({ name }) => name), others: (found[0]?.total ?? 0) - found.length };
}
