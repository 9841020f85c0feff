import { writeFileSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import { readWhyOptions } from '../../src/cli/options/why-options.ts';
import { readAuditRows } from '../../src/cli/why/newly-admitted.ts';
import { suggestPolicies } from '../../src/cli/why/suggest.ts';
import { networkPolicy } from '../explain/policies/objects.ts';
import { linesOf, row } from './report/scene.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { parsed } from './parsed.ts';
import { ownedBy, podObject } from './scene.ts';
import { forAllAsync } from '../for-all.ts';

const path = temporaryFolder();

const namespaceObject = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** shop/postgres is isolated; batch/worker and batch/other may send. */
const items = [
  namespaceObject('shop'),
  namespaceObject('batch'),
  ownedBy(podObject('shop', 'postgres-0', 'postgres', '10.65.1.4'), 'StatefulSet', 'postgres'),
  ownedBy(podObject('batch', 'worker-7', 'worker', '10.65.2.9'), 'DaemonSet', 'worker'),
  // This workload also has the label by which the suggestion allows worker.
  ownedBy(podObject('batch', 'twin-1', 'worker', '10.65.2.10'), 'DaemonSet', 'twin'),
  ownedBy(podObject('batch', 'other-1', 'other', '10.65.2.11'), 'DaemonSet', 'other'),
  networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'default-deny'),
];
const from = (name: string): FlowRecord => ({ 'source.k8s.owner.kind': 'DaemonSet', 'source.k8s.owner.name': name });

