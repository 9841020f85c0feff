/** The wording of problems with rows and files; the other tests assert only places and counts. */
import { mkdirSync, openSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createWorkFolder, writeTemporary } from '../../../src/cli/report/read/files.ts';
import { expectLines } from '../../expected-file.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { linesOf, printed, row, writer } from './scene.ts';

const path = temporaryFolder();
const write = writer(path);

test('a broken row is reported in the expected words', async () => {
  const older = { 'schema.version': '2.0' };
  const broken = {
    'a line that is cut off': '{"schema.version":"1.0"',
    'a row without a version': '{"event.id":"x"}',
    'a row of another major version': JSON.stringify(row(1, older)),
    'a row without an id': JSON.stringify(row(1, { 'event.id': undefined })),
    'a field of another type': JSON.stringify({ ...row(1), 'destination.port': 'http' }),
  };
  const said: string[] = [];
  for (const [title, line] of Object.entries(broken)) {
    const file = write('rows.ndjson', `${linesOf([row(1)])}${line}\n`);
    const { problems } = await printed({ rows: [file] });
    said.push(`${title}: ${problems.join('\n').replaceAll(file, 'FILE')}`);
  }
  await expectLines(import.meta.dirname, 'broken-rows.expected.txt', said);
});

test('more broken rows than the limit are counted', async () => {
  const { problems } = await printed({ rows: [write('many.ndjson', linesOf([row(1)]) + '{}\n'.repeat(23))] });
  expect(problems.at(-1)).toBe('3 more rows that cannot be read');
});

test('unreadable files are reported', async () => {
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

test('a report without rows says so in the expected words', async () => {
  const older = { 'schema.version': '2.0' };
  const contents = {
    'no file': undefined,
    'an empty file': '\n',
    'a file of something else': 'kernel: drop\n'.repeat(30),
    'a large file of something else': 'kernel: drop\n'.repeat(1001),
    'JSON of something else': '{"level":"info"}\n',
    'rows of another major version only': linesOf([row(1, older), row(2, older)]),
  };
  const said: string[] = [];
  for (const [title, content] of Object.entries(contents)) {
    const file = content === undefined ? path('missing.ndjson') : write('nothing.ndjson', content);
    const named: string[] = [];
    const thrown = await printed({ rows: [file], onProblem: (problem) => void named.push(`\n  ${problem}`) }).then(
      () => 'nothing',
      (reason: Error) => reason.message,
    );
    said.push(`${title}: ${thrown}${named.join('')}`.replaceAll(file, 'FILE'));
  }
  await expectLines(import.meta.dirname, 'nothing.expected.txt', said);
});

test('a baseline without rows is refused', async () => {
  const [rows, baseline] = [write('good.ndjson', linesOf([row(1)])), write('empty.ndjson', '')];
  await expect(printed({ rows: [rows], baseline: [baseline] })).rejects.toThrow(`${baseline}: has no rows. `);
});

test('a truncated compressed file alone: reports the rows before the end', async () => {
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

test('a database that cannot be created is reported', async () => {
  const db = path('no-folder/audit.duckdb');
  await expect(printed({ rows: [write('a.ndjson.gz', gzipSync(''))], db })).rejects.toThrow(
    `${db}: cannot be made a database: `,
  );
});
