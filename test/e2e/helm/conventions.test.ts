import { expect, test } from 'vitest';
import { type Manifest, parseManifests } from '../../deploy/manifests.ts';
import { podOf } from '../deploying.ts';
import { chart, helmOfFile, type Values } from './helm.ts';

/** Values that people know from other charts mean what they mean there. */

const helm = helmOfFile();

const directory = { lookups: { directory: { enabled: true } } };

test('a checkout names none, so without one nothing is rendered and nothing pulled', async () => {
  const { code, stdout, stderr } = await helm.run(['template', 'x', chart], { image: { repository: '' } });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('--set image.repository=REGISTRY/kube-netfilter-tailer');
});

test.each([
  ['image.registry', { image: { registry: 'own.example', repository: 'team/x' } }, 'own.example/team/x'],
  [
    'global.imageRegistry',
    { global: { imageRegistry: 'all.example:5000' }, image: { repository: 'team/x' } },
    'all.example:5000/team/x',
  ],
  [
    'global.imageRegistry over image.registry',
    { global: { imageRegistry: 'all.example/mirror' }, image: { registry: 'own.example', repository: 'x' } },
    'all.example/mirror/x',
  ],
  [
    'global.imageRegistry in place of the registry in the name',
    { global: { imageRegistry: 'all.example' }, image: { repository: 'ghcr.io/team/x' } },
    'all.example/team/x',
  ],
  [
    'global.imageRegistry in place of an address in the name',
    { global: { imageRegistry: 'all.example' }, image: { repository: '[2001:db8::1]:5000/team/x' } },
    'all.example/team/x',
  ],
  ['no global values at all', { global: null, image: { repository: 'own.example/x' } }, 'own.example/x'],
])('the image: %s', async (_, values, expected) => {
  const rendered = await helm.template({ ...values, ...directory });
  const images = Array.from(rendered.matchAll(/^ +image: "(.+):\d+\.\d+\.\d+\S*-journal"$/gm), ([, image]) => image);
  expect(images).toEqual([expected, expected]);
});

test('Secrets for pulling it are those of all places, each once, as names or as maps', async () => {
  const rendered = await helm.template({
    ...directory,
    global: { imagePullSecrets: ['a', { name: 'b' }] },
    imagePullSecrets: ['c', { name: 'd' }, { name: 'a' }],
  });
  const pods = parseManifests(rendered).flatMap((manifest) => podsOf(manifest));
  const secrets = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
  expect(pods.map(({ imagePullSecrets }) => imagePullSecrets)).toEqual([secrets, secrets]);
});

test('commonLabels are on every object and every Pod, and change no selector', async () => {
  const values: Values = {
    ...directory,
    podMonitor: { enabled: true },
    dashboard: { enabled: true },
    preset: 'openshift',
  };
  const manifests = parseManifests(
    await helm.template({ ...values, commonLabels: { team: 'network' }, podLabels: { tier: 'node' } }),
  );
  for (const { kind, metadata } of manifests)
    expect({ kind, labels: metadata.labels }).toMatchObject({ kind, labels: { team: 'network' } });
  expect(manifests.flatMap((manifest) => labelsOfPods(manifest))).toEqual([
    expect.objectContaining({ team: 'network', tier: 'node' }),
    expect.objectContaining({ team: 'network' }),
  ]);
  expect(selectors(manifests)).toEqual(selectors(parseManifests(await helm.template(values))));
});

