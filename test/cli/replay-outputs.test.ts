import { writeFileSync } from 'node:fs';
import { load } from 'js-yaml';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { type Outcome, replay as start, sample, subjectsIn } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, eventsIn, json, line, policyDeny, recordsIn } from './scene.ts';

const path = temporaryFolder();

const namesIn = ({ out }: Outcome): string[] =>
  [...out.matchAll(/^Name: +(.*)\n(?:Namespace: +(.*))?/gm)].map(([, name, namespace = '']) => `${namespace}/${name}`);

/** Drops of two hours. */
function log(): string {
  const name = path('node-b.log');
  const stamps = ['Nov 21 10:00:00', 'Nov 21 10:30:00', 'Nov 21 10:30:01', 'Nov 21 10:30:02', 'Nov 21 11:00:00'];
  writeFileSync(name, stamps.map((stamp) => line(stamp)).join(''));
  return name;
}

test("replay shows only a Namespace's objects", async () => {
  expect(namesIn(await replay(['--pods', cluster, '-n', 'shop', policyDeny]))).toEqual(['shop/postgres-0']);
});

test("replay shows only a Pod's Events, and none of a Node", async () => {
  const pod = ['--pod', 'worker-84f9d6c5bb-2fkjz'];
  const outcome = await replay(['--pods', cluster, ...pod, policyDeny, sample('kube-proxy-lw8zd-fight.log')]);
  expect(namesIn(outcome)).toEqual(['batch/worker-84f9d6c5bb-2fkjz']);
});

test('replay shows nothing for a Namespace without Events, and prints the number of others', async () => {
  const { out, err, status } = await replay(['--pods', cluster, '-n', 'nobody', policyDeny]);
  expect([status, /^Events +(\d+)/m.exec(out)?.[1], err.split('\n').length]).toEqual([0, '7', 2]);
  expect(err).toContain('Namespace nobody');
});

test('audit rows are those with either end in the Namespace', async () => {
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'audit', '-n', 'shop', policyDeny]);
  expect(recordsIn(out)).toHaveLength(36);
  const { out: none } = await replay(['--pods', cluster, '-q', '-o', 'audit', '-n', 'monitoring', policyDeny]);
  expect(none).toBe('');
});

test('writes are those of its objects', async () => {
  const { out } = await replay(['--pods', cluster, '-q', '--writes', '-n', 'shop', policyDeny]);
  expect([...new Set(out.split('\n').flatMap((each) => each.split('  ')[3] ?? []))]).toEqual(['Pod shop/postgres-0']);
});

