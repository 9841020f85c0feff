import { mkdirSync, readdirSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import { linesOf, row } from './report/scene.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { notedIn, program, replay, sample } from './program.ts';
import { writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

const denied: FlowRecord = {
  'policy.verdict': 'denied',
  'policy.decided_by': 'NetworkPolicy shop/web,NetworkPolicy shop/default-deny',
};

test('rows printed by replay are read from standard input', async () => {
  const { out } = await replay(['-q', '-o', 'audit', '--pods', sample('cluster.json'), sample('policy-deny.log')]);
  const outcome = await program(['report', '--output', 'csv', '-'], { stdin: out });
  expect(outcome).toMatchObject({ status: 0, err: '' });
  expect(outcome.out).toMatch(/^Deployment batch\/worker,batch,StatefulSet shop\/postgres,shop,tcp\/5432,dropped,36,/m);
});

test('broken rows are named on standard error, and the exit status is 1', async () => {
  const file = write('broken.ndjson', `${linesOf([row(1)])}{\n`);
  const { status, err, out } = await program(['report', '-o', 'table', file]);
  expect({ status, places: notedIn(err) }).toEqual({ status: 1, places: [`${file}:2`] });
  expect(out).toMatch(/^Packets +1$/m);
});

test('without any row, the exit status is 2, and nothing is printed', async () => {
  expect(await program(['report', path('missing.ndjson')])).toMatchObject({ status: 2, out: '' });
  expect(await program(['report', '-'])).toMatchObject({ status: 2, out: '' });
  expect(await program(['report', sample('policy-deny.log')])).toMatchObject({ status: 2, out: '' });
});

test('a page of replay without drops is printed', async () => {
  const log = write('quiet.log', 'Nov 21 10:00:00 node-b kernel: docker0: port 1 entered disabled state\n');
  const { status, out } = await replay(['-q', '-o', 'html', '--pods', sample('cluster.json'), log]);
  expect({ status, isPage: out.startsWith('<!doctype html>') }).toEqual({ status: 0, isPage: true });
});

test('--db leaves a database with the rows, their names and pairs, and replaces none', async () => {
  const file = write('rows.ndjson', linesOf([row(1), row(2, denied)]));
  const db = path('audit.duckdb');
  expect(await program(['report', '-o', 'table', '--db', db, file])).toMatchObject({ status: 0 });
  const instance = await DuckDBInstance.create(db, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const found = await connection.runAndReadAll(
    `SELECT "from", "to", sum("network.packets")::DOUBLE AS packets FROM flow GROUP BY ALL`,
  );
  expect(found.getRowObjectsJS()).toEqual([
    { from: 'Deployment batch/worker', to: 'StatefulSet shop/postgres', packets: 2 },
  ]);
  const ofPolicy = await connection.runAndReadAll(
    `SELECT "event.id" AS id FROM flow WHERE list_contains(policies, 'NetworkPolicy shop/default-deny')`,
  );
  expect(ofPolicy.getRowObjectsJS()).toEqual([{ id: 'id-2' }]);
  const byPolicy = await connection.runAndReadAll(
    `SELECT policy, verdict, sum(packets) AS packets FROM (SELECT *, unnest(string_split(named, ',')) AS policy FROM flow) GROUP BY policy, verdict ORDER BY policy, verdict`,
  );
  expect(byPolicy.getRowObjectsJS()).toEqual([
    { policy: 'NetworkPolicy shop/default-deny', verdict: 'denied', packets: 1 },
    { policy: 'NetworkPolicy shop/default-deny', verdict: 'unknown', packets: 1 },
    { policy: 'NetworkPolicy shop/web', verdict: 'denied', packets: 1 },
  ]);
  const sums = await connection.runAndReadAll(
    `SELECT policy, verdict, packets FROM by_policy ORDER BY policy, verdict`,
  );
  expect(sums.getRowObjectsJS()).toEqual(byPolicy.getRowObjectsJS());
  connection.closeSync();
  instance.closeSync();
  expect(await program(['report', '-o', 'table', '--db', db, file])).toMatchObject({ status: 2, out: '' });
});

test.each<[string, string, number]>([
  ['a name', 'shop/default-deny', 2],
  ['several with commas between', 'shop/web, other/*', 1],
  ['a name that no record has', 'shop/wbe', 0],
])('--policy with %s', async (_, names, records) => {
  const file = write('rows.ndjson', linesOf([row(1), row(2, denied)]));
  const { status, out } = await program(['report', '-o', 'json', '--policy', names, file]);
  expect({ status, records: (JSON.parse(out) as { extent: { records: number } }).extent.records }).toEqual({
    status: 0,
    records,
  });
});

test('--policy without a name is refused', async () => {
  expect(await program(['report', '-o', 'json', '--policy=shop/web,', 'rows.ndjson'])).toMatchObject({
    status: 2,
    out: '',
  });
});

test('files written by a failed report are removed', async () => {
  mkdirSync(path('tmp'));
  const { status } = await program(['report', '-o', 'json', '-'], {
    stdin: linesOf([row(1)]),
    env: { TMPDIR: path('tmp') },
  });
  expect({ status, left: readdirSync(path('tmp')) }).toEqual({ status: 0, left: [] });
});
