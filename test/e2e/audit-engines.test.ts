import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import { rowText } from '../../src/publish/audit/record.ts';
import { createOtlpSink } from '../../src/publish/audit/sinks/otlp.ts';
import { makeRows } from '../publish/audit/made-rows.ts';
import { root } from '../deploy/manifests.ts';
import { wheelFolders } from '../programs/install.ts';
import { freePorts } from './control-plane/ports.ts';
import { createOwnFolder } from './own-folder.ts';
import { startRotel } from './rotel.ts';

/** Tests docs/audit.md with real engines: ClickHouse as a library, and a receiver of OTLP that is not ours. */

const run = promisify(execFile);
const made = makeRows({ minutes: 20, flows: 60 }).map((row) => JSON.parse(row) as FlowRecord);
/** A source that tries 25 addresses, and is denied by a policy that denies nothing else. */
const scan = Array.from({ length: 25 }, (_, index) => ({
  ...made[0],
  'event.id': `scan-${index}`,
  'network.packets': 2,
  'source.kind': 'Pod',
  'source.address': '10.70.0.1',
  'source.k8s.namespace.name': 'lab',
  'source.k8s.owner.name': 'scanner',
  'destination.address': `10.71.0.${index}`,
  'policy.verdict': 'denied' as const,
  'policy.verdict_evidence': 'evaluated' as const,
  'policy.direction': 'ingress' as const,
  'policy.decided_by': 'NetworkPolicy shop/web,NetworkPolicy shop/default-deny',
}));
/**
 * The first row knows only that a rule of the policy matched. Policies admit the others, or the others concern another
 * policy.
 */
const namedOnly = {
  ...made[1],
  'event.id': 'named',
  'network.packets': 3,
  'source.k8s.namespace.name': 'lab',
  'source.k8s.owner.name': 'tester',
  'security_rule.name': 'default-deny',
  'policy.kind': 'NetworkPolicy',
  'policy.namespace': 'shop',
};
const others = [
  { ...namedOnly, 'event.id': 'admitted', 'policy.verdict': 'admitted' as const },
  { ...namedOnly, 'event.id': 'other', 'policy.namespace': 'shop-2' },
  { ...scan[0], 'event.id': 'longer', 'policy.decided_by': 'NetworkPolicy shop/default-deny-2' },
];
const records: FlowRecord[] = [...made, ...scan, namedOnly, ...others];
const rows = records.map((record) => rowText(record));
const never = new AbortController().signal;
let folder: string;

beforeAll(() => {
  folder = createOwnFolder('audit-engines');
  writeFileSync(join(folder, 'audit.ndjson'), rows.join(''));
});

const period = {
  since: '2026-11-21 09:00:00',
  until: '2026-11-22 00:00:00',
  change: '2026-11-21 09:10:00',
  policy: 'NetworkPolicy shop/default-deny',
};
const insert =
  "INSERT INTO audit SELECT * FROM file('audit.ndjson', 'JSONEachRow') SETTINGS input_format_skip_unknown_fields = 1, date_time_input_format = 'best_effort'";

test('ClickHouse, with deploy/audit/clickhouse.sql: rows sent twice count once', async () => {
  const [sums] = await query(
    [insert, insert],
    ['SELECT count() AS rows, sum(`network.packets`) AS packets FROM audit FINAL'],
  );
  const packets = records.reduce((sum, record) => sum + (record['network.packets'] ?? 0), 0);
  expect(sums).toEqual([{ rows: rows.length, packets }]);
});

test('ClickHouse, with deploy/audit/clickhouse.sql: fields missing in a row are empty, and each field has its column', async () => {
  const [first] = await query(
    [insert],
    ["SELECT * FROM audit FINAL WHERE `source.kind` = 'external' ORDER BY `event.id` LIMIT 1"],
  );
  const [row] = first as Record<string, unknown>[];
  const record = records.find((each) => each['event.id'] === row?.['event.id']) as Record<string, unknown>;
  const times = /^(?:@timestamp|event\.(?:start|end))$/;
  for (const [name, value] of Object.entries(record))
    if (!times.test(name)) expect([name, row?.[name]]).toEqual([name, value]);
  expect(row).toMatchObject({ 'source.k8s.pod.name': '', 'icmp.type': null });
});