const rowsOf = async (...args: string[]): Promise<FlowRecord[]> => {
  const { out, status } = await replay(['--pods', cluster, '-q', '-o', 'audit', ...args, policyDeny]);
  expect(status).toBe(0);
  return recordsIn(out);
};
const namespacesIn = (rows: readonly FlowRecord[]): string[] =>
  [...new Set(JSON.stringify(rows).match(/(?<=namespace\.name":")[^"]*/g))].toSorted();

test.each<[string, string[], string[]]>([
  ['all that is known', [], ['batch', 'shop']],
  ['of two Namespaces the one whose node dropped the packet', ['--audit-peers', 'redacted'], ['shop']],
  ['of --namespace that one alone, whoever dropped', ['--audit-peers', 'redacted', '-n', 'batch'], ['batch']],
  ['of objects without the label', ['--audit-opt-out', 'true'], ['batch', 'shop']],
])('audit rows for others: name %s', async (_, args, expected) => {
  const rows = await rowsOf(...args);
  expect([rows.length, namespacesIn(rows)]).toEqual([36, expected]);
});

test('rows show only the port of a Namespace with the label', async () => {
  const labels = { 'kube-netfilter-tailer/audit': 'redacted' };
  const namespaces = ['shop', 'batch'].map((name) => ({
    kind: 'Namespace',
    metadata: { name, labels: name === 'shop' ? labels : {} },
  }));
  writeFileSync(path('namespaces.json'), JSON.stringify({ kind: 'List', items: namespaces }));
  const rows = await rowsOf('--audit-opt-out', 'true', '--pods', path('namespaces.json'));
  expect(namespacesIn(rows)).toEqual(['batch']);
  expect(rows[0]).toMatchObject({ 'destination.kind': 'redacted', 'destination.port': 5432 });
  expect(JSON.stringify(rows)).not.toMatch(/postgres|10\.244\.1\.30/);
});

test('audit rows for others have truncated addresses', async () => {
  const [row] = await rowsOf('--audit-ipv4-prefix', '16');
  expect(row).toMatchObject({ 'source.address': '10.244.0.0/16', 'destination.address': '10.244.0.0/16' });
});

test.each<[string, string, number]>([
  ['a time', '2026-11-21T10:30:01Z', 3],
  ['a time without a zone, which is UTC', '2026-11-21T10:30', 4],
  ['a duration before --now', '1h', 1],
  ['a time after all', '2026-11-21T12:00:00Z', 0],
])('replay counts since: %s', async (_, since, count) => {
  const now = ['--now', '2026-11-21T12:00:00Z'];
  const outcome = await replay([...json, ...now, '-n', 'shop', '--since', since, log()]);
  const counts = eventsIn(outcome).map((event) => Number(/ x(\d+) /.exec(event)?.[1]));
  // A Pod's packets in two hours are two Events.
  expect(counts.reduce((sum, each) => sum + each, 0)).toBe(count);
});

test('replay counts since: prints what it left out, and not that nothing is logged', async () => {
  const { out } = await replay(['--pods', cluster, '--since', '2026-11-21T11:30:00Z', log()]);
  expect([/^earlier +(\d+)/m.exec(out)?.[1], /^drops +(.*)$/m.exec(out)?.[1]]).toEqual(['5', '0']);
});

test('wide prints a row for each Event', async () => {
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'wide', policyDeny]);
  const [head = '', ...rows] = out.trimEnd().split('\n');
  expect(head.split(/ {2,}/)).toEqual(
    'NAMESPACE,LAST SEEN,TYPE,REASON,OBJECT,SOURCE,FIRST SEEN,COUNT,NAME,MESSAGE'.split(','),
  );
  expect(rows).toHaveLength(7);
  const cells = rows.find((row) => row.startsWith('shop '))?.split(/ {2,}/) ?? [];
  expect(cells.slice(2, 6)).toEqual(['Warning', 'PacketDrop', 'pod/postgres-0', 'kube-netfilter-tailer, node-b']);
  expect(cells[7]).toBe('36');
});

test('wide: prints nothing without an Event', async () => {
  const { out } = await replay(['-q', '-o', 'wide', '-'], { stdin: 'nothing\n' });
  expect(out).toBe('');
});

test('yaml: prints a List of the same Events as json', async () => {
  const [yaml, lines] = await Promise.all([
    replay(['--pods', cluster, '-q', '-o', 'yaml', policyDeny]),
    replay([...json, policyDeny]),
  ]);
  expect(load(yaml.out)).toEqual({
    apiVersion: 'v1',
    kind: 'List',
    items: recordsIn(lines.out),
  });
});

test('mermaid draws a node for each workload, and an arrow with the packets of each service', async () => {
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'mermaid', policyDeny, sample('egress-denied.log')]);
  expect(out).toMatchInlineSnapshot(`
      "flowchart LR
        n0["batch/worker<br/>Deployment"]
        n1["shop/postgres<br/>StatefulSet"]
        n0 -->|"5432/TCP ×36"| n1
        n2["shop/cart<br/>Deployment"]
        n3["203.0.113.80<br/>outside the cluster"]
        n2 -->|"443/TCP ×12"| n3
        n4["monitoring/syslog-relay-node-b<br/>Pod"]
        n5["198.51.100.40<br/>outside the cluster"]
        n4 -->|"514/UDP ×3"| n5
      "
    `);
});

test('mermaid: without packets, prints a chart that says so', async () => {
  writeFileSync(path('empty.log'), 'Nov 21 10:00:00 node-b kernel: docker0: port 1 entered disabled state\n');
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'mermaid', path('empty.log')]);
  expect(out).toMatchInlineSnapshot(`
      "flowchart LR
        none["no packet was dropped"]
      "
    `);
});

test('mermaid draws many peers as the largest sixty arrows and the packets of the others', async () => {
  const drops = Array.from({ length: 100 }, (_, index) =>
    line('Nov 21 10:15:04').replace('SRC=10.244.0.41', `SRC=198.51.100.${index}`),
  );
  writeFileSync(path('many.log'), drops.join(''));
  const { out } = await replay(['--pods', cluster, '-q', '-o', 'mermaid', path('many.log')]);
  expect(out.match(/-->/g)).toHaveLength(60);
  expect(out).toContain('"40 packets of other pairs"');
});

test('html is one page with the Events and the packets', async () => {
  const { out, status } = await start(['--pods', cluster, '-q', '-o', 'html', policyDeny]);
  expect(status).toBe(0);
  expect(out).toMatch(/^<!doctype html>/);
  const rows = /<section id="events">.*?<tbody>(.*?)<\/tbody>/s.exec(out)?.[1] ?? '';
  expect(rows.match(/<tr>/g)).toHaveLength(7);
  expect(/<dt>Packets<\/dt><dd>(\d+)/.exec(out)?.[1]).toBe('36');
});

test('html: says so if temporary files have no place', async () => {
  const outcome = await start(['-q', '-o', 'html', policyDeny], { env: { TMPDIR: path('nowhere') } });
  expect([outcome.status, outcome.out, subjectsIn(outcome.err).length]).toEqual([2, '', 1]);
});

test.each([
  ['always', true],
  ['never', false],
  ['auto', false],
])('a table in a file has colours with --color %s', async (when, expected) => {
  const { out } = await replay(['--pods', cluster, '-q', '--color', when, policyDeny]);
  expect(out.includes('\u001b[')).toBe(expected);
});
