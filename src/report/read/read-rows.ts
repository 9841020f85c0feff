/** Files of rows become a table: what is broken is named, what was sent twice is in it once. */
import { readSync, openSync, closeSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { reasonOf } from '../../platform/system-error.ts';
import { InputError, openInput } from '../../sources/sources.ts';
import { fields, schemaVersion } from '../../audit/audit.ts';
import { column, type Engine, firstLine, literal } from '../engine.ts';
import { findFiles, lineNumbers, requireRows, writeReadable } from './files.ts';
import { writeTemporary } from '../work-folder.ts';

/** At most this number of broken rows is named; all are counted. */
const mostNamed = 20;

export interface Reading {
  files: number;
  /** Rows that are in the table. */
  rows: number;
  broken: number;
  /** Rows of another major version of the schema. */
  refused: number;
  duplicates: number;
  /** A sentence for each file that cannot be read. */
  fileProblems: string[];
  /** A sentence for each of the first broken rows (`FILE:LINE: …`). */
  rowProblems: string[];
}

/** Rows of the table from `first` on are lines of the file at `path`. */
interface Segment {
  name: string;
  path: string;
  first: number;
}

/** `folder`: for files that are written meanwhile. */
export async function readRows(
  engine: Engine,
  table: string,
  { named, stdin, folder }: { named: readonly string[]; stdin: () => Readable; folder: string },
): Promise<Reading> {
  const { files, problems: fileProblems } = findFiles(named);
  const reading: Reading = { files: 0, rows: 0, broken: 0, refused: 0, duplicates: 0, fileProblems, rowProblems: [] };
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

/** Standard input and pipes are read once, and DuckDB reads files. */
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
  try {
    await engine.run(insertFile(table, path, packing));
  } catch {
    // A line of many megabytes, an object over many lines, or packed data that is damaged: what came before the damage counts.
    const damage = await damageOf(writeReadable(path, readable));
    await engine.run(insertFile(table, readable, 'uncompressed'));
    if (damage !== undefined) throw damage;
    return;
  }
  // DuckDB takes packed data that is cut off for whole, also where all rows are behind the cut.
  if (packing !== 'uncompressed') await openInput(path).read(() => {});
}

/** Why an input was not read to its end. */
async function damageOf(reading: Promise<void>): Promise<InputError | undefined> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    if (error instanceof InputError) return error;
    throw error;
  }
}

/** Decides by the first bytes, because a name proves nothing. */
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

/** The first broken rows, by file and line. Nothing was deleted until now, so `rowid` is the place of a row. */
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

/** The hash finds candidates in little memory; `event.id` itself decides. The first of each stays. */
function deleteRepeated(table: string): string {
  return `DELETE FROM ${table} WHERE rowid IN (
    SELECT place FROM (
      SELECT rowid AS place, row_number() OVER (PARTITION BY "event.id" ORDER BY rowid) AS occurrence FROM ${table}
      WHERE hash("event.id") IN (SELECT hash("event.id") AS h FROM ${table} GROUP BY h HAVING count(*) > 1)
    ) WHERE occurrence > 1
  )`;
}

/** Longer texts of a row are cut. Names of Kubernetes have 253 characters at most; a list of them has 1,000. */
const longestText = 256;
const longestList = 1000;

type Packing = 'gzip' | 'zstd' | 'uncompressed';

const names = Object.keys(fields) as (keyof typeof fields)[];

const types = { string: 'VARCHAR', time: 'TIMESTAMP', integer: 'BIGINT', boolean: 'BOOLEAN' } as const;

const [major] = schemaVersion.split('.');

/** A table for rows; `problem` is what is wrong with one. */
function createTable(table: string): string {
  const columns = names.map((name) => `${column(name)} ${types[fields[name].type]}`);
  return `CREATE TABLE ${table} (${columns.join(', ')}, problem VARCHAR)`;
}

/**
 * Reads one file. Each line that is not blank becomes a row, in the order of the file, also one that is no JSON: all its fields are NULL then.
 * So everything is read as text first: a wrong type would become NULL without a word.
 */
function insertFile(table: string, path: string, kind: Packing): string {
  const columns = names.map((name) => `${literal(name)}: 'VARCHAR'`).join(', ');
  // DuckDB takes the name for a pattern.
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
      // A cast would round 1.5, and take 0x10.
      return `CASE WHEN regexp_full_match(${text}, '[0-9]{1,15}') THEN TRY_CAST(${text} AS BIGINT) END`;
    case 'boolean':
      return `${text} = 'true'`;
    default: {
      // A cast to TIMESTAMP ignores the zone; one to TIMESTAMPTZ takes `infinity` and times without a zone, too.
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

/** Says to a person what is wrong with a row. */
function problemText(code: string): string {
  const [kind = '', what = ''] = code.split(/:(.*)/s);
  switch (kind) {
    case 'no-record':
      return 'is no flow record: cut off, or no JSON';
    case 'no-version':
      return 'has no schema.version: no row of the audit, or one of an earlier checkout';
    case 'version':
      return `has schema version ${what}; this program reads ${major}.x: read it with the program that wrote it, or a newer one`;
    case 'missing':
      return `has no ${what}`;
    default:
      return `${what} is not what docs/audit.md says`;
  }
}
