import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import {
  clickHouseTable,
  openSearchTemplate,
  recordSchema,
  withFieldsTable,
} from '../../../scripts/update-audit-docs.ts';
import { fields } from '../../../src/publish/audit/fields.ts';
import { packetRow } from '../../../src/publish/audit/flow.ts';
import { ends, line, observation } from '../../builders.ts';

const read = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

test('docs/audit-fields.md has the table of all fields (npm run update -- audit)', () => {
  const document = read('audit-fields.md');
  expect(withFieldsTable(document)).toBe(document);
});

test('docs/audit.schema.json is the schema of a record (npm run update -- audit)', () => {
  expect(JSON.parse(read('audit.schema.json'))).toEqual(JSON.parse(JSON.stringify(recordSchema())));
});

test('deploy/audit has the table and the template of all fields (npm run update -- audit)', () => {
  expect(read('../deploy/audit/clickhouse.sql')).toBe(clickHouseTable());
  expect(JSON.parse(read('../deploy/audit/opensearch-template.json'))).toEqual(JSON.parse(openSearchTemplate()));
});

test('no field name is a prefix of another one, which OpenSearch would take for an object', () => {
  const names = Object.keys(fields);
  expect(names.filter((name) => names.some((other) => other.startsWith(`${name}.`)))).toEqual([]);
});

test('a record matches the schema; without an id, with another major version or with text for a number it does not', () => {
  const ajv = new Ajv2020({ formats: { 'date-time': true } });
  const isRecord = ajv.compile(recordSchema());
  const row = packetRow(line(), { observation: observation(), ends: ends(), node: 'node-a', noise: undefined });
  const record = JSON.parse(row) as Record<string, unknown>;
  expect(isRecord(record)).toBe(true);
  expect(isRecord({ ...record, 'schema.version': '1.7', 'a.newer.field': 1 })).toBe(true);
  expect(isRecord({ ...record, 'event.id': undefined })).toBe(false);
  expect(isRecord({ ...record, 'schema.version': '2.0' })).toBe(false);
  expect(isRecord({ ...record, 'network.packets': '3' })).toBe(false);
});
