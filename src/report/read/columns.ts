/** Makes a row of the table of a line of NDJSON, and says what is wrong with an invalid one. */
import { fields, schemaVersion } from '../../audit/fields.ts';
import { column, literal } from '../engine.ts';

/** Longer texts of a row are cut. Names of Kubernetes have 253 characters at most; a list of them has 1,000. */
const longestText = 256;
const longestList = 1000;

/** The name that DuckDB has for it. */
export type Packing = 'gzip' | 'zstd' | 'uncompressed';

const names = Object.keys(fields) as (keyof typeof fields)[];

const types = { string: 'VARCHAR', time: 'TIMESTAMP', integer: 'BIGINT', boolean: 'BOOLEAN' } as const;

const [major] = schemaVersion.split('.');

/** A table for rows; `problem` is what is wrong with one. */
export function createTable(table: string): string {
  const columns = names.map((name) => `${column(name)} ${types[fields[name].type]}`);
  return `CREATE TABLE ${table} (${columns.join(', ')}, problem VARCHAR)`;
}

/**
 * Reads one file. Each line that is not blank becomes a row, in the order of the file, also one that is no JSON: all its fields are NULL then.
 * So everything is read as text first: a wrong type would become NULL without a word.
 */
export function insertFile(table: string, path: string, kind: Packing): string {
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
      return integerOf(text);
    case 'boolean':
      return `${text} = 'true'`;
    default:
      return timeOf(text);
  }
}

/** A cast to TIMESTAMP ignores the zone; one to TIMESTAMPTZ takes `infinity` and times without a zone, too. */
function timeOf(text: string): string {
  const zoned = `regexp_full_match(${text}, '.{10}T[0-9:.,]+[+-][0-9]{2}:[0-9]{2}')`;
  return `CASE WHEN ${text} LIKE '____-__-__T__:__:__%Z' OR ${zoned} THEN make_timestamp(epoch_us(TRY_CAST(${text} AS TIMESTAMPTZ))) END`;
}

/** A cast would round 1.5, and take 0x10. */
function integerOf(text: string): string {
  return `CASE WHEN regexp_full_match(${text}, '[0-9]{1,15}') THEN TRY_CAST(${text} AS BIGINT) END`;
}

const [version, id, name, time, packets] = (
  ['schema.version', 'event.id', 'event.name', '@timestamp', 'network.packets'] as const
).map(column) as [string, string, string, string, string];

/** Codes of problems; see `problemText`. */
const problem = `CASE
  WHEN ${version} IS NULL AND ${id} IS NULL AND ${name} IS NULL AND ${time} IS NULL THEN 'no-record'
  WHEN ${version} IS NULL THEN 'no-version'
  WHEN NOT regexp_full_match(${version}, '${major}[.][0-9]{1,9}') THEN 'version:' || left(${version}, 32)
  ${['event.id', 'event.name', '@timestamp'].map((each) => `WHEN coalesce(${column(each)}, '') = '' THEN 'missing:${each}'`).join('\n  ')}
  WHEN ${packets} IS NULL AND ${name} IN ('network.flow.drop', 'network.flow.log') THEN 'missing:network.packets'
  ${names.flatMap(wrongType).join('\n  ')}
END`;

function wrongType(each: keyof typeof fields): string[] {
  const text = column(each);
  switch (fields[each].type) {
    case 'string':
      return [];
    case 'boolean':
      return [`WHEN ${text} NOT IN ('true', 'false') THEN 'type:${each}'`];
    default:
      return [`WHEN ${text} IS NOT NULL AND (${valueOf(each)}) IS NULL THEN 'type:${each}'`];
  }
}

/** Says to a person what is wrong with a row. */
export function problemText(code: string): string {
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
