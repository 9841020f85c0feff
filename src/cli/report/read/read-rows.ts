/** Reads files of rows into a table, reports broken rows, and keeps a row that was sent twice only once. */
import { readSync, openSync, closeSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { reasonOf } from '../../../base/platform/system-error.ts';
import { InputError, openInput } from '../../../read/sources/reading.ts';
import { fields, schemaVersion } from '../../../publish/audit/fields.ts';
import { column, type Engine, firstLine, literal } from '../engine.ts';
import { findFiles, lineNumbers, requireRows, writeReadable, writeTemporary } from './files.ts';

/** The most broken rows that are listed; all are counted. */
const mostNamed = 20;

export interface ReadResult {
  files: number;
  rows: number;
  broken: number;
  refused: number;
  duplicates: number;
  fileProblems: string[];
  /** Sentences about the first broken rows (`FILE:LINE: …`). */
  rowProblems: string[];
}

/** The rows of the table that come from one file; the first one has index `first`. */
interface Segment {
  name: string;
  path: string;
  first: number;
}

/** Reads the named files into a new table. `folder`: for temporary files. Rejects with a `ReportError` if DuckDB fails. */
export async function readRows(
  engine: Engine,
  table: string,
  { named, stdin, folder }: { named: readonly string[]; stdin: () => Readable; folder: string },
): Promise<ReadResult> {
  const { files, problems: fileProblems } = findFiles(named);
  const reading: ReadResult = {
    files: 0,
    rows: 0,
    broken: 0,
    refused: 0,
    duplicates: 0,
    fileProblems,
    rowProblems: [],
  };
  await engine.run(createTable(table));
  const segments: Segment[] = [];
  for (const name of files) {
    const written = join(folder, `${table}-${segments.length}.ndjson`);
    try {
      const path = isFile(name) ? name : written;
      const damage = path === name ? undefined : await spool(name, stdin, path);
      await requireRows(path);
      segments.push({ name, path, first: await countOf(engine, table) });
      await insert(engine, table, path, `${written}.readable`);
      if (damage !== undefined) throw damage;
      reading.files++;
    } catch (error) {
      fileProblems.push(error instanceof InputError ? error.message : `${name}: ${firstLine(reasonOf(error))}`);
    }
  }
  const bad = await engine.all<{ problem: string; count: number }>(
    `SELECT problem, count(*)::DOUBLE AS count FROM ${table} WHERE problem IS NOT NULL GROUP BY problem`,
  );
  for (const { problem, count } of bad) reading[problem.startsWith('version:') ? 'refused' : 'broken'] += count;
  if (bad.length > 0) reading.rowProblems = await nameProblems(engine, table, segments);
  const left = reading.broken + reading.refused - mostNamed;
  if (left > 0) reading.rowProblems.push(`${left} more rows that cannot be read`);
  if (bad.length > 0) await engine.run(`DELETE FROM ${table} WHERE problem IS NOT NULL`);
  await engine.run(`ALTER TABLE ${table} DROP COLUMN problem`);
  const before = await countOf(engine, table);
  await engine.run(deleteRepeated(table));
  reading.rows = await countOf(engine, table);
  reading.duplicates = before - reading.rows;
  return reading;
}

function isFile(name: string): boolean {
  if (name === '-') return false;
  const stat = statSync(name);
  if (stat.isDirectory()) throw new InputError(`${name}: is a folder; name the files in it`);
  return stat.isFile();
}

/** Writes standard input or a pipe to a file, which DuckDB needs. Returns why the input was not read to its end; undefined if it was. */
async function spool(name: string, stdin: () => Readable, path: string): Promise<InputError | undefined> {
  const file = openSync(path, 'w');
  try {
    return await damageOf(openInput(name, stdin).read((block) => writeTemporary(file, block)));
  } finally {
    closeSync(file);
  }
}

async function insert(engine: Engine, table: string, path: string, readable: string): Promise<void> {
  const packing = kindOf(path);
  if (!(await insertAsItIs(engine, table, path, packing))) {
    const damage = await damageOf(writeReadable(path, readable));
    await engine.run(insertFile(table, readable, 'uncompressed'));
    if (damage !== undefined) throw damage;
    return;
  }
  // Read the file to its end, because DuckDB does not notice that compressed data is cut off.
  if (packing !== 'uncompressed') await openInput(path).read(() => {});
}

/**
 * Resolves to whether it is in the table. DuckDB fails on a very long line, an object over many lines, or damaged compressed data, and takes the
 * next row for a part of a line that does not end.
 */
async function insertAsItIs(engine: Engine, table: string, path: string, packing: Packing): Promise<boolean> {
  const broken = async (): Promise<number> => {
    const sql = `SELECT count(*)::DOUBLE AS count FROM ${table} WHERE problem = 'no-record'`;
    return (await engine.one<{ count: number }>(sql)).count;
  };
  const before = await broken();
  await engine.run('BEGIN');
  try {
    await engine.run(insertFile(table, path, packing));
    // One alone is the last line of a file that is written to.
    if ((await broken()) - before < 2) return (await engine.run('COMMIT'), true);
  } catch {
    // It is read line by line instead.
  }
  await engine.run('ROLLBACK');
  return false;
}

async function damageOf(reading: Promise<void>): Promise<InputError | undefined> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
}

