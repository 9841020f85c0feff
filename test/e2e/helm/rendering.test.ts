import { beforeAll, expect, inject, test } from 'vitest';
import { foldersOf, type Manifest, parseManifests } from '../../deploy/manifests.ts';
import { connect } from '../control-plane/connection.ts';
import { createDeploying, type Deploying, podOf } from '../deploying.ts';
import { comparable, withoutHelmsLabels, withoutNamespace } from './comparing.ts';
import { chart, helmOfFile, type Values } from './helm.ts';

/** The chart gives the same objects as kustomize: real helm compared with real kubectl. */

const helm = helmOfFile();
let deploying: Deploying;

beforeAll(() => {
  deploying = createDeploying(connect(inject('controlPlane')), helm.folder);
});

const overlays = foldersOf('overlays');
/** The values that correspond to each component. */
const components: Readonly<Record<string, Values>> = {
  'admission-policy': { admissionPolicy: { enabled: true } },
  'audit-file': { audit: { file: true } },
  'audit-opt-out': { audit: { optOut: true } },
  'bpf-trace': { bpfTrace: true },
  'calico-flows': { calicoFlows: true },
  'calico-lookups': { lookups: { calico: true } },
  'conntrack-details': { conntrack: { details: true } },
  'conntrack-owners': { conntrack: { owners: true } },
  'docker-runtime': { dockerRuntime: true },
  'host-network': { hostNetwork: true },
  'kernel-drops': { kernelDrops: true },
  'live-drops': { liveDrops: true },
  'no-policies': { policies: false },
  'node-condition': { nodeCondition: true },
  'pod-monitor': { podMonitor: { enabled: true } },
  'shared-directory': { lookups: { directory: { enabled: true } } },
};
const names = Object.keys(components);

/** Each overlay alone and with all components, and each component alone. */
const ways = [
  ...overlays.flatMap((overlay) => [[], names].map((added): [string, readonly string[]] => [overlay, added])),
  ...names.map((name): [string, readonly string[]] => ['journal', [name]]),
];

test('every component has its values', () => {
  expect(names).toEqual(foldersOf('components'));
});

test.each(ways)('preset %s with %j equals the overlay with these components', async (overlay, added) => {
  const without = { preset: overlay, admissionPolicy: { enabled: false } };
  const all = added.map((name) => components[name]);
  const lookups: unknown = Object.assign({}, ...all.map((each) => each?.['lookups']));
  const audit: unknown = Object.assign({}, ...all.map((each) => each?.['audit']));
  const values: Values = Object.assign(without, ...all, { lookups, audit });
  const ours = parseManifests(await helm.template(values));
  const rendered = await deploying.render(
    `overlays/${overlay}`,
    added.map((name) => `components/${name}`),
  );
  const theirs = rendered.replaceAll('image: SET-THE-IMAGE:', 'image: kube-netfilter-tailer:');
  expect(comparable(withoutHelmsLabels(ours))).toEqual(comparable(withoutNamespace(parseManifests(theirs))));
});

test('a component that adds a source keeps the sources of the preset', async () => {
  const added = { bpfTrace: true, calicoFlows: true, kernelDrops: true };
  const [agent] = podOf(await helm.template({ preset: 'k3s', ...added })).containers;
  expect(agent?.env?.find(({ name }) => name === 'SOURCES')?.value).toBe(
    'auto,file:/var/log/ulog/syslogemu.log,containers,bpf-trace:/tracing,calico-flows:/flows,kernel-drops:/tracing',
  );
});

test('the admission policy is rendered by default, for the ServiceAccount of the release', async () => {
  const rendered = await helm.template({ serviceAccount: { create: false, name: 'own' } }, { namespace: 'drops' });
  const named = { metadata: { name: 'drops.kube-netfilter-tailer' } };
  expect(find(rendered, 'ValidatingAdmissionPolicy')).toMatchObject({
    ...named,
    spec: {
      matchConditions: [
        { expression: "request.userInfo.username == 'system:serviceaccount:' + 'drops' + ':' + 'own'" },
      ],
    },
  });
  const binding = { ...named, spec: { policyName: 'drops.kube-netfilter-tailer', validationActions: ['Deny'] } };
  expect(find(rendered, 'ValidatingAdmissionPolicyBinding')).toMatchObject(binding);
});

