import { load, loadAll } from 'js-yaml';
import { expect, test } from 'vitest';
import { enableLogging } from '../../../src/cli/doctor/doctor.ts';
import { type Detection, detectPlugIns } from '../../../src/cli/doctor/enable-logging/detect.ts';
import { recipesFor, seenByKernelDrops } from '../../../src/cli/doctor/enable-logging/recipes.ts';
import { noApi } from '../../../src/cli/doctor/api.ts';
import { expectLines } from '../../expected-file.ts';
import { textOf } from '../../monitoring/files.ts';
import { answered, fakeApi, refused } from './fake.ts';

const tables: {
  byLabel: [string, string][];
  all: NonNullable<Parameters<typeof seen>[0]['plugIns']>[number][];
  versions: [string, Detection['calico']['version'], string][];
} = {
  // Labels of Pods, and the network plug-in to which they belong.
  byLabel: [
    ['k8s-app=calico-node', 'calico'],
    ['k8s-app=canal', 'canal'],
    ['k8s-app=cilium', 'cilium'],
    ['k8s-app=aws-node', 'aws-vpc-cni'],
    ['app=antrea,component=antrea-agent', 'antrea'],
    ['app=ovnkube-node', 'ovn-kubernetes'],
    ['k8s-app=kube-router', 'kube-router'],
    ['k8s-app=azure-npm', 'azure-npm'],
    ['k8s-app=kube-network-policies', 'kube-network-policies'],
    ['k8s-app=kindnet', 'kindnet'],
    ['app=flannel', 'flannel'],
    ['name=weave-net', 'weave'],
  ],
  all: [
    'calico',
    'canal',
    'cilium',
    'gke-dataplane-v2',
    'aws-vpc-cni',
    'antrea',
    'ovn-kubernetes',
    'kube-router',
    'k3s',
    'azure-npm',
    'kube-network-policies',
    'kindnet',
    'flannel',
    'weave',
  ],
  // Releases of Calico, and how its settings are changed.
  versions: [
    ['3.30.5', [3, 30, 5], 'felix-configuration-old'],
    ['3.30.6', [3, 30, 6], 'felix-configuration'],
    ['3.31.3', [3, 31, 3], 'felix-configuration-old'],
    ['3.31.4', [3, 31, 4], 'felix-configuration'],
    ['4.0.0', [4, 0, 0], 'felix-configuration'],
    ['an unknown version', undefined, 'felix-configuration-old'],
  ],
};

function seen(given: Partial<Detection>): Detection {
  return { plugIns: ['calico'], calico: calico(), hasAwsPolicyAgent: true, obstacles: [], ...given };
}

function calico(
  version?: Detection['calico']['version'],
  given: Partial<Detection['calico']> = {},
): Detection['calico'] {
  return { version, bpf: false, earlier: {}, hiding: [], isServed: true, ...given };
}

/** A cluster with one Pod of these labels, one Node and these groups of the API. */
function cluster(
  labels: string,
  images: string[],
  { pod = 'agent-x', kubelet = 'v1.36.3', groups = [] as string[], namespace = 'kube-system' } = {},
) {
  return fakeApi(({ path, query }) => {
    if (path === '/api/v1/nodes') return answered({ items: [{ status: { nodeInfo: { kubeletVersion: kubelet } } }] });
    if (path === '/apis') return answered({ groups: groups.map((name) => ({ name })) });
    if (path !== `/api/v1/namespaces/${namespace}/pods`)
      return path.endsWith('/pods') ? answered({ items: [] }) : undefined;
    const containers = images.map((image) => ({ image }));
    return answered({
      items: query['labelSelector'] === labels ? [{ metadata: { name: pod }, spec: { containers } }] : [],
    });
  });
}

test.each(tables.byLabel)('a network plug-in is recognized: by a Pod with %s: %s', async (labels, expected) => {
  expect((await detectPlugIns(cluster(labels, []), 'node-a')).plugIns).toEqual([expected]);
});

test.each([
  ['calico-system', 'k8s-app=calico-node', 'calico'],
  ['openshift-ovn-kubernetes', 'app=ovnkube-node', 'ovn-kubernetes'],
  ['kube-flannel', 'app=flannel', 'flannel'],
])('a network plug-in is also recognized in the namespace %s: %s', async (namespace, labels, expected) => {
  expect((await detectPlugIns(cluster(labels, [], { namespace }), 'node-a')).plugIns).toEqual([expected]);
});

test("a network plug-in is not recognized by a tenant's Pod with its labels", async () => {
  const api = cluster('k8s-app=cilium', [], { namespace: 'shop' });
  expect((await detectPlugIns(api, 'node-a')).plugIns).toEqual([]);
});