beforeAll(() => {
  writeFileSync(path('cluster.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
});

/** Returns the output of `suggest` for batch/worker-7 to shop/postgres-0 with rows in files of these names. */
async function suggested(
  files: readonly string[],
  port = '5432',
): Promise<{ status: number; out: string; err: string }> {
  const ends = ['--from', 'batch/worker-7', '--to', 'shop/postgres-0', '--port', port];
  const audit = files.flatMap((file) => ['--audit', path(file)]);
  const options = readWhyOptions(parsed('suggest', ...ends, '--policies', path('cluster.json'), ...audit));
  let [out, err] = ['', ''];
  const status = await suggestPolicies(options, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { status, out, err };
}

/** The lines of the answer about the audit. */
async function counted(rows: readonly FlowRecord[], port?: string): Promise<string[]> {
  writeFileSync(path('rows.ndjson'), linesOf(rows));
  const { out } = await suggested(['rows.ndjson'], port);
  return out.slice(0, out.indexOf('# admits')).split('\n').slice(0, -1);
}

test('newly admitted flows of the audit are counted with their packets, those with most packets first', async () => {
  const rows = [
    row(1, { ...from('worker'), 'network.packets': 3 }),
    row(2, { ...from('worker'), 'network.packets': 4 }),
    row(3, { ...from('twin'), 'network.packets': 20 }),
  ];
  expect(await counted(rows)).toStrictEqual([
    '# of 3 rows of the audit, 2 flows with 27 packets would newly be admitted',
    '#   DaemonSet batch/twin → StatefulSet shop/postgres TCP 5432: 20',
    '#   DaemonSet batch/worker → StatefulSet shop/postgres TCP 5432: 7',
  ]);
});

test.each<[string, FlowRecord]>([
  ['of a Pod that the policy does not admit', from('other')],
  ['to another port', { ...from('twin'), 'destination.port': 80 }],
  ['of another protocol', { ...from('twin'), 'network.transport': 'udp' }],
  ['that was only logged', { ...from('twin'), 'event.name': 'network.flow.log' }],
  ['that answers', { ...from('twin'), 'network.reply': true }],
  ['to a Namespace that isolates nothing', { ...from('twin'), 'destination.k8s.namespace.name': 'batch' }],
  ['of an address outside', { 'source.kind': 'external', 'source.address': '203.0.113.9' }],
])('newly admitted flows of the audit do not include those %s', async (_, changes) => {
  expect(await counted([row(1, changes)])).toStrictEqual([
    '# of 1 row of the audit, 0 flows with 0 packets would newly be admitted',
  ]);
});

test('newly admitted flows of the audit are counted for both protocols of DNS', async () => {
  const rows = [
    row(1, { ...from('worker'), 'destination.port': 53, 'network.transport': 'udp', 'network.packets': 3 }),
    row(2, { ...from('worker'), 'destination.port': 53, 'network.transport': 'tcp', 'network.packets': 4 }),
    row(3, { ...from('worker'), 'destination.port': 53, 'network.transport': 'sctp', 'network.packets': 5 }),
  ];
  expect((await counted(rows, '53/UDP'))[0]).toContain('2 flows with 7 packets');
});

test('newly admitted flows of the audit are counted once if a row was sent twice', async () => {
  const sent = row(1, { ...from('twin'), 'network.packets': 5 });
  expect((await counted([sent, sent]))[0]).toContain('1 flow with 5 packets');
});

test.each<[string, FlowRecord]>([
  ['whose Pods are gone', from('gone')],
  ['whose end is redacted', { 'source.kind': 'redacted', 'source.address': undefined }],
  ['of a network in place of an address', { 'source.kind': 'external', 'source.address': '203.0.113.0/24' }],
])('newly admitted flows of the audit may include those %s, which is shown', async (_, changes) => {
  expect((await counted([row(1, changes)]))[1]).toMatch(/^# not known of 1 more/);
});

test('names with line breaks stay within the comment of a suggestion', async () => {
  const lines = await counted([row(1, { ...from('twin'), 'destination.k8s.owner.name': 'x\nkind: Secret' })]);
  expect(lines.filter((line) => !line.startsWith('# '))).toStrictEqual([]);
});

test('files of --audit are unpacked and matched by pattern, and broken rows are named by file and line', async () => {
  writeFileSync(path('a.ndjson.gz'), gzipSync(linesOf([row(1, from('twin'))])));
  writeFileSync(
    path('a.ndjson.zst'),
    zstdCompressSync(`{"cut\n\n${linesOf([row(2, from('twin')), row(3, { 'schema.version': '2.0' })])}`),
  );
  const { status, out, err } = await suggested(['a.ndjson.*']);
  expect(out).toMatch(/^# of 2 rows of the audit, 1 flow with 2 packets/);
  const places = err.split('\n').map((line) => /a\.ndjson\.\w+:\d+/.exec(line)?.[0]);
  expect(places).toStrictEqual(['a.ndjson.zst:1', 'a.ndjson.zst:4', undefined]);
  expect(status).toBe(0);
});

test('files of --audit that are missing or have no row end it with 2', async () => {
  writeFileSync(path('none.ndjson'), 'x\n');
  for (const file of ['missing.ndjson', 'none.ndjson'])
    expect(await suggested([file])).toMatchObject({ status: 2, out: '' });
});

test('files of --audit: truncated anywhere, each complete row is read, and at most one is broken', async () => {
  const whole = Buffer.from(linesOf([row(1), row(2), row(3)]));
  await forAllAsync([fc.nat(whole.length)], { numRuns: 100 }, async (length) => {
    writeFileSync(path('cut.ndjson'), whole.subarray(0, length));
    const ids: string[] = [];
    const { rows, broken } = await readAuditRows([path('cut.ndjson')], (each) => void ids.push(each['event.id'] ?? ''));
    const lines = whole.subarray(0, length).toString().split('\n');
    expect(rows).toBeGreaterThanOrEqual(lines.length - 1);
    expect([rows + broken, ids]).toStrictEqual([
      lines.filter((line) => line !== '').length,
      ['id-1', 'id-2', 'id-3'].slice(0, rows),
    ]);
  });
});

test('after a line of many megabytes, or a name of thousands of characters, a file is read on', async () => {
  const long = row(1, { ...from('twin'), 'source.k8s.owner.name': 'x'.repeat(5000) });
  writeFileSync(path('long.ndjson'), `{"a":"${'x'.repeat(3_000_000)}"}\n${linesOf([long, row(2)])}`);
  const { rows, broken } = await readAuditRows([path('long.ndjson')], () => {});
  expect([rows, broken]).toStrictEqual([1, 2]);
});
