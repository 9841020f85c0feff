/** Writes the table in docs/audit.md and docs/audit.schema.json from the fields that flow records have. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Field, fields, requiredFields, schemaVersion } from '../src/audit/fields.ts';

const path = new URL('../docs/audit.md', import.meta.url);
const schemaPath = new URL('../docs/audit.schema.json', import.meta.url);
const table = /^\| field \|.*(?:\n\|.*)*$/m;

/** The document with the table as it should be; throws if it has none. */
export function withFieldsTable(document: string): string {
  if (!table.test(document)) throw new Error('docs/audit.md has no table that begins with "| field |"');
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

function tableOf(): string {
  const rows = Object.entries<Field>(fields).map(
    ([name, { type, about, cardinality, otel, ecs, ocsf }]) =>
      `| \`${name}\` | ${type} | ${cardinality === 'fine' ? 'yes' : 'no'}, ${cardinality} | ${about} | ${code(otel)} | ${code(ecs)} | ${code(ocsf)} |`,
  );
  return [
    '| field | type | label | what | OpenTelemetry | ECS | OCSF 4001 |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function code(name: string): string {
  return name === '' ? '' : `\`${name}\``;
}

/** As the formatter leaves it. */
export function recordSchemaText(): string {
  return `${JSON.stringify(recordSchema(), undefined, 2)}\n`;
}

if (import.meta.main) {
  writeFileSync(path, withFieldsTable(readFileSync(path, 'utf8')));
  writeFileSync(schemaPath, recordSchemaText());
  process.stdout.write('docs/audit.md and docs/audit.schema.json are up to date\n');
}