test.each([
  ['v1.29.15', 0],
  ['v1.30.0-eks-1234567', 2],
  ['v1.36.3+k3s1', 2],
])('the admission policy: for Kubernetes %s: %i objects', async (version, objects) => {
  const { stdout } = await helm.run(['template', 'x', chart, '--kube-version', version]);
  expect(stdout.match(/^kind: ValidatingAdmissionPolicy/gm) ?? []).toHaveLength(objects);
});

test.each([
  ['v1.29.15', 1],
  ['v1.30.0', 0],
])('conntrack.owners: with Kubernetes %s: exit code %i', async (version, expected) => {
  const args = ['template', 'x', chart, '--kube-version', version, '--set', 'conntrack.owners=true'];
  const { code, stderr } = await helm.run(args);
  expect(code).toBe(expected);
  expect(stderr.includes('conntrack.owners: needs Kubernetes 1.30')).toBe(expected === 1);
});

test('on OpenShift the constraints allow everything that the Pods need', async () => {
  const rendered = await helm.template({
    preset: 'openshift',
    hostNetwork: true,
    conntrack: { owners: true },
    config: { logLevel: 'warn' },
    extraVolumes: [{ name: 'more', secret: { secretName: 'more' } }],
  });
  expect(find(rendered, 'SecurityContextConstraints')).toMatchObject({
    allowHostNetwork: true,
    allowHostPorts: true,
    allowedCapabilities: ['SYS_PTRACE'],
    volumes: ['hostPath', 'projected', 'emptyDir', 'configMap', 'secret'],
  });
});