test('GKE Dataplane V2 is recognized by the name of its Pods', async () => {
  const api = cluster('k8s-app=cilium', [], { pod: 'anetd-7x2kq' });
  expect((await detectPlugIns(api, 'node-a')).plugIns).toEqual(['gke-dataplane-v2']);
});

test('k3s is recognized by the version of its kubelet, unless another plug-in replaces its own', async () => {
  const kubelet = 'v1.33.4+k3s1';
  expect((await detectPlugIns(cluster('', [], { kubelet }), 'node-a')).plugIns).toEqual(['k3s']);
  const other = cluster('k8s-app=calico-node', [], { kubelet });
  expect((await detectPlugIns(other, 'node-a')).plugIns).toEqual(['calico']);
});

test('Calico is recognized with its version and the way to apply its objects', async () => {
  const api = cluster('k8s-app=calico-node', ['quay.io/calico/node:v3.31.4-amd64'], {
    groups: ['projectcalico.org'],
  });
  expect((await detectPlugIns(api, 'node-a')).calico).toMatchObject({
    version: [3, 31, 4],
    bpf: false,
    isServed: true,
  });
});

test('detection reads only one object of each kind', async () => {
  const api = cluster('k8s-app=calico-node', []);
  await detectPlugIns(api, 'node-a');
  const lists = api.asked.filter(({ path }) => path.startsWith('/api/v1/'));
  expect(lists.map(({ query }) => query['limit'])).toEqual(lists.map(() => 1));
  expect(new Set(api.asked.map(({ verb }) => verb))).toEqual(new Set(['GET']));
});

test.each<[string, Detection['calico']['version'], string]>(tables.versions)(
  'Calico: %s gets the patch of its file',
  (_, version, file) => {
    const [recipe] = recipesFor(seen({ calico: calico(version) }));
    const [, patch = ''] = /--patch='(.*)'$/.exec(recipe?.commands?.[0] ?? '') ?? [];
    expect(JSON.parse(patch)).toEqual(load(textOf(`deploy/logging/calico/${file}.patch.yaml`)));
  },
);

test.each([
  ['the Calico API server', true, 'global-network-policy.yaml'],
  ['its store alone', false, 'global-network-policy-crd.yaml'],
])('Calico: with %s, the policies are those of the file', (_, isServed, file) => {
  const [recipe] = recipesFor(seen({ calico: calico([3, 31, 4], { isServed }) }));
  expect(loadAll(recipe?.manifest?.text ?? '')).toEqual(loadAll(textOf(`deploy/logging/calico/${file}`)));
});

test('Calico: with only its store, from 3.32 on, names do not contain the tier', () => {
  const [recipe] = recipesFor(seen({ calico: calico([3, 32, 0], { isServed: false }) }));
  expect(recipe?.manifest?.text).toContain('name: deny-in\n');
});

test('Calico: with eBPF the policies are the same, and no prefix is set', () => {
  const [recipe] = recipesFor(seen({ calico: calico([3, 31, 4], { bpf: true }) }));
  expect(recipe?.works).toBe('switch');
  expect(recipe?.manifest).toEqual(recipesFor(seen({}))[0]?.manifest);
  expect(recipe?.commands?.join()).not.toContain('felixconfiguration');
});

/** On node-a of a cluster with Calico 3.31.4 and these FelixConfigurations. */
async function recipesAt(specs: Readonly<Record<string, unknown>>) {
  const api = fakeApi(({ path }) => {
    const spec = Object.entries(specs).find(([name]) => path.endsWith(`/felixconfigurations/${name}`))?.[1];
    return answered(spec === undefined ? { items: [] } : { spec });
  });
  const { calico: found } = await detectPlugIns(api, 'node-a');
  return recipesFor(seen({ calico: { ...found, version: [3, 31, 4] } }));
}

const unset = { logPrefix: null, logActionRateLimit: null, logActionRateLimitBurst: null };

test.each([
  [undefined, unset],
  [{ logPrefix: 'my.calico "%p"' }, { ...unset, logPrefix: 'my.calico "%p"' }],
  [
    { logActionRateLimit: '5/minute', logActionRateLimitBurst: 7 },
    { ...unset, logActionRateLimit: '5/minute', logActionRateLimitBurst: 7 },
  ],
  // This prefix could break out of the shell's quotes.
  [{ logPrefix: "x'; reboot; '" }, unset],
])("Calico's undo gives the FelixConfiguration with %j its settings back", async (earlier, spec) => {
  const [recipe] = await recipesAt({ default: earlier });
  const [, patch = ''] = /--patch='([^']*)'$/.exec(recipe?.undo?.at(-1) ?? '') ?? [];
  expect(JSON.parse(patch)).toEqual({ spec });
});

