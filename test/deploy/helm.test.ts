import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { expect, test } from 'vitest';
import {
  chartFolder,
  configSchema,
  copied,
  readSchema,
  type Schema,
  withValuesTable,
} from '../../scripts/helm-chart.ts';
import { version } from '../../src/agent/config/config.ts';
import { settingNames, settingOf } from '../../src/agent/config/settings.ts';
import { foldersOf, root } from './manifests.ts';

const tables: { openMaps: string[] } = {
  // Maps of the schema that take any key, because a structure of Kubernetes is passed on.
  openMaps: [
    'affinity.nodeAffinity',
    'affinity.podAffinity',
    'affinity.podAntiAffinity',
    'extraEnv.valueFrom.configMapKeyRef',
    'extraEnv.valueFrom.fieldRef',
    'extraEnv.valueFrom.resourceFieldRef',
    'extraEnv.valueFrom.secretKeyRef',
    'extraObjects',
    'extraVolumes',
    'global',
    'lookups.directory.affinity.nodeAffinity',
    'lookups.directory.affinity.podAffinity',
    'lookups.directory.affinity.podAntiAffinity',
    'networkPolicy.from.namespaceSelector',
    'networkPolicy.from.podSelector',
    'podMonitor.metricRelabelings',
    'podSecurityContext',
    'securityContext',
  ],
};

/** Tests the chart without helm; tests with helm are in test/e2e/helm. */

const chart = load(read('Chart.yaml')) as Record<string, string>;
const values = load(read('values.yaml')) as Record<string, unknown>;
const schema = readSchema();
const structures = new Set(['resources', 'affinity', 'updateStrategy', 'seLinuxOptions']);

test('the versions are that of package.json', () => {
  expect(chart).toMatchObject({ apiVersion: 'v2', name: 'kube-netfilter-tailer', version, appVersion: version });
});

test('the presets equal the overlays', () => {
  const presets = Object.keys(load(read('files/presets.yaml')) as object);
  expect(presets.toSorted()).toEqual(foldersOf('overlays'));
  expect(schema.properties?.['preset']?.enum?.toSorted()).toEqual(foldersOf('overlays'));
});

test.each(copied)('the copy of %s is up to date', (path) => {
  expect(read(`files/${basename(path)}`)).toBe(readFileSync(join(root, path), 'utf8'));
});

test('the schema of `config` is up to date', () => {
  expect(schema.properties?.['config']).toEqual(configSchema());
});

test('the table of README.md is up to date', () => {
  const page = read('README.md');
  expect(withValuesTable(page)).toBe(page);
  expect(page).toContain('| `image.repository` |  |');
});

test("`config` has every setting except the Node's name, which differs for each Pod", () => {
  expect(Object.keys(configSchema().properties ?? {})).toEqual(settingNames.filter((name) => name !== 'node'));
});

test('Pods are replaced for exactly those settings that agents do not follow', () => {
  const omitted = /omit \.Values\.config ((?:"\w+" )+)\|/.exec(read('templates/_agent.tpl'))?.[1] ?? '';
  const followed = settingNames.filter((name) => settingOf(name).reload === true);
  expect([...omitted.matchAll(/\w+/g)].map(String).toSorted()).toEqual(followed.toSorted());
  for (const name of followed) expect(read('README.md')).toContain(`\`${name}\``);
});

test('values.schema.json has exactly the keys of values.yaml', () => {
  // A parent chart may set `enabled`. Keys of `config` have no defaults here.
  const { config: _, enabled: __, ...properties } = structuredClone(schema.properties ?? {});
  const { config, ...others } = values;
  expect(config).toEqual({});
  expect(keysOfSchema(properties)).toEqual(keysOfValues(others, properties));
});

test('every key has a description', () => {
  expect(unexplained(schema.properties ?? {})).toEqual([]);
});

test('no map accepts arbitrary keys, except where a structure of Kubernetes is passed on', () => {
  expect([schema, ...Object.values(schema.definitions ?? {})].flatMap((each) => openMaps(each)).toSorted()).toEqual(
    tables.openMaps,
  );
});

test.each(files().filter((name) => name.endsWith('.yaml') && !name.startsWith('templates/')))(
  '%s is YAML without a repeated key',
  (file) => {
    expect(() => loadAll(read(file))).not.toThrow();
  },
);

test('every named template and file exists, and every existing one is named', () => {
  const text = files()
    .filter((name) => /^templates\/.*\.(?:tpl|yaml|txt)$/.test(name))
    .map(read)
    .join('\n');
  const found = (pattern: RegExp): Set<string> => new Set([...text.matchAll(pattern)].map(([, name = '']) => name));
  expect(found(/define "([^"]+)"/g)).toEqual(found(/include "([^"]+)"/g));
  const there = files().filter((name) => name.startsWith('files/'));
  expect(found(/Files\.Get "([^"]+)"/g)).toEqual(new Set(there));
});

/** The keys of the schema, down to what is set as a whole: texts, lists, and structures of Kubernetes. */
function keysOfSchema(properties: Record<string, Schema>): unknown {
  return Object.fromEntries(
    Object.entries(properties).map(([key, each]) => {
      const section = sectionOf(key, each);
      return [key, section === undefined ? true : keysOfSchema(section)];
    }),
  );
}

function keysOfValues(given: object, properties: Record<string, Schema>): unknown {
  return Object.fromEntries(
    Object.entries(given).map(([key, value]: [string, object]) => {
      const section = sectionOf(key, properties[key] ?? {});
      return [key, section === undefined ? true : keysOfValues(value, section)];
    }),
  );
}

/** Structures of Kubernetes have more fields than there are defaults. */
function sectionOf(key: string, { properties }: Schema): Record<string, Schema> | undefined {
  return structures.has(key) ? undefined : properties;
}

/** Paths of keys whose row in the table would be empty. */
function unexplained(properties: Record<string, Schema>, prefix = ''): string[] {
  return Object.entries(properties).flatMap(([key, each]) => {
    const section = sectionOf(key, each);
    if (section !== undefined) return unexplained(section, `${prefix}${key}.`);
    return each.description === undefined ? [`${prefix}${key}`] : [];
  });
}

/** Paths of maps with neither a list of keys nor a type of their values. */
function openMaps({ type, properties = {}, items, additionalProperties, anyOf = [] }: Schema, path = ''): string[] {
  const within = Object.entries(properties).flatMap(([key, each]) =>
    openMaps(each, path === '' ? key : `${path}.${key}`),
  );
  const below = [...(items === undefined ? [] : [items]), ...anyOf].flatMap((each) => openMaps(each, path));
  return [...(type === 'object' && additionalProperties === undefined ? [path] : []), ...within, ...below];
}

function read(path: string): string {
  return readFileSync(join(root, chartFolder, path), 'utf8');
}

function files(): string[] {
  return readdirSync(join(root, chartFolder), { recursive: true, encoding: 'utf8' });
}