test('alerts and dashboard equal those of deploy/monitoring, with the namespace of the release', async () => {
  const values = { prometheusRule: { enabled: true }, dashboard: { enabled: true } };
  const ours = withoutHelmsLabels(parseManifests(await helm.template(values)));
  const made = ours.filter(({ kind }) => ['PrometheusRule', 'ConfigMap'].includes(kind));
  const named = /(?:daemonset|created_by_name)=(\\?")kube-netfilter-tailer\1/g;
  const rendered = await deploying.render('monitoring');
  // Except the dashboard's own variable.
  expect(rendered).not.toMatch(/namespace=(?!~\\+"\$namespace)/);
  const theirs = parseManifests(rendered.replaceAll(named, '$&, namespace=$1kube-netfilter-tailer$1'));
  // All objects of the chart have this label.
  for (const { metadata } of theirs)
    metadata.labels = { ...metadata.labels, 'app.kubernetes.io/name': 'kube-netfilter-tailer' };
  expect(comparable(made)).toEqual(comparable(theirs));
});

test('alerts and dashboard use the names of the release', async () => {
  const docsUrl = 'https://wiki.example.org/network/';
  const rendered = await helm.template(
    { fullnameOverride: 'drops', docsUrl, prometheusRule: { enabled: true }, dashboard: { enabled: true } },
    { release: 'any' },
  );
  const rule = JSON.stringify(find(rendered, 'PrometheusRule'));
  expect(rule).toContain('job=~\\".*drops.*\\"');
  expect(rule).toContain('created_by_name=\\"drops\\", namespace=\\"kube-netfilter-tailer\\"');
  expect(rule).toContain('daemonset=\\"drops\\", namespace=\\"kube-netfilter-tailer\\"');
  expect(rule).toContain('"runbook_url":"https://wiki.example.org/network/docs/alerts/KubeNetfilterTailerDown.md"');
  expect(rule).not.toMatch(/(?:job|daemonset|created_by_name)=~?\\"[^"]*kube-netfilter-tailer/);
  expect(rendered).toContain('daemonset=\\"drops\\", namespace=\\"kube-netfilter-tailer\\"');
  expect(rendered).not.toContain('daemonset=\\"kube-netfilter-tailer\\"');
});

test.each([
  'registry.example/team/kube-netfilter-tailer',
  'registry.example:5000/kube-netfilter-tailer',
  '[2001:db8::1]:5000/a/b_c/d',
  'localhost/x',
])('accepts the image %s', async (repository) => {
  const [agent] = podOf(
    await helm.template({ image: { repository, tag: 'v1', digest: `sha256:${'0'.repeat(64)}` } }),
  ).containers;
  expect(agent?.image).toBe(`${repository}:v1@sha256:${'0'.repeat(64)}`);
});

test('helm lint reports nothing', async () => {
  const { code, stdout } = await helm.run(['lint', '--strict', chart], { config: { logLevel: 'debug' } });
  expect(stdout).not.toMatch(/WARNING|ERROR/);
  expect(code).toBe(0);
});

test.each<[string, Values, RegExp]>([
  ['a misspelled key', { tolerations: [], resourses: {} }, /additional properties 'resourses' not allowed/],
  ['one further down', { image: { repo: 'x' } }, /\/image.*additional properties 'repo' not allowed/],
  ['a misspelled setting', { config: { logLevle: 'debug' } }, /\/config.*additional properties 'logLevle'/],
  ['a setting that each Pod has its own of', { config: { node: 'node-a' } }, /additional properties 'node'/],
  ['a wrong value of a setting', { config: { podCache: 'all' } }, /\/config\/podCache.*'node', 'cluster'/],
  ['a wrong type of a setting', { config: { maxNodes: '5' } }, /\/config\/maxNodes.*got string, want integer/],
  ['no such preset', { preset: 'journald' }, /\/preset.*'journal'/],
  ['text where a truth should be', { podMonitor: { enabled: 'yes' } }, /\/podMonitor\/enabled.*want boolean/],
  ['a map where a list should be', { tolerations: { operator: 'Exists' } }, /\/tolerations.*want array/],
  ['a misspelled field of a toleration', { tolerations: [{ operater: 'Exists' }] }, /'operater' not allowed/],
  [
    'a variable that the chart sets',
    { extraEnv: [{ name: 'SOURCES', value: 'kernel' }] },
    /extraEnv: SOURCES is the chart's to set: take it out, and put the setting under config/,
  ],
  [
    'an address that is none',
    { config: { metricsAddress: '9090' } },
    /\/config\/metricsAddress.*does not match pattern/,
  ],
  [
    'a variable of kube-iptables-tailer that moves the port from under the probes',
    { extraEnv: [{ name: 'METRICS_SERVER_PORT', value: '9999' }] },
    /extraEnv: METRICS_SERVER_PORT is the chart's to set/,
  ],
  ['a port that is none', { config: { metricsAddress: ':99999' } }, /config.metricsAddress ":99999": must be/],
  [
    'an address that no scrape reaches',
    { config: { metricsAddress: '127.0.0.1:9090' } },
    /leave the host out, as in :9090/,
  ],
  [
    'an address that no probe reaches',
    { config: { healthAddress: '127.0.0.1:9091' } },
    /config.healthAddress .* leave the host out, as in :9091/,
  ],
  [
    'health on the port of the metrics',
    { config: { metricsAddress: ':9091' } },
    /config.healthAddress: port 9091 is that of config.metricsAddress/,
  ],
  [
    'live drops on the port of the metrics',
    { config: { metricsAddress: ':9092' }, liveDrops: true },
    /config.dropsAddress: port 9092 is that of config.metricsAddress/,
  ],
  [
    'live drops on the port of health',
    { config: { dropsAddress: ':9091' } },
    /config.healthAddress: port 9091 is that of config.dropsAddress/,
  ],
  [
    'live drops at an address of the container alone',
    { config: { dropsAddress: '127.0.0.1:9092' }, liveDrops: true },
    /config.dropsAddress "127.0.0.1:9092": .* leave the host out, as in :9092/,
  ],
  ...['metricsAddress', 'healthAddress', 'dropsAddress'].flatMap((name): [string, Values, RegExp][] =>
    ['', 'nonsense', '9090'].map((value) => [
      `${name} ${JSON.stringify(value)}`,
      { config: { [name]: value } },
      new RegExp(`config.${name}`),
    ]),
  ),
  ['a container that is none', { config: { containers: ['kube-proxy'] } }, /\/config\/containers\/0/],
  ['a sink that is none', { config: { audit: ['nowhere'] } }, /\/config\/audit\/0/],
  ['two sinks in one', { audit: { otlp: 'http://a:1,file:/x' } }, /\/audit\/otlp/],
  [
    'an interval of the smaller unit first',
    { podMonitor: { enabled: true, interval: '1s1m' } },
    /\/podMonitor\/interval/,
  ],
  ['no interval', { podMonitor: { enabled: true, interval: '' } }, /\/podMonitor\/interval/],
  [
    'two agents on one port of the node',
    { hostNetwork: true, updateStrategy: { rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 } } },
    /maxSurge: two agents cannot have one port/,
  ],
  ...['stateDir', 'directory', 'procRoot'].flatMap((name): [string, Values, RegExp][] =>
    ['/', '/data', '/usr/local/bin', '/etc/ssl', '/var/log/pods', '/run/log/journal/x', '/var/lib/a\nb', '/proc/1'].map(
      (path) => [
        `${name} ${JSON.stringify(path)} over what is there`,
        { config: { [name]: path }, conntrack: { details: true }, lookups: { directory: { enabled: true } } },
        new RegExp(`config.${name} .*: must be a folder of its own`),
      ],
    ),
  ),
  [
    'a state folder over all of the container',
    { config: { stateDir: '/var/../' } },
    /config.stateDir .*: must be a folder of its own/,
  ],
  [
    "a /proc over the container's own",
    { config: { procRoot: '/proc' }, conntrack: { details: true } },
    /config.procRoot "\/proc": must be a folder of its own/,
  ],
  ['a digest that is none', { image: { digest: 'abc' } }, /\/image\/digest/],
  ['a tag that is none', { image: { tag: 'a b' } }, /\/image\/tag/],
  ['a tag in the name of the image', { image: { repository: 'registry.example:5000/a:1' } }, /\/image\/repository/],
  ['a scheme in the name of the image', { image: { repository: 'https://registry.example/a' } }, /\/image\/repository/],
  ['a base that would break the alerts', { docsUrl: 'wiki: x/' }, /\/docsUrl/],
  ...['podMonitor.labels', 'prometheusRule.labels', 'dashboard.labels'].map((path): [string, Values, RegExp] => {
    const [key = ''] = path.split('.');
    const values = { [key]: { enabled: true, labels: { 'app.kubernetes.io/name': 'x' } } };
    return [
      `a label of the chart in ${path}`,
      values,
      new RegExp(`${path}: app.kubernetes.io/name is the chart's to set`),
    ];
  }),
  [
    'a label that selects the Pods',
    { podLabels: { 'app.kubernetes.io/instance': 'x' } },
    /podLabels: \S+\/instance is the/,
  ],
  [
    'an annotation of the chart',
    { podAnnotations: { 'kubectl.kubernetes.io/default-container': 'x' } },
    /podAnnotations: /,
  ],
])('refuses values: %s', async (_, values, message) => {
  const { code, stderr } = await helm.run(['template', 'x', chart], values);
  expect(code).not.toBe(0);
  // Helm breaks the text into lines.
  expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(message);
});

function find(rendered: string, kind: string): Manifest {
  const found = parseManifests(rendered).find((manifest) => manifest.kind === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found;
}
