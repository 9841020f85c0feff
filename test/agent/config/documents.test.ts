import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fromJSONSchema } from 'zod';
import { ConfigError } from '../../../src/agent/config/config.ts';
import { settingNames } from '../../../src/agent/config/settings.ts';
import { configJsonSchema, referenceTable, withTable } from '../../../scripts/config-docs.ts';
import { successors, withoutSuccessor } from '../../../src/agent/config/layer.ts';
import { readFileOf } from './reading.ts';

const tables: { values: [unknown, boolean][] } = {
  // Settings, and whether they are valid.
  values: [
    [{}, true],
    [{ $schema: 'config.schema.json', maxNodes: 5 }, true],
    [{ sources: ['kernel', 'file:/a'] }, true],
    [{ prefixes: { a: 'dropped' } }, true],
    [{ prefixes: ['a=dropped'] }, true],
    [{ prefixes: { '': 'dropped' } }, true],
    [{ prefixes: ['=dropped'] }, true],
    [{ kubeconfig: 'a' }, true],
    [{ statDir: '/a' }, false],
    [{ maxNodes: '5' }, false],
    [{ maxNodes: -1 }, false],
    [{ maxNodes: 1000000000 }, false],
    [{ includeNoise: 'yes' }, false],
    [{ logLevel: 'INFO' }, true],
    [{ logLevel: 'trace' }, false],
    [{ sources: [] }, false],
    [{ sources: 'kernel' }, false],
    [{ sources: ['journald'] }, false],
    [{ prefixes: { a: 'DROP' } }, false],
    [{ prefixes: ['a'] }, false],
    [{ prefixes: [' =dropped'] }, false],
    [{ stateDir: 'a' }, false],
  ],
};

const document = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

/** Out of date? `npm run update -- config` makes them. */

test('documents that are made from the settings: docs/config.schema.json is up to date', () => {
  expect(JSON.parse(document('config.schema.json'))).toEqual(configJsonSchema());
});

test('documents that are made from the settings: docs/configuration.md is up to date', () => {
  const page = document('configuration.md');
  expect(page).toContain(`\n${referenceTable()}\n`);
  expect(withTable(page)).toBe(page);
});

test('an old table is replaced whatever it contains, and the rest stays', () => {
  expect(withTable('a\n\n| key in the file | $& |\n|---|\n| old |\n\nb')).toBe(`a\n\n${referenceTable()}\n\nb`);
});

test('docs/migrating.md names every variable of kube-iptables-tailer', () => {
  const page = document('migrating.md');
  for (const variable of [...Object.keys(successors), ...withoutSuccessor, 'LOG_LEVEL'])
    expect(page).toContain(`| \`${variable}\` |`);
});

const schema = configJsonSchema() as { properties: Record<string, { description?: string; default?: unknown }> };
const validator = fromJSONSchema(schema);

test('the schema for editors describes every setting, with its default if it has one', () => {
  expect(Object.keys(schema.properties)).toEqual(['$schema', ...settingNames]);
  for (const property of Object.values(schema.properties)) expect(property.description).toMatch(/\S/);
  const without = settingNames.filter((name) => schema.properties[name]?.default === undefined);
  expect(without).toEqual([
    'node',
    'directory',
    'healthAddress',
    'dropsAddress',
    'kubeconfig',
    'cluster',
    'auditOtlpHeaders',
    'auditOtlpCa',
  ]);
});

test('the schema for editors accepts its own defaults', () => {
  const defaults = settingNames.flatMap((name) => {
    const preset = schema.properties[name]?.default;
    return preset === undefined ? [] : [[name, preset]];
  });
  expect(validator.safeParse(Object.fromEntries(defaults)).error).toBeUndefined();
});

test.each<[unknown, boolean]>([...tables.values, [{ kubeconfig: null }, false]])(
  'the schema for editors judges %j as the program does',
  (value, isRight) => {
    expect(validator.safeParse(value).success).toBe(isRight);
    const read = () => readFileOf(JSON.stringify(value));
    if (isRight) expect(read).not.toThrow();
    else expect(read).toThrow(ConfigError);
  },
);
