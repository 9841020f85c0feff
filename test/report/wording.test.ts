/** The wording of what is wrong with rows and files; the other tests assert places and counts only. */
import { mkdirSync, openSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createWorkFolder, writeTemporary } from '../../src/report/work-folder.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { linesOf, printed, row, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

test.each<[string, string, string]>([
  ['a line that is cut off', '{"schema.version":"1.0"', 'is no flow record: cut off, or no JSON'],
  [
    'a row without a version',
    '{"event.id":"x"}',
    'has no schema.version: no row of the audit, or one of an earlier checkout',
  ],
  [
    'a row of another major version',
    JSON.stringify(row(1, { 'schema.version': '2.0' })),
    'has schema version 2.0; this program reads 1.x: read it with the program that wrote it, or a newer one',
  ],
  ['a row without an id', JSON.stringify(row(1, { 'event.id': undefined })), 'has no event.id'],
  [
    'a field of another type',
    JSON.stringify({ ...row(1), 'destination.port': 'http' }),
    'destination.port is not what docs/audit.md says',
  ],
])('%s', async (_, line, sentence) => {
  const file = write('rows.ndjson', `${linesOf([row(1)])}${line}\n`);
  expect((await printed({ rows: [file] })).problems).toEqual([`${file}:2: ${sentence}`]);
});

test('more broken rows than are named', async () => {
  const { problems } = await printed({ rows: [write('many.ndjson', linesOf([row(1)]) + '{}\n'.repeat(23))] });
  expect(problems.at(-1)).toBe('3 more rows that cannot be read');
});

test('files that cannot be read', async () => {
  mkdirSync(path('folder'), { recursive: true });
  const [rows, list] = [write('good.ndjson', linesOf([row(1)])), write('events.json', 'no JSON')];
  const events = [list, path('no-events.json')];
  const { problems } = await printed({
    rows: [path('missing.ndjson'), path('none*.gz'), path('folder'), rows],
    events,
  });
  expect(problems).toEqual([
    `${path('missing.ndjson')}: no such file`,
    `${path('none*.gz')}: no file has such a name`,
    `${path('folder')}: is a folder; name the files in it`,
    `${list}: is no JSON of Events`,
    `${path('no-events.json')}: no such file`,
  ]);
});

const howTo =
  "To make rows of saved logs: kube-netfilter-tailer replay --pods cluster.json --output audit kern.log > audit.ndjson. The agent's: docs/audit.md";

test.each<[string, string, string, string[]]>([
  ['no file', '', `nothing was read. ${howTo}`, ['FILE: no such file']],
  ['an empty file', '\n', `FILE: has no rows. ${howTo}`, []],
  [
    'a file of something else',
    'kernel: drop\n'.repeat(30),
    `FILE: is no audit: none of 30 lines is a flow record. ${howTo}`,
    ['FILE:1: is no flow record: cut off, or no JSON'],
  ],
  [
    'a large file of something else',
    'kernel: drop\n'.repeat(1001),
    `nothing was read. ${howTo}`,
    ['FILE: is no audit: none of its first 1000 lines is a flow record'],
  ],
  [
    'JSON of something else',
    '{"level":"info"}\n',
    `FILE: is no audit: none of 1 line is a flow record. ${howTo}`,
    ['FILE:1: is no flow record: cut off, or no JSON'],
  ],
  [
    'rows of another major version only',
    linesOf([row(1, { 'schema.version': '2.0' }), row(2, { 'schema.version': '2.0' })]),
    'FILE: no row can be read',
    ['FILE:1: has schema version 2.0; this program reads 1.x: read it with the program that wrote it, or a newer one'],
  ],
])('nothing to report on: %s', async (_, content, error, problems) => {
  const file = content === '' ? path('missing.ndjson') : write('nothing.ndjson', content);
  const named: string[] = [];
  const shown = (text: string): string => text.replaceAll(file, 'FILE');
  const all = { rows: [file], onProblem: (problem: string) => void named.push(shown(problem)) };
  const thrown = await printed(all).then(
    () => 'nothing',
    (reason: Error) => shown(reason.message),
  );
  expect({ thrown, named }).toEqual({ thrown: error, named: problems });
});

test('a baseline without rows is none', async () => {
  const [rows, baseline] = [write('good.ndjson', linesOf([row(1)])), write('empty.ndjson', '')];
  await expect(printed({ rows: [rows], baseline: [baseline] })).rejects.toThrow(`${baseline}: has no rows. `);
});

test('a packed file that is cut off, and no other: a report on what came before the cut', async () => {
  const file = write('cut.ndjson.gz', gzipSync(linesOf([row(1)])).subarray(0, -8));
  const { out, problems, isWhole } = await printed({ rows: [file] });
  expect(problems).toEqual([
    `${file}: the gzip data is damaged or cut off (unexpected end of file); what came before it was read`,
  ]);
  expect({ isWhole, denied: (JSON.parse(out) as { denied: number }).denied }).toEqual({ isWhole: false, denied: 1 });
});

test('a missing and a full place for temporary files are reported', () => {
  expect(() => createWorkFolder(path('nowhere'))).toThrow(
    'no folder for temporary files can be made (TMPDIR names another place): no such file',
  );
  const full = openSync('/dev/full', 'w');
  expect(() => writeTemporary(full, 'row')).toThrow(
    'temporary files cannot be written (TMPDIR names another place): ENOSPC: no space left on device, write',
  );
});

test('a database that cannot be made', async () => {
  const db = path('no-folder/audit.duckdb');
  await expect(printed({ rows: [write('a.ndjson.gz', gzipSync(''))], db })).rejects.toThrow(
    `${db}: cannot be made a database: `,
  );
});
