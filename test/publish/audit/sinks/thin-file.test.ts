import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { FlowRecord } from '../../../../src/publish/audit/fields.ts';
import { createFileSink } from '../../../../src/publish/audit/sinks/file.ts';
import { thinFile } from '../../../../src/publish/audit/sinks/thin-file.ts';
import { temporaryFolder } from '../../../read/sources/temporary-folder.ts';

const never = new AbortController().signal;
const folder = temporaryFolder();

let made = 0;

/** A row that compresses badly. */
function rowOf(namespace: string): string {
  const number = made++;
  const record = {
    'event.id': String(number),
    'event.name': 'network.flow.drop',
    '@timestamp': new Date(number * 1000).toISOString(),
    'event.start': `start ${number}`,
    'event.end': `end ${number}`,
    'k8s.node.name': 'node-a',
    'source.kind': 'Pod',
    'source.k8s.namespace.name': namespace,
    x: Math.sin(number),
  };
  return `${JSON.stringify(record)}\n`;
}

function packedIn(path: string): FlowRecord[] {
  const text = gunzipSync(readFileSync(path)).toString();
  return text.split('\n').flatMap((row) => (row === '' ? [] : (JSON.parse(row) as FlowRecord)));
}

function countsOf(records: readonly FlowRecord[]): Record<string, number> {
  const groups = Object.groupBy(
    records,
    (record) => record['source.k8s.namespace.name'] ?? record['event.reason'] ?? '',
  );
  return Object.fromEntries(Object.entries(groups).map(([namespace, some]) => [namespace, some?.length ?? 0]));
}

function scene(counts: Readonly<Record<string, number>>) {
  const path = folder('audit.ndjson.gz');
  const rows = Object.entries(counts).flatMap(([namespace, count]) =>
    Array.from({ length: count }, () => rowOf(namespace)),
  );
  writeFileSync(path, gzipSync(rows.join('')));
  return { path, part: `${path}.part` };
}

test('a Namespace that fills a file keeps as many records as four times the median of others, and the rest is a gap', async () => {
  const { path, part } = scene({ shop: 20, evil: 5000, batch: 10, web: 30 });
  expect(await thinFile(path, part)).toBe(true);
  const records = packedIn(path);
  expect(countsOf(records)).toEqual({ shop: 20, batch: 10, web: 30, evil: expect.closeTo(80, -1), 'audit files': 1 });
  const gap = records.at(-1);
  const lost = 5000 - (countsOf(records)['evil'] ?? 0);
  expect(gap).toMatchObject({ 'event.name': 'network.flow.gap', 'log.records_lost': lost, 'k8s.node.name': 'node-a' });
  // A file that was thinned once stays the same, and keeps its gap.
  expect(await thinFile(path, part)).toBe(false);
  expect(packedIn(path)).toEqual(records);
});

test.each([
  ['one Namespace', { shop: 1000 }],
  ['Namespaces that have as much as each other', { shop: 300, batch: 200, web: 400 }],
])('a file of %s stays unchanged', async (_, counts) => {
  const { path, part } = scene(counts);
  const before = readFileSync(path);
  expect(await thinFile(path, part)).toBe(false);
  expect(readFileSync(path)).toEqual(before);
});

test('a tenant that fills file after file displaces only its own records', async () => {
  const logs = folder('displaced');
  const sink = createFileSink({ path: join(logs, 'audit.ndjson'), size: 1, total: 1 });
  let ofShop = 0;
  for (let batch = 0; batch < 160; batch++) {
    const flood = Array.from({ length: 400 }, () => rowOf('evil'));
    await sink.send([rowOf('shop'), ...flood, rowOf('batch')], never);
    ofShop++;
  }
  await sink.close();
  const names = readdirSync(logs).filter((name) => !name.startsWith('.'));
  const packed = names.filter((name) => name.endsWith('.gz')).map((name) => join(logs, name));
  expect(packed.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThanOrEqual(1024 * 1024);
  const plain = readFileSync(join(logs, 'audit.ndjson'), 'utf8')
    .split('\n')
    .filter((row) => row !== '');
  const all = [...packed.flatMap(packedIn), ...plain.map((row) => JSON.parse(row) as FlowRecord)];
  const counts = countsOf(all);
  expect([counts['shop'], counts['batch']]).toEqual([ofShop, ofShop]);
  const lost = all.reduce((count, record) => count + (record['log.records_lost'] ?? 0), 0);
  expect((counts['evil'] ?? 0) + lost).toBe(400 * 160);
  expect(lost).toBeGreaterThan(10_000);
});