test('a label that selects Pods cannot be a common one', async () => {
  const { code, stderr } = await helm.run(['template', 'x', chart], {
    commonLabels: { 'app.kubernetes.io/name': 'x' },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('commonLabels: app.kubernetes.io/name');
});

test('a field of a security context goes over that of chart and preset, and the others stay', async () => {
  const pod = podOf(
    await helm.template({
      preset: 'openshift',
      podSecurityContext: { seLinuxOptions: { level: 's0' }, fsGroup: 3 },
      securityContext: { capabilities: { add: ['SYSLOG'] }, readOnlyRootFilesystem: false },
    }),
  );
  expect(pod.securityContext).toEqual({
    runAsUser: 0,
    runAsGroup: 0,
    seccompProfile: { type: 'RuntimeDefault' },
    seLinuxOptions: { type: 'spc_t', level: 's0' },
    fsGroup: 3,
  });
  expect(pod.containers[0]?.securityContext).toEqual({
    privileged: false,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: false,
    capabilities: { drop: ['ALL'], add: ['SYSLOG'] },
  });
});

test('with priorityClassName, Pods have that class and none is made', async () => {
  const rendered = await helm.template({ priorityClassName: 'system-node-critical' });
  expect(podOf(rendered)['priorityClassName']).toBe('system-node-critical');
  expect(parseManifests(rendered).filter(({ kind }) => kind === 'PriorityClass')).toEqual([]);
});

test('extraObjects are rendered, from maps and from texts, with their templates', async () => {
  const rendered = await helm.template({
    extraObjects: [
      { apiVersion: 'v1', kind: 'Service', metadata: { name: '{{ include "kube-netfilter-tailer.fullname" . }}-map' } },
      'apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}-text\n',
    ],
  });
  const services = parseManifests(rendered).filter(({ kind }) => kind === 'Service');
  expect(services.map(({ metadata }) => metadata.name)).toEqual([
    'kube-netfilter-tailer-map',
    'kube-netfilter-tailer-text',
  ]);
});

test.each(['https://wiki.example.org/x', 'https://wiki.example.org/x/'])(
  'docsUrl %s is the base of all links: alerts, dashboard, agent',
  async (docsUrl) => {
    const values = { docsUrl, prometheusRule: { enabled: true }, dashboard: { enabled: true } };
    const rendered = await helm.template(values);
    expect(rendered).toContain('runbook_url: https://wiki.example.org/x/docs/alerts/KubeNetfilterTailerDown.md');
    const dashboard = /kube-netfilter-tailer\.json: \|\n((?: {4}.*\n)+)/.exec(rendered)?.[1] ?? '';
    const { templating } = JSON.parse(dashboard) as { templating: { list: { name: string }[] } };
    const current = { text: 'https://wiki.example.org/x', value: 'https://wiki.example.org/x' };
    expect(templating.list.find(({ name }) => name === 'docs')).toMatchObject({ query: current.value, current });
    const env = podOf(rendered).containers[0]?.env;
    expect(env).toContainEqual({ name: 'DOCS_URL', value: 'https://wiki.example.org/x/' });
  },
);

test.each([
  ['in one namespace', { release: 'kube-netfilter-tailer-gpu' }],
  ['of one name in two namespaces', { namespace: 'other' }],
  ['with names as long as can be', { release: 'r'.repeat(53), namespace: 'n'.repeat(63) }],
])('two releases %s have dashboards that Grafana can show beside each other in one folder', async (_, place) => {
  const dashboards = [
    await helm.template({ dashboard: { enabled: true } }),
    await helm.template({ dashboard: { enabled: true } }, place),
  ];
  const [left, right] = dashboards.map((rendered) => {
    const found = parseManifests(rendered).find(({ metadata }) => metadata.name.endsWith('-dashboard'));
    const [[file, text] = ['', '{}']] = Object.entries((found as unknown as { data: Record<string, string> }).data);
    const { uid, title } = JSON.parse(text) as { uid: string; title: string };
    return { file, uid, title };
  });
  for (const key of ['file', 'uid', 'title'] as const) expect(right?.[key]).not.toBe(left?.[key]);
  // Longer ones, and those with a dot, Grafana refuses.
  expect(right?.uid).toMatch(/^[\w-]{1,40}$/);
});

function selectors(objects: readonly Manifest[]): unknown[] {
  return objects.map((object) => (object as unknown as { spec?: { selector?: unknown } }).spec?.selector);
}

function podsOf(manifest: Manifest): { imagePullSecrets?: unknown }[] {
  const { spec } = manifest as Manifest & { spec?: { template?: { spec: { imagePullSecrets?: unknown } } } };
  return spec?.template === undefined ? [] : [spec.template.spec];
}

function labelsOfPods(manifest: Manifest): unknown[] {
  const { spec } = manifest as Manifest & { spec?: { template?: { metadata: { labels: unknown } } } };
  return spec?.template === undefined ? [] : [spec.template.metadata.labels];
}