test('ClickHouse, with deploy/audit/clickhouse.sql: the queries of deploy/audit/clickhouse-queries.sql give the same result as the rows', async () => {
  const text = clickHouse('clickhouse-queries.sql');
  const queries = text.split(';\n').filter((each) => each.includes('SELECT'));
  const [denied = [], appeared = [], scans = [], all = []] = await query(
    [insert],
    queries.map((each) => each.replace('FORMAT CSVWithNames', '')),
    period,
  );
  expect(denied).toMatchObject([
    { from_namespace: 'lab', from_whom: 'scanner', packets: 50, at_least: false, evidence: 'evaluated' },
    { from_namespace: 'lab', from_whom: 'tester', packets: 3, evidence: 'named' },
  ]);
  const before = new Set(records.filter(isBefore).map(pairOf));
  const after = new Set(records.filter((record) => !isBefore(record)).map(pairOf));
  expect(new Set(appeared.map((row) => JSON.stringify(Object.values(row).slice(0, 5))))).toEqual(
    after.difference(before),
  );
  expect(scans).toMatchObject([{ from_namespace: 'lab', from_whom: 'scanner', destinations: 25, packets: 52 }]);
  expect(all).toHaveLength(rows.length);
});

describe('rotel, a receiver of OTLP', () => {
  let rotel: Awaited<ReturnType<typeof startRotel>>;

  beforeAll(async () => {
    rotel = await startRotel(folder, await freePorts(2));
  });
  afterAll(() => rotel.stop());

  test('reads every record with its fields, name and Resource', async () => {
    const sink = createOtlpSink({
      url: rotel.url,
      headers: () => ({}),
      ca: undefined,
      resource: { 'service.name': 'kube-netfilter-tailer', 'k8s.node.name': 'node-a', 'k8s.cluster.name': 'prod' },
    });
    for (let at = 0; at < 500; at += 100) expect(await sink.send(rows.slice(at, at + 100), never)).toBe(0);
    await sink.close();
    await expect.poll(() => rotel.records().length, { timeout: 60_000 }).toBe(500);
    const elsewhere = new Set(['@timestamp', 'event.name', 'event.id', 'k8s.cluster.name', 'k8s.node.name']);
    const sent = records.slice(0, 500).map((record) => {
      const attributes = Object.entries(record).filter(([name]) => !elsewhere.has(name));
      const named = { EventName: record['event.name'], Resource: 'node-a', 'log.record.uid': record['event.id'] };
      return Object.assign(Object.fromEntries(attributes.map(([name, value]) => [name, String(value)])), named);
    });
    expect(rotel.records().toSorted(byId)).toEqual(sent.toSorted(byId));
  });
});

function clickHouse(file: string): string {
  return readFileSync(join(root, 'deploy/audit', file), 'utf8');
}

function pairOf(record: FlowRecord): string {
  return JSON.stringify([
    record['source.k8s.namespace.name'] ?? '',
    record['source.k8s.owner.name'] ?? '',
    record['destination.k8s.namespace.name'],
    record['destination.k8s.owner.name'],
    record['destination.port'],
  ]);
}

function isBefore(record: FlowRecord): boolean {
  return (record['@timestamp'] ?? '') < '2026-11-21T09:10:00.000Z';
}

function byId(a: Record<string, unknown>, b: Record<string, unknown>): number {
  return String(a['log.record.uid']).localeCompare(String(b['log.record.uid']));
}

/** Runs the queries `asked` after making the table and running `done`, in a database of its own. */
async function query(
  done: readonly string[],
  asked: readonly string[],
  parameters: Readonly<Record<string, string>> = {},
) {
  // Numbers of 64 bits are text in JSON by default.
  const settings = 'SET output_format_json_quote_64bit_integers = 0';
  const running = run('python3', [join(import.meta.dirname, 'clickhouse.py')], {
    cwd: folder,
    maxBuffer: 256 * 1024 * 1024,
  });
  running.child.stdin?.end(
    JSON.stringify({
      wheels: wheelFolders(),
      done: [settings, clickHouse('clickhouse.sql'), ...done],
      asked,
      parameters,
    }),
  );
  const { stdout } = await running;
  return JSON.parse(stdout) as Record<string, unknown>[][];
}
