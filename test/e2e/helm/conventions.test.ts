import { expect, test } from 'vitest';
import { foldersOf, type Manifest, parseManifests } from '../../deploy/manifests.ts';
import { podOf } from '../deploying.ts';
import { chart, helmOfFile, type Values } from './helm.ts';

/** Values that users know from other charts have the same meaning here. */

const helm = helmOfFile();

const directory = { lookups: { directory: { enabled: true } } };

test('a checkout names no image, so without one nothing is rendered and nothing pulled', async () => {
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

test('two registries for one image are refused, because neither has precedence', async () => {
  const values = { image: { registry: 'own.example', repository: 'registry.example/team/x' } };
  const { code, stderr } = await helm.run(['template', 'x', chart], values);
  expect(code).toBe(1);
  expect(stderr).toContain('image.registry: "own.example", and image.repository names another registry');
});

test('no agent goes to a node without containers, whatever the preset, unless its affinity is replaced', async () => {
  const expressions = [
    { key: 'eks.amazonaws.com/compute-type', operator: 'NotIn', values: ['fargate'] },
    { key: 'type', operator: 'NotIn', values: ['virtual-kubelet'] },
  ];
  const terms = { nodeSelectorTerms: [{ matchExpressions: expressions }] };
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: terms };
  for (const preset of foldersOf('overlays'))
    expect({ preset, ...podOf(await helm.template({ preset })) }).toMatchObject({ preset, affinity: { nodeAffinity } });
  const own = { podAntiAffinity: {} };
  expect(podOf(await helm.template({ affinity: own }))['affinity']).toEqual(own);
});

test('the directory has its own placement, and one replica can be evicted', async () => {
  const place = {
    nodeSelector: { pool: 'system' },
    tolerations: [{ key: 'only', operator: 'Exists' }],
    affinity: { podAntiAffinity: {} },
  };
  const added = { podAnnotations: { 'sidecar.istio.io/inject': 'false' }, podLabels: { tier: 'lookup' } };
  const rendered = await helm.template({
    commonLabels: { team: 'network' },
    lookups: { directory: { enabled: true, replicas: 1, ...place, ...added } },
  });
  const manifests = parseManifests(rendered) as unknown as { kind: string; spec: Record<string, unknown> }[];
  const deployment = manifests.find(({ kind }) => kind === 'Deployment');
  expect(deployment?.spec).toMatchObject({
    template: {
      metadata: { annotations: added.podAnnotations, labels: { ...added.podLabels, team: 'network' } },
      spec: { ...place, nodeSelector: { 'kubernetes.io/os': 'linux', pool: 'system' } },
    },
  });
  const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget');
  expect(budget?.spec).toEqual({ maxUnavailable: 1, selector: deployment?.spec['selector'] });
});

test("a common label that a component also has keeps the component's value", async () => {
  const { podMonitor, prometheusRule, dashboard } = {
    podMonitor: { enabled: true, labels: { release: 'prom' } },
    prometheusRule: { enabled: true, labels: { release: 'rules' } },
    dashboard: { enabled: true },
  };
  const commonLabels = { release: 'common', grafana_dashboard: '2' };
  const manifests = parseManifests(await helm.template({ podMonitor, prometheusRule, dashboard, commonLabels }));
  const labelsOf = (of: string): unknown => manifests.find(({ kind }) => kind === of)?.metadata.labels;
  expect(labelsOf('PodMonitor')).toMatchObject({ release: 'prom', grafana_dashboard: '2' });
  expect(labelsOf('PrometheusRule')).toMatchObject({ release: 'rules' });
  expect(labelsOf('ConfigMap')).toMatchObject({ release: 'common', grafana_dashboard: '1' });
});

test('live drops are served at the port on which the agents listen', async () => {
  const values = { liveDrops: true, config: { dropsAddress: '0.0.0.0:9999' } };
  const [agent] = podOf(await helm.template(values)).containers;
  expect(agent?.ports.find(({ name }) => name === 'drops')?.containerPort).toBe(9999);
});

const rightsWithoutGuard = /redirect kubectl exec and logs of any node/;
const openDrops = /anyone who reaches port 9092 of any node/;
test.each<[string, Values, RegExp, boolean]>([
  [
    'nodeCondition without its guard',
    { nodeCondition: true, admissionPolicy: { enabled: false } },
    rightsWithoutGuard,
    true,
  ],
  ['nodeCondition with it', { nodeCondition: true }, rightsWithoutGuard, false],
  ['no guard', { admissionPolicy: { enabled: false } }, /No admission policy limits an agent/, true],
  ['a guard', {}, /No admission policy limits an agent/, false],
  ['liveDrops on the network of the node', { liveDrops: true, hostNetwork: true }, openDrops, true],
  ['liveDrops elsewhere', { liveDrops: true }, openDrops, false],
])('the notes on %s', async (_, values, text, isThere) => {
  const args = ['install', 'x', chart, '--dry-run=client'];
  const { code, stdout } = await helm.run(args, values);
  expect(code).toBe(0);
  expect(text.test(stdout.replaceAll(/\s+/g, ' '))).toBe(isThere);
});

test('Secrets for pulling the image are taken from all places, each once, as names or as maps', async () => {
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

test('a label that selects Pods is refused as a common label', async () => {
  const { code, stderr } = await helm.run(['template', 'x', chart], {
    commonLabels: { 'app.kubernetes.io/name': 'x' },
  });
  expect(code).toBe(1);
  expect(stderr).toContain('commonLabels: app.kubernetes.io/name');
});

test("a field of a security context overrides the chart's and the preset's, and the others stay", async () => {
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

test('with priorityClassName, Pods have that class and no class is created', async () => {
  const rendered = await helm.template({ priorityClassName: 'system-node-critical' });
  expect(podOf(rendered)['priorityClassName']).toBe('system-node-critical');
  expect(parseManifests(rendered).filter(({ kind }) => kind === 'PriorityClass')).toEqual([]);
});

test('extraObjects are rendered from maps and texts, with their templates', async () => {
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
])('Grafana can show the dashboards of two releases %s side by side in one folder', async (_, place) => {
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
  // Grafana refuses longer ones, and those with a dot.
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