function kindOf(path: string): Packing {
  const file = openSync(path, 'r');
  const start = Buffer.alloc(4);
  try {
    readSync(file, start, 0, start.length, 0);
  } finally {
    closeSync(file);
  }
  if (start.readUInt16BE(0) === 0x1f8b) return 'gzip';
  return start.readUInt32LE(0) === 0xfd2fb528 ? 'zstd' : 'uncompressed';
}

async function countOf(engine: Engine, table: string): Promise<number> {
  return (await engine.one<{ count: number }>(`SELECT count(*)::DOUBLE AS count FROM ${table}`)).count;
}

/** Lists the first broken rows by file and line. `rowid` is the index of a row as long as no row was deleted. */
async function nameProblems(engine: Engine, table: string, segments: readonly Segment[]): Promise<string[]> {
  const rows = await engine.all<{ place: number; problem: string }>(
    `SELECT rowid::DOUBLE AS place, problem FROM ${table} WHERE problem IS NOT NULL ORDER BY rowid LIMIT ${mostNamed}`,
  );
  const bySegment = Map.groupBy(rows, ({ place }) => segments.findLast(({ first }) => first <= place));
  const sentences: string[] = [];
  for (const [segment, group] of bySegment) {
    if (segment === undefined) continue;
    const lines = await lineNumbers(
      segment.path,
      group.map(({ place }) => place - segment.first),
    ).catch(() => []);
    for (const [index, { problem }] of group.entries())
      sentences.push(`${segment.name}:${lines[index] ?? '?'}: ${problemText(problem)}`);
  }
  return sentences;
}

/** Keeps the first row of each `event.id`. Candidates are found by hash, which needs little memory. */
function deleteRepeated(table: string): string {
  return `DELETE FROM ${table} WHERE rowid IN (
    SELECT place FROM (
      SELECT rowid AS place, row_number() OVER (PARTITION BY "event.id" ORDER BY rowid) AS occurrence FROM ${table}
      WHERE hash("event.id") IN (SELECT hash("event.id") AS h FROM ${table} GROUP BY h HAVING count(*) > 1)
    ) WHERE occurrence > 1
  )`;
}

/** Longer texts, and below, longer lists of names, are cut. A name of Kubernetes has 253 characters at most, a list 1,000. */
const longestText = 256;
const longestList = 1000;

type Packing = 'gzip' | 'zstd' | 'uncompressed';

const names = Object.keys(fields) as (keyof typeof fields)[];

const types = { string: 'VARCHAR', time: 'TIMESTAMP', integer: 'BIGINT', boolean: 'BOOLEAN' } as const;

