import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { definitions } from '../../deploy/custom-resources.ts';
import { root } from '../../deploy/manifests.ts';
import { connect } from '../control-plane/connection.ts';
import { createAll, createDeploying, type Deploying, namespaceWith, podOf, succeed } from '../deploying.ts';
import { chart, type Helm, helmOfFile, type Values } from './helm.ts';

/** The chart at a real API server. Nothing runs there, so `--wait` would wait for ever. */

const connection = connect(inject('controlPlane'));
const { kubectl, adminKubeconfig } = connection;
const release = 'kube-netfilter-tailer';
const helm = helmOfFile(adminKubeconfig);
let deploying: Deploying;

beforeAll(async () => {
  deploying = createDeploying(connection, helm.folder);
  const enforced = { 'pod-security.kubernetes.io/enforce': 'privileged' };
  const namespaces = ['applied', 'tried', 'installed', 'first', 'second', 'pools'].map((name) => `helm-${name}`);
  await createAll(connection, deploying, [...definitions, ...namespaces.map((name) => namespaceWith(name, enforced))]);
});

const all: Values = {
  conntrack: { owners: true },
  dockerRuntime: true,
  lookups: { calico: true, directory: { enabled: true } },
  hostNetwork: true,
  podMonitor: { enabled: true },
  dashboard: { enabled: true },
  config: { logLevel: 'debug', prefixes: { 'my-drop': 'dropped' } },
  image: { digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  networkPolicy: { from: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }] },
  serviceAccount: { annotations: { team: 'network' } },
  podAnnotations: { team: 'network' },
  podLabels: { team: 'network' },
  supplementalGroups: [4, 103],
  seLinuxOptions: { type: 'spc_t' },
  extraEnv: [{ name: 'TZ', value: 'UTC' }],
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
};

describe.each<[string, Values]>([
  ['everything that can be set', all],
  [
    'as little as can be',
    {
      serviceAccount: { create: false },
      rbac: { create: false },
      priorityClass: { create: false },
      networkPolicy: { enabled: false },
      admissionPolicy: { enabled: false },
      resources: null,
      affinity: null,
      tolerations: null,
      nodeSelector: null,
      startupProbe: null,
      livenessProbe: null,
      readinessProbe: null,
      updateStrategy: null,
    },
  ],
])('%s', (_, values) => {
  test('kubectl applies the output of helm, and its Pods are admitted', async () => {
    const namespace = 'helm-applied';
    const rendered = await helm.template(values, { namespace });
    expect(await deploying.apply(rendered)).toMatchObject({ code: 0, stderr: '' });
    // The ServiceAccount controller would do the same.
    expect(await deploying.admit(podOf(rendered), namespace)).toMatchObject({ code: 0, stderr: '' });
  });

  test('helm installs and removes it', async () => {
    const place = ['--namespace', 'helm-tried'];
    await expectSuccess(helm.run(['install', release, chart, ...place], values));
    await expectSuccess(helm.run(['uninstall', release, ...place]));
    expect(await left('helm-tried')).toBe('');
  });
});

test('a release is installed, changed and removed', async () => {
  const place = ['--namespace', 'helm-installed'];
  const { stdout } = await expectSuccess(
    helm.run(['install', release, chart, ...place], { config: { logLevel: 'info' } }),
  );
  expect(stdout).toContain('kubectl label namespace helm-installed pod-security.kubernetes.io/enforce=privileged');
  const generation = (): Promise<string> =>
    succeed(kubectl(['get', 'daemonset', release, ...place, '-o', 'jsonpath={.metadata.generation}']));
  const first = await generation();

  await expectSuccess(helm.run(['upgrade', release, chart, ...place], { config: { logLevel: 'debug' } }));
  expect(await succeed(kubectl(['get', 'configmap', release, ...place, '-o', 'jsonpath={.data}']))).toContain('debug');
  expect(await generation()).toBe(first);

  await expectSuccess(helm.run(['upgrade', release, chart, ...place], { config: { maxNodes: 5 }, preset: 'k3s' }));
  expect(Number(await generation())).toBeGreaterThan(Number(first));

  await expectSuccess(helm.run(['uninstall', release, ...place]));
  expect(await left('helm-installed')).toBe('');
});

