import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import type { Schema } from '../../../scripts/helm-chart.ts';
import { checkConfigFile } from '../../../src/agent/config/config.ts';
import { settingNames, settings } from '../../../src/agent/config/settings.ts';
import { daemonSetOf, type DaemonSet, type Manifest, parseManifests, root } from '../../deploy/manifests.ts';
import { helmOfFile } from './helm.ts';

/** Settings under `config` reach the agent as a file. Changes of them also do, as the page describes. */

const helm = helmOfFile();

const everything = {
  ...defaults(),
  kubeconfig: '/etc/cluster/kubeconfig',
  prefixes: { 'my-drop': 'dropped', '123': 'logged', no: 'rejected' },
  metricsAddress: '0.0.0.0:9999',
  healthAddress: '0.0.0.0:9998',
  dropsAddress: '0.0.0.0:9997',
  stateDir: '/var/lib/tailer',
  procRoot: '/node/proc',
  directory: '/node/directory',
  cluster: 'prod',
  auditOtlpHeaders: '/audit/headers',
  auditOtlpCa: '/audit/ca.pem',
  maxNodes: 999_999_999,
  timeZone: 'Europe/Berlin',
};

test('every setting reaches the agent, in a file that it accepts', async () => {
  expect(Object.keys(everything).toSorted()).toEqual(settingNames.filter((name) => name !== 'node').toSorted());
  const { text, daemonSet } = await withConfig(everything);
  const [agent] = daemonSet.spec.template.spec.containers;
  const path = agent?.env?.find(({ name }) => name === 'CONFIG_FILE')?.value ?? '';
  expect(checkConfigFile(path, () => text)).toEqual([]);
  expect(load(text)).toEqual(everything);
  expect(path.startsWith(`${mountOf(daemonSet, 'config').mountPath}/`)).toBe(true);
});

test('no variable sets what the file sets, because it would override the file', async () => {
  const { daemonSet } = await withConfig(everything, {
    hostNetwork: true,
    conntrack: { details: true },
    lookups: { directory: { enabled: true } },
  });
  const set = new Set(Object.values(settings).map(({ env }) => env)).difference(new Set(['', settings.node.env]));
  const names = daemonSet.spec.template.spec.containers[0]?.env?.map(({ name }) => name);
  expect(names?.filter((name) => set.has(name))).toEqual([]);
});

test('port and folders follow their settings', async () => {
  const { daemonSet } = await withConfig(everything, { conntrack: { details: true } });
  expect(daemonSet.spec.template.spec.containers[0]?.ports).toMatchObject([
    { containerPort: 9999 },
    { containerPort: 9998 },
  ]);
  expect(mountOf(daemonSet, 'state').mountPath).toBe('/var/lib/tailer');
  expect(daemonSet.spec.template.spec.volumes?.find(({ name }) => name === 'state')?.hostPath?.path).toBe(
    '/var/lib/tailer',
  );
  expect(mountOf(daemonSet, 'proc-net').mountPath).toBe('/node/proc/self/net');
  const { daemonSet: owners } = await withConfig(everything, { conntrack: { owners: true } });
  expect(mountOf(owners, 'proc').mountPath).toBe('/node/proc');
  const { daemonSet: asking } = await withConfig(everything, { lookups: { directory: { enabled: true } } });
  expect(mountOf(asking, 'directory').mountPath).toBe('/node/directory');
});

const changes = {
  prefixes: { 'my-drop': 'rejected' },
  includeNoise: true,
  logLevel: 'debug',
  sources: ['kernel'],
  maxNodes: 7,
  reverseDns: false,
  podCache: 'cluster',
};

test.each(Object.entries(changes))(
  'a change of %s makes new Pods only if agents do not follow it',
  async (name, value) => {
    const before = await withConfig(everything);
    const after = await withConfig({ ...everything, [name]: value });
    expect(after.text).not.toBe(before.text);
    const same = JSON.stringify(after.daemonSet.spec.template) === JSON.stringify(before.daemonSet.spec.template);
    expect(same).toBe('reload' in settings[name as keyof typeof changes]);
  },
);

test('without settings there is no file', async () => {
  const manifests = parseManifests(await helm.template());
  expect(manifests.map(({ kind }) => kind)).not.toContain('ConfigMap');
});

async function withConfig(config: object, values: object = {}): Promise<{ text: string; daemonSet: DaemonSet }> {
  const manifests = parseManifests(await helm.template({ ...values, config }));
  const configMap = manifests.find(({ kind }) => kind === 'ConfigMap') as
    | (Manifest & { data: Record<string, string> })
    | undefined;
  return { text: configMap?.data['config.yaml'] ?? '', daemonSet: daemonSetOf(manifests) };
}

function mountOf(daemonSet: DaemonSet, name: string): { mountPath: string } {
  const found = daemonSet.spec.template.spec.containers[0]?.volumeMounts?.find((mount) => mount.name === name);
  if (found === undefined) throw new Error(`nothing mounts ${name}`);
  return found;
}

function defaults(): Record<string, unknown> {
  const { properties = {} } = JSON.parse(readFileSync(join(root, 'docs/config.schema.json'), 'utf8')) as Schema;
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([, schema]) => schema.default !== undefined)
      .map(([name, schema]) => [name, schema.default]),
  );
}