const [major] = schemaVersion.split('.');

/** The column `problem` has the problem of a row. */
function createTable(table: string): string {
  const columns = names.map((name) => `${column(name)} ${types[fields[name].type]}`);
  return `CREATE TABLE ${table} (${columns.join(', ')}, problem VARCHAR)`;
}

/**
 * Inserts a row for each line that is not blank, in the order of the file. If a line is not JSON, all its fields are NULL. Fields are read
 * as text first, because a value of a wrong type would also become NULL.
 */
function insertFile(table: string, path: string, kind: Packing): string {
  const columns = names.map((name) => `${literal(name)}: 'VARCHAR'`).join(', ');
  // DuckDB reads the name as a pattern, so its special characters are escaped.
  const pattern = literal(path.replace(/[[*?]/g, '[$&]'));
  const source = `read_json(${pattern}, format = 'newline_delimited', compression = ${literal(kind)}, ignore_errors = true, columns = {${columns}})`;
  return `INSERT INTO ${table} SELECT ${names.map(valueOf).join(', ')}, ${problem} FROM ${source}`;
}

function valueOf(name: keyof typeof fields): string {
  const text = column(name);
  switch (fields[name].type) {
    case 'string':
      return `left(${text}, ${name === 'policy.decided_by' ? longestList : longestText})`;
    case 'integer':
      // A cast alone would round 1.5, and accept 0x10.
      return `CASE WHEN regexp_full_match(${text}, '[0-9]{1,15}') THEN TRY_CAST(${text} AS BIGINT) END`;
    case 'boolean':
      return `${text} = 'true'`;
    default: {
      // A cast to TIMESTAMP ignores the zone; one to TIMESTAMPTZ also accepts `infinity` and times without a zone.
      const zoned = `regexp_full_match(${text}, '.{10}T[0-9:.,]+[+-][0-9]{2}:[0-9]{2}')`;
      return `CASE WHEN ${text} LIKE '____-__-__T__:__:__%Z' OR ${zoned} THEN make_timestamp(epoch_us(TRY_CAST(${text} AS TIMESTAMPTZ))) END`;
    }
  }
}

const [version, id, event, time, packets] = (
  ['schema.version', 'event.id', 'event.name', '@timestamp', 'network.packets'] as const
).map(column) as [string, string, string, string, string];

const problem = `CASE
  WHEN ${version} IS NULL AND ${id} IS NULL AND ${event} IS NULL AND ${time} IS NULL THEN 'no-record'
  WHEN ${version} IS NULL THEN 'no-version'
  WHEN NOT regexp_full_match(${version}, '${major}[.][0-9]{1,9}') THEN 'version:' || left(${version}, 32)
  ${['event.id', 'event.name', '@timestamp'].map((each) => `WHEN coalesce(${column(each)}, '') = '' THEN 'missing:${each}'`).join('\n  ')}
  WHEN ${packets} IS NULL AND ${event} IN ('network.flow.drop', 'network.flow.log') THEN 'missing:network.packets'
  ${names.flatMap(wrongType).join('\n  ')}
END`;

function wrongType(name: keyof typeof fields): string[] {
  const { type } = fields[name];
  if (type === 'string') return [];
  const text = column(name);
  const isWrong =
    type === 'boolean' ? `${text} NOT IN ('true', 'false')` : `${text} IS NOT NULL AND (${valueOf(name)}) IS NULL`;
  return [`WHEN ${isWrong} THEN 'type:${name}'`];
}

function problemText(code: string): string {
  const [kind = '', what = ''] = code.split(/:(.*)/s);
  switch (kind) {
    case 'no-record':
      return 'is no flow record: cut off, or no JSON';
    case 'no-version':
      return 'has no schema.version: no row of the audit';
    case 'version':
      return `has schema version ${what}; this program reads ${major}.x: read it with the program that wrote it, or a newer one`;
    case 'missing':
      return `has no ${what}`;
    default:
      return `${what} is not what docs/audit.md says`;
  }
}
