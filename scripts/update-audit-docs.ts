/** Writes the table in docs/audit-fields.md, docs/audit.schema.json, and in deploy/audit what engines need, from the fields that flow records have. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Field, type FlowRecord, fields, schemaVersion } from '../src/publish/audit/fields.ts';

/** The fields that every record has. */
const requiredFields = [
  '@timestamp',
  'schema.version',
  'event.id',
  'event.name',
  'event.action',
] as const satisfies readonly (keyof FlowRecord)[];

const path = new URL('../docs/audit-fields.md', import.meta.url);
const schemaPath = new URL('../docs/audit.schema.json', import.meta.url);
const clickHousePath = new URL('../deploy/audit/clickhouse.sql', import.meta.url);
const openSearchPath = new URL('../deploy/audit/opensearch-template.json', import.meta.url);
const table = /^\| field \|.*(?:\n\|.*)*$/m;

/** The document with the table as it should be; throws if it has none. */
export function withFieldsTable(document: string): string {
  if (!table.test(document)) throw new Error('docs/audit-fields.md has no table that begins with "| field |"');
  return document.replace(table, tableOf);
}

/** JSON Schema (2020-12) of one line. A newer minor version has more fields, so others are allowed. */
export function recordSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `Flow record of kube-netfilter-tailer, version ${schemaVersion}`,
    type: 'object',
    required: requiredFields,
    properties: Object.fromEntries(
      Object.entries<Field>(fields).map(([name, field]) => [name, propertyOf(name, field)]),
    ),
  };
}

function propertyOf(name: string, { type, about, values }: Field): object {
  const description = about.replaceAll('`', '');
  if (name === 'schema.version')
    return { description, type: 'string', pattern: `^${schemaVersion.split('.')[0]}\\.\\d+$` };
  if (type === 'time') return { description, type: 'string', format: 'date-time' };
  if (type === 'boolean') return { description, const: true };
  if (type === 'integer') return { description, type, minimum: 0 };
  return { description, type, ...(values && { enum: values }) };
}

/** What both ends have stands in one row. */
function tableOf(): string {
  const rows = Object.entries<Field>(fields)
    .filter(([name]) => !name.startsWith('destination.') || !(name.replace('destination', 'source') in fields))
    .map(([name, { type, about, cardinality, ecs, ocsf }]) => {
      const cells = [code(name), type, labels[cardinality], about, code(ecs), code(ocsf)];
      return `| ${(name.startsWith('source.') ? cells.map(ofBothEnds) : cells).join(' | ')} |`;
    });
  return ['| field | type | label | what | ECS | OCSF 4001 |', '|---|---|---|---|---|---|', ...rows].join('\n');
}

const labels = { fine: 'yes', careful: 'careful', avoid: 'no' } as const;

/** `source.port` → `source.port`, `destination.port` */
function ofBothEnds(cell: string): string {
  if (/^`(?:source|src_)/.test(cell))
    return `${cell}, ${cell.replace('source', 'destination').replace('src_', 'dst_')}`;
  return cell.replaceAll('the source', 'the end');
}

function code(name: string): string {
  return name === '' ? '' : `\`${name}\``;
}

/** The table for ClickHouse: a column for each field, equal rows found by `event.id`. */
export function clickHouseTable(): string {
  const columns = clickHouseColumns().map((column) => `  ${column}`);
  return `-- Written by npm run update -- audit from the fields of docs/audit-fields.md. Rows that were sent twice have the same event.id and go when parts are
-- merged; FINAL in a query leaves them out before. Rows are removed after 400 days.
CREATE TABLE IF NOT EXISTS audit
(
${columns.join(',\n')}
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(\`@timestamp\`)
ORDER BY (\`destination.k8s.namespace.name\`, \`destination.k8s.owner.name\`, \`@timestamp\`, \`event.id\`)
TTL toDateTime(\`@timestamp\`) + INTERVAL 400 DAY;
`;
}

function clickHouseColumns(): string[] {
  return Object.entries<Field>(fields).map(([name, field]) => `\`${name}\` ${columnType(field)}`);
}

/** An index template for OpenSearch: texts are compared as they are, and an address may be a network. */
export function openSearchTemplate(): string {
  const types = { string: 'keyword', time: 'date', integer: 'long', boolean: 'boolean' } as const;
  const properties = Object.fromEntries(
    Object.entries<Field>(fields).map(([name, { type }]) => [name, { type: types[type] }]),
  );
  const template = {
    index_patterns: ['audit-*'],
    template: {
      settings: { 'index.codec': 'best_compression' },
      mappings: { dynamic: false, properties },
    },
  };
  return `${JSON.stringify(template, undefined, 2)}\n`;
}

/** A number that is missing is not 0: an ICMP type may be. */
function columnType({ type, cardinality }: Field): string {
  if (type === 'time') return "DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD)";
  if (type === 'integer') return 'Nullable(UInt64)';
  if (type === 'boolean') return 'Bool';
  return cardinality === 'avoid' ? 'String CODEC(ZSTD)' : 'LowCardinality(String)';
}

/** The formatter leaves it so. */
export function recordSchemaText(): string {
  return `${JSON.stringify(recordSchema(), undefined, 2)}\n`;
}

if (import.meta.main) {
  writeFileSync(path, withFieldsTable(readFileSync(path, 'utf8')));
  writeFileSync(schemaPath, recordSchemaText());
  writeFileSync(clickHousePath, clickHouseTable());
  writeFileSync(openSearchPath, openSearchTemplate());
  process.stdout.write('docs/audit-fields.md, docs/audit.schema.json and deploy/audit are up to date\n');
}
