import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { type Manifest, daemonSetOf, parseManifests } from '../../deploy/manifests.ts';
import { chart, helmOfFile, type Values } from './helm.ts';

/** Unexpected values give correct objects, or a message that names the problem. */

const helm = helmOfFile();

const monitoring = { podMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboard: { enabled: true } };
const values = load(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Record<string, unknown>;

test.each(pathsOf(values))('%s: null removes the value, or is refused', async (path) => {
  const given = path
    .split('.')
    .reduceRight<unknown>((value, key) => ({ [key.replaceAll('\\', '.')]: value }), null) as Values;
  const shown = merged({ ...monitoring, preset: 'openshift', hostNetwork: true }, given);
  const { code, stdout, stderr } = await helm.run(['template', 'x', chart], shown);
  if (code === 0) expect(withoutContent(parseManifests(stdout))).toEqual([]);
  else expect(stderr).toContain(`missing property '${path.split('.').at(-1)}'`);
});

test('a grace period of zero is used only if it is set', async () => {
  const { code } = await helm.run(['template', 'x', chart], { terminationGracePeriodSeconds: null });
  expect(code).not.toBe(0);
  const rendered = await helm.template({ terminationGracePeriodSeconds: 0 });
  expect(daemonSetOf(parseManifests(rendered)).spec.template.spec['terminationGracePeriodSeconds']).toBe(0);
});

test.each([
  ['123', '007'],
  ['1e3', 'null'],
  ['true', 'on'],
  ['0x1f', '0b1'],
])('names that YAML takes for something else stay names: release %s in namespace %s', async (release, namespace) => {
  const own = {
    ...monitoring,
    preset: 'openshift',
    fullnameOverride: release,
    nameOverride: release,
    serviceAccount: { name: release },
    priorityClass: { name: release },
  };
  const manifests = parseManifests(await helm.template(own, { release, namespace }));
  for (const { kind, metadata } of manifests) {
    expect({ kind, name: metadata.name }).toMatchObject({ kind, name: expect.stringContaining(release) });
    if ('namespace' in metadata) expect({ kind, namespace: metadata.namespace }).toEqual({ kind, namespace });
    expect(metadata.labels).toMatchObject({ 'app.kubernetes.io/name': release, 'app.kubernetes.io/instance': release });
  }
  const { selector, template } = daemonSetOf(manifests).spec;
  expect(Object.values(selector.matchLabels)).toEqual([release, release]);
  expect(template.spec).toMatchObject({ serviceAccountName: release, priorityClassName: release });
});

test('names that YAML takes for something else stay names: long names are cut where a name may end', async () => {
  const long = { ...monitoring, nameOverride: `b${'-'.repeat(20)}c` };
  const place = { release: 'r'.repeat(53), namespace: 'n'.repeat(63) };
  for (const { metadata } of parseManifests(await helm.template(long, place)))
    expect(metadata.name).toMatch(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/);
  const { metadata } = daemonSetOf(parseManifests(await helm.template(long, place)));
  expect(metadata.name).toBe(`${'r'.repeat(53)}-b`);
});

test('texts with characters that templates, YAML and shells interpret are passed on unchanged', async () => {
  const text = ' {{ fail "no" }} "a" \'b\'\n---\n# c: d\n\t${HOME} ü😀 \n\n';
  const rendered = await helm.template({
    podAnnotations: { [text.trim()]: text },
    serviceAccount: { annotations: { text } },
    extraEnv: [{ name: 'TEXT', value: text }],
    config: { timeZone: text.trim(), prefixes: { '{{ x }}': 'dropped', '<<': 'logged', 'a\nb': 'dropped' } },
    tolerations: Array.from({ length: 2000 }, (_, index) => ({ key: `key-${index}`, value: text })),
  });
  const manifests = parseManifests(rendered) as (Manifest & { data?: Record<string, string> })[];
  const { template } = daemonSetOf(manifests).spec;
  expect(template.metadata).toMatchObject({ annotations: { [text.trim()]: text } });
  expect(template.spec.containers[0]?.env).toContainEqual({ name: 'TEXT', value: text });
  expect(template.spec['tolerations']).toHaveLength(2000);
  expect(load(manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['config.yaml'] ?? '')).toEqual({
    timeZone: text.trim(),
    prefixes: { '{{ x }}': 'dropped', '<<': 'logged', 'a\nb': 'dropped' },
  });
});

test('as a subchart, it accepts values that the parent chart asks for', async () => {
  expect(await helm.template({ enabled: true, global: { storageClass: 'fast' } })).toBe(await helm.template());
});

/** Paths of all keys, with `\` for a dot within one. */
function pathsOf(given: object, prefix = ''): string[] {
  return Object.entries(given).flatMap(([key, value]: [string, unknown]) => {
    const path = `${prefix}${key.replaceAll('.', '\\')}`;
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isMap ? [path].concat(pathsOf(value, `${path}.`)) : [path];
  });
}

function merged(left: Values, right: Values): Values {
  const result: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const before = result[key];
    const isBoth = [before, value].every((each) => typeof each === 'object' && each !== null);
    result[key] = isBoth ? merged(before as Values, value as Values) : value;
  }
  return result;
}

/** Fields without a value, except those that OpenShift's constraints set to null. */
function withoutContent(given: unknown, path = ''): string[] {
  if (typeof given === 'string') return given.includes('%!') ? [path] : [];
  if (given === null)
    return /\.(?:priority|allowedCapabilities|defaultAddCapabilities)$|\.json$/.test(path) ? [] : [path];
  if (typeof given !== 'object') return [];
  return Object.entries(given).flatMap(([key, value]) => {
    if (key === 'spec' && typeof value !== 'object') return [`${path}.spec`];
    return withoutContent(value, `${path}.${key}`);
  });
}