test('a FelixConfiguration of the node that overrides the patch of the default one is named', async () => {
  const [recipe] = await recipesAt({ default: { logPrefix: 'all' }, 'node.node-a': { logPrefix: 'own' } });
  expect(recipe?.before?.join()).toContain('node.node-a');
  expect(recipe?.undo?.at(-1)).toContain(
    'patch felixconfiguration default --type=merge --patch=\'{"spec":{"logPrefix":"all"',
  );
});

test('AWS VPC CNI without its policy agent does not work', () => {
  expect(recipesFor(seen({ plugIns: ['aws-vpc-cni'], hasAwsPolicyAgent: false }))[0]).toMatchObject({ works: 'no' });
  expect(recipesFor(seen({ plugIns: ['aws-vpc-cni'] }))[0]).toMatchObject({ works: 'switch' });
});

const all = tables.all;

test.each(all)('%s: has a page, an undo and a price', (plugIn) => {
  const [recipe] = recipesFor(seen({ plugIns: [plugIn] }));
  expect(textOf(recipe?.page ?? '')).toMatch(/^# /);
  if (recipe?.works !== 'switch') return;
  expect(recipe.commands?.length).toBeGreaterThan(0);
  expect(recipe.undo?.length).toBeGreaterThan(0);
  expect(recipe.cost).not.toBe('');
});

test('the page of kernel-drops has the same table of networks', () => {
  const rows = [...textOf('docs/kernel-drops.md').matchAll(/^\| ([^|]+) \| (yes|no)\b/gm)];
  // The names that the page gives them; flannel drops nothing itself.
  const names: Record<string, string> = {
    calico: 'Calico',
    canal: 'Canal',
    cilium: 'Cilium',
    'gke-dataplane-v2': 'GKE Dataplane V2',
    'aws-vpc-cni': 'AWS VPC CNI',
    antrea: 'Antrea',
    'ovn-kubernetes': 'OVN-Kubernetes',
    'kube-router': 'kube-router',
    k3s: 'k3s',
    'azure-npm': 'Azure Network Policy Manager',
    'kube-network-policies': 'kube-network-policies',
    kindnet: 'kindnet',
    weave: 'Weave Net',
  };
  const onPage = Object.entries(names).map(([plugIn, name]) => {
    const [, , answer] = rows.find(([, networks = '']) => networks.split(/[,;] /).includes(name)) ?? [];
    return [plugIn, answer === 'yes'];
  });
  expect({ ...Object.fromEntries(onPage), flannel: false }).toEqual(seenByKernelDrops);
});

test('the advice to enable logging has the expected words', async () => {
  const clusters = [
    cluster('k8s-app=calico-node', ['calico/node:v3.31.4'], { groups: ['projectcalico.org'] }),
    cluster('k8s-app=canal', ['calico/node:v3.29.1']),
    cluster('k8s-app=aws-node', ['amazon/aws-network-policy-agent:v1.2.0']),
    cluster('k8s-app=aws-node', []),
    cluster('k8s-app=cilium', []),
    cluster('k8s-app=cilium', [], { pod: 'anetd-7x2kq' }),
    cluster('app=antrea,component=antrea-agent', []),
    cluster('app=ovnkube-node', []),
    cluster('', [], { kubelet: 'v1.33.4+k3s1' }),
    cluster('k8s-app=kindnet', []),
    cluster('', []),
  ];
  const lines: string[] = [];
  for (const api of clusters) lines.push(...(await printed(api)).out.split('\n').filter((line) => line !== ''));
  await expectLines(import.meta.dirname, 'enable-logging.expected.txt', lines);
});

async function printed(api: Parameters<typeof enableLogging>[0], output: 'text' | 'json' = 'text') {
  let out = '';
  const status = await enableLogging(api, 'node-a', output, (text) => void (out += text));
  return { status, out };
}

test('JSON has the same content', async () => {
  const { out } = await printed(cluster('k8s-app=cilium', []), 'json');
  expect(JSON.parse(out)).toMatchObject({
    enableLogging: { plugIns: [{ name: 'Cilium', works: 'switch' }], obstacles: [] },
  });
});

test.each([
  ['a cluster where nothing is recognised', cluster('', [])],
  ['an API server that refuses', fakeApi(() => refused(403))],
  ['no API server', noApi('there is none')],
])('%s ends with 1 and names the next step', async (_, api) => {
  const { status, out } = await printed(api);
  expect(status).toBe(1);
  expect(out).toContain('docs/logging.md');
});

test('names from the cluster cannot control the terminal', async () => {
  const api = cluster('k8s-app=calico-node', ['evil\u001b[2J/node:v3.31.4']);
  expect((await printed(api)).out).not.toContain('\u001b');
});
