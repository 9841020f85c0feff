/** Makes room among packed files: if few Namespaces have most of a file's records, only a share of these is kept. */
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { parsed } from '../../../base/platform/json.ts';
import type { FlowRecord } from '../fields.ts';
import { headOf, namespaceOfRecord, rowText } from '../record.ts';

/** A Namespace keeps this many times the median of the Namespaces. */
const timesMedian = 4;

/** A file is thinned only if at most this part of it is kept, so that a file of equal Namespaces stays complete until it is deleted. */
const mostKept = 1 / 4;

/** Resolves to false if the file stays as it is. `part`: a hidden name for the new file until it is complete. */
export async function thinFile(path: string, part: string): Promise<boolean> {
  const bytes = new Map<string, number>();
  await pipeline(createReadStream(path), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const row of rowsIn(chunks)) add(bytes, namespaceIn(row), row.length);
  });
  const sizes = [...bytes.values()].toSorted((a, b) => a - b);
  const level = timesMedian * (sizes[Math.floor((sizes.length - 1) / 2)] ?? 0);
  const [all, kept] = [sum(sizes), sum(sizes.map((size) => Math.min(size, level)))];
  if (kept > mostKept * all) return false;
  const packing = createWriteStream(part, { mode: 0o640 });
  const withinLevel = (chunks: AsyncIterable<Buffer>): AsyncGenerator<string> => keptOf(rowsIn(chunks), level, path);
  try {
    await pipeline(createReadStream(path), createGunzip(), withinLevel, createGzip(), packing);
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
  return true;
}

/** Ends with a record of a gap, so that the loss is visible. It has the same id if the file is thinned again after a kill. */
async function* keptOf(rows: AsyncIterable<string>, level: number, path: string): AsyncGenerator<string> {
  const bytes = new Map<string, number>();
  let lost: { rows: number; first: FlowRecord; last: FlowRecord } | undefined;
  for await (const row of rows) {
    const record = recordIn(row);
    const isGap = record['event.name'] === 'network.flow.gap';
    if (isGap || add(bytes, namespaceOfRecord(record), row.length) <= level) yield row;
    else lost = { rows: (lost?.rows ?? 0) + 1, first: lost?.first ?? record, last: record };
  }
  if (lost === undefined) return;
  const { first, last } = lost;
  const at = Date.parse(last['@timestamp'] ?? '') || 0;
  const [cluster, node] = [last['k8s.cluster.name'], last['k8s.node.name']];
  yield rowText({
    ...headOf(at, 'network.flow.gap', [cluster, node, path, lost.rows, first['event.id']]),
    'event.action': 'lost',
    'event.reason': 'audit files',
    'event.start': first['event.start'],
    'event.end': last['event.end'],
    'k8s.cluster.name': cluster,
    'k8s.node.name': node,
    'log.records_lost': lost.rows,
  });
}

async function* rowsIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let remaining: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...remaining, chunk.subarray(from, end + 1)]).toString();
      remaining = [];
      from = end + 1;
    }
    if (from < chunk.length) remaining.push(chunk.subarray(from));
  }
}

function recordIn(row: string): FlowRecord {
  const value = parsed(row);
  return typeof value === 'object' && value !== null ? value : {};
}

function namespaceIn(row: string): string {
  return namespaceOfRecord(recordIn(row));
}

function add(bytes: Map<string, number>, namespace: string, more: number): number {
  const size = (bytes.get(namespace) ?? 0) + more;
  bytes.set(namespace, size);
  return size;
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all + size, 0);
}