test('releases of one name in two namespaces do not affect each other', async () => {
  for (const namespace of ['helm-first', 'helm-second'])
    await expectSuccess(helm.run(['install', release, chart, '--namespace', namespace]));
  await expectSuccess(helm.run(['uninstall', release, '--namespace', 'helm-first']));
  expect(await left('helm-first')).toBe('');
  const others = (await left('helm-second')).split('\n');
  expect(others.map((line) => line.replace(/\..*\//, '/')).toSorted()).toEqual([
    'clusterrole/helm-second.kube-netfilter-tailer',
    'clusterrole/helm-second.kube-netfilter-tailer-policies',
    'clusterrolebinding/helm-second.kube-netfilter-tailer',
    'clusterrolebinding/helm-second.kube-netfilter-tailer-policies',
    'daemonset/kube-netfilter-tailer',
    'networkpolicy/kube-netfilter-tailer',
    'priorityclass/helm-second.kube-netfilter-tailer',
    'serviceaccount/kube-netfilter-tailer',
    'validatingadmissionpolicy/helm-second.kube-netfilter-tailer',
    'validatingadmissionpolicybinding/helm-second.kube-netfilter-tailer',
  ]);
});

test('two releases in one namespace, one of them named by a number, do not affect each other', async () => {
  const place = ['--namespace', 'helm-pools'];
  const gpu: Values = { preset: 'eks', nodeSelector: { pool: 'gpu' } };
  await expectSuccess(helm.run(['install', release, chart, ...place], { preset: 'k3s' }));
  const names = await left('helm-pools');
  await expectSuccess(helm.run(['install', '123', chart, ...place], gpu));
  await expectSuccess(helm.run(['upgrade', '123', chart, ...place], { ...gpu, podLabels: { pool: 'gpu' } }));
  await expectSuccess(helm.run(['uninstall', '123', ...place]));
  expect(await left('helm-pools')).toBe(names);
});

test('the commands of docs/deploy.md work in their order', async () => {
  const [, section = ''] = /^## With Helm$(.*?)^## /ms.exec(readFileSync(join(root, 'docs/deploy.md'), 'utf8')) ?? [];
  const commands = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trim().split('\n'));
  expect(commands.length).toBeGreaterThan(3);
  for (const command of commands) {
    // The tests of the overlays use the namespace that the document names.
    const [program, ...args] = command
      .replaceAll(/(?<=namespace )kube-netfilter-tailer/g, 'helm-documented')
      .replaceAll('REGISTRY', 'registry.example')
      .split(' ');
    const running = program === 'helm' ? helm.run(args) : kubectl(args);
    expect({ command, ...(await running) }).toMatchObject({ command, code: 0 });
  }
  expect(await left('helm-documented')).toBe('');
});

const clusterKinds = [
  'clusterrole',
  'clusterrolebinding',
  'priorityclass',
  'securitycontextconstraints',
  'validatingadmissionpolicy',
  'validatingadmissionpolicybinding',
];

/** Names of everything left of a release in a namespace, one a line. */
async function left(namespace: string): Promise<string> {
  const kinds = 'daemonset,configmap,serviceaccount,networkpolicy,podmonitor';
  const selector = ['-l', 'app.kubernetes.io/managed-by=Helm', '-o', 'name'];
  const inside = await succeed(kubectl(['get', kinds, '-n', namespace, ...selector]));
  const outside = await succeed(kubectl(['get', clusterKinds.join(), ...selector]));
  const own = outside.split('\n').filter((line) => line.includes(`/${namespace}.`));
  return [...inside.trim().split('\n'), ...own].filter((line) => line !== '').join('\n');
}

async function expectSuccess(command: ReturnType<Helm['run']>): ReturnType<Helm['run']> {
  const result = await command;
  expect(result).toMatchObject({ code: 0 });
  return result;
}
