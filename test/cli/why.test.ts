import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { beforeAll, expect, test } from 'vitest';
import { readWhyOptions } from '../../src/cli/options/why-options.ts';
import { suggestPolicies } from '../../src/cli/why/suggest.ts';
import { why } from '../../src/cli/why/why.ts';
import { expectLines } from '../expected-file.ts';
import { calico, networkPolicy, shortObjects } from '../explain/policies/objects.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { program } from './program.ts';
import { ownedBy, podObject } from './scene.ts';
import { parsed } from './parsed.ts';

/** Questions by a title: from where, to where, the port, and the files that are read. */
const tables: {
  why: [title: string, Parameters<typeof run>][];
  suggest: [title: string, ...Parameters<typeof ranSuggest>][];
} = {
  // Questions to why.
  why: [
    ['a peer fails', ['batch/worker-7', 'shop/postgres-0', '5432/TCP', ['cluster.json']]],
    ['a port fails', ['batch/worker-7', 'shop/postgres-0', '80/TCP', ['cluster.json']]],
    ['a rule admits', ['batch/worker-7', 'shop/postgres-0', '5432/TCP', ['cluster.json', 'change.yaml']]],
    ['no policy isolates the Pod', ['shop/postgres-0', 'batch/worker-7', '80', ['cluster.json']]],
    [
      'the change of a policy does not help',
      ['batch/worker-7', 'shop/postgres-0', '5432/TCP', ['cluster.json', 'lab.yaml']],
    ],
    ['a fact is missing', ['batch/worker-7', 'shop/postgres-0', '5432/TCP', ['no-namespaces.json', 'change.yaml']]],
    ['from outside, to IPv6', ['2001:db8::1', 'shop/postgres-0', 'icmp', ['cluster.json']]],
    [
      'from IPv6, to a Pod without such an address',
      ['2001:db8::1', 'shop/postgres-0', '5432', ['cluster.json', 'ipv4.json']],
    ],
    ['from a Node', ['192.168.7.12', 'shop/postgres-0', '5432', ['cluster.json']]],
    ['a Node with a tunnel', ['192.168.7.12', 'shop/postgres-0', '5432', ['cluster.json', 'tunnel.json']]],
    [
      "a Pod on its Node's network, with a tunnel",
      ['batch/proxy', 'shop/postgres-0', '5432', ['cluster.json', 'tunnel.json', 'host.json']],
    ],
    ['the tunnel of a Node', ['10.65.2.0', 'shop/postgres-0', '5432', ['cluster.json', 'tunnel.json']]],
    ['a Node with a tunnel to its own Pod', ['192.168.7.12', 'batch/near', '80', ['cluster.json', 'tunnel.json']]],
    ['from the address of IPv6 of a Pod, to another Pod', ['fd00::2:9', 'shop/postgres-0', '5432', ['cluster.json']]],
    ['no such Pod', ['batch/worker-8', 'shop/postgres-0', '5432', ['cluster.json']]],
    ['a completed Pod', ['batch/done', 'shop/postgres-0', '5432', ['cluster.json']]],
    ['a Service', ['batch/worker-7', '10.96.0.9', '5432', ['cluster.json']]],
    ['the load balancer of a Service', ['batch/worker-7', '198.51.100.9', '443', ['cluster.json', 'balancer.json']]],
    ['a Node that is a load balancer', ['192.168.7.12', 'shop/postgres-0', '80', ['cluster.json', 'balancer.json']]],
    ['a Service by its address', ['batch/worker-7', '10.96.0.9', '80', ['cluster.json', 'service.json']]],
    ['a Service by name', ['batch/worker-7', 'shop/postgres', '80', ['cluster.json', 'service.json']]],
    ['a Service as kubectl writes it', ['batch/worker-7', 'svc/shop/postgres', '80', ['cluster.json', 'service.json']]],
    [
      'a Service with several Pods',
      ['batch/worker-7', 'svc/shop/postgres', '80', ['cluster.json', 'service.json', 'replicas.json']],
    ],
    [
      'a Service with several Pods, JSON',
      ['batch/worker-7', 'svc/shop/postgres', '80', ['cluster.json', 'service.json', 'replicas.json'], '-o', 'json'],
    ],
    ['the port of a Service at its Pod', ['batch/worker-7', 'shop/postgres-0', '80', ['cluster.json', 'service.json']]],
    [
      'a port that a Service has not',
      ['batch/worker-7', 'svc/shop/postgres', '8080', ['cluster.json', 'service.json']],
    ],
    [
      'a port of a Service that no Pod has',
      ['batch/worker-7', 'svc/shop/postgres', '81', ['cluster.json', 'service.json']],
    ],
    [
      'a Service whose selector matches nothing',
      ['batch/worker-7', 'svc/shop/empty', '80', ['cluster.json', 'service.json']],
    ],
    ['a Service without a selector', ['batch/worker-7', 'svc/shop/manual', '80', ['cluster.json', 'service.json']]],
    ['no such Service', ['batch/worker-7', 'svc/shop/none', '80', ['cluster.json', 'service.json']]],
    ['from a Service', ['svc/shop/postgres', 'batch/worker-7', '80', ['cluster.json', 'service.json']]],
    ['a load balancer from outside', ['203.0.113.7', '198.51.100.9', '80', ['cluster.json', 'exposed.json']]],
    ['a NodePort from outside', ['203.0.113.7', '192.168.7.12', '30080', ['cluster.json', 'exposed.json']]],
    [
      "a load balancer that keeps the client's address",
      ['203.0.113.7', '198.51.100.9', '80', ['cluster.json', 'exposed-local.json']],
    ],
    [
      'a Pod behind a load balancer from outside',
      ['203.0.113.7', 'shop/postgres-0', '5432', ['cluster.json', 'exposed.json']],
    ],
    ['the API server', ['batch/worker-7', '10.96.0.1', '443', ['cluster.json', 'api-server.json']]],
    ['a Node by name', ['node-b', 'shop/postgres-0', '5432', ['cluster.json']]],
    ['no such Node', ['node-x', 'shop/postgres-0', '5432', ['cluster.json']]],
    [
      'workloads as kubectl writes them',
      ['deploy/batch/worker', 'sts/postgres', '5432', ['cluster.json', 'owners.json'], '-n', 'shop'],
    ],
    ['a Job', ['job/batch/report', 'shop/postgres-0', '5432', ['cluster.json', 'jobs.json']]],
    ['a workload without Pods', ['deploy/batch/none', 'sts/shop/postgres', '5432', ['cluster.json', 'owners.json']]],
    ['no such file', ['batch/worker-7', 'shop/postgres-0', '5432', ['none.json']]],
    ['a file that is cut off', ['batch/worker-7', 'shop/postgres-0', '5432', ['cut.yaml']]],
    ['aliases that stand for much', ['batch/worker-7', 'shop/postgres-0', '5432', ['aliases.yaml']]],
    ['fields and kinds with typos', ['batch/worker-7', 'shop/postgres-0', '5432', ['typos.yaml']]],
    ['JSON with fields of other shapes', ['batch/worker-7', 'shop/postgres-0', '5432', ['shapes.json']]],
    [
      'an exception of an ipBlock, and Pods in one',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'blocks.json']],
    ],
    ['a rule for ICMP of IPv4 only', ['fd00::2:9', 'shop/postgres-0', 'ICMP', ['cluster.json', 'icmp.json']]],
    ['a Node in an ipBlock', ['192.168.7.12', 'shop/postgres-0', '5432', ['cluster.json', 'nodes.json']]],
    ['ports that are none', ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'ports.json']]],
    [
      'a policy without a Namespace',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'no-namespace.yaml']],
    ],
    ['an empty file', ['batch/worker-7', 'shop/postgres-0', '5432', ['empty.yaml']]],
    ['a file in UTF-16', ['batch/worker-7', 'shop/postgres-0', '5432', ['utf-16.yaml']]],
    ['no Pods', ['batch/worker-7', 'shop/postgres-0', '5432', ['change.yaml']]],
    ['a workload in place of its Pod', ['batch/worker', 'shop/postgres', '5432', ['cluster.json']]],
    ['a Pod whose name has a typo', ['batch/worker-7', 'shop/postgers-0', '5432', ['cluster.json']]],
    ['a Namespace without Pods', ['lab/worker', 'shop/postgres-0', '5432', ['cluster.json']]],
    [
      'another protocol than that of a named port',
      ['batch/worker-7', 'shop/postgres-0', 'ICMP', ['cluster.json', 'blocks.json']],
    ],
    ['a policy that is not evaluated', ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'cilium.yaml']]],
    ['a file with other kinds', ['batch/worker-7', 'shop/postgres-0', '5432', ['services.json']]],
    ['a rule of Calico denies', ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-deny.json']]],
    ['a rule of Calico passes', ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-pass.json']]],
    [
      'the end of a tier of Calico denies',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-end.json']],
    ],
    [
      'a staged policy would admit',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-staged.json']],
    ],
    [
      'a tier of Calico that was not saved',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-no-tier.json']],
    ],
    [
      'a Node with a HostEndpoint of Calico',
      ['batch/worker-7', '192.168.7.12', '5432', ['cluster.json', 'calico-host.json']],
    ],
    [
      'JSON with a staged policy',
      ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-staged.json'], '-o', 'json'],
    ],
    ['JSON', ['batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json'], '--output', 'json']],
  ],
  // Questions to suggest.
  suggest: [
    ['a Pod', 'batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json']],
    [
      'a Pod of a StatefulSet, from one of a Deployment that is not known',
      'batch/worker-7',
      'shop/postgres-0',
      '5432',
      ['cluster.json', 'owners.json'],
    ],
    [
      'a Pod of a Job without a label that lasts',
      'batch/report-29920440-gq5ks',
      'shop/postgres-0',
      '5432',
      ['cluster.json', 'job.json'],
    ],
    ["a Pod on its Node's network", 'batch/proxy', 'shop/postgres-0', '5432', ['cluster.json', 'host.json']],
    ['a Node with a tunnel', '192.168.7.12', 'shop/postgres-0', '5432', ['cluster.json', 'tunnel.json']],
    [
      'a Node with a HostEndpoint of Calico',
      'batch/worker-7',
      '192.168.7.12',
      '5432',
      ['cluster.json', 'calico-host.json'],
    ],
    ['a Pod, where Admin denies', 'batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'admin.yaml']],
    ['a Pod, where Baseline denies', 'shop/postgres-0', 'batch/worker-7', '5432', ['cluster.json', 'baseline.yaml']],
    ['a Pod, where Calico denies', 'batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'calico-deny.json']],
    [
      'a Pod, where a tier of Calico ends',
      'batch/worker-7',
      'shop/postgres-0',
      '5432',
      ['cluster.json', 'calico-end.json'],
    ],
    ['a Pod, where Calico alone isolates it', 'batch/worker-7', 'shop/postgres-0', '5432', ['calico-only.json']],
    ['an address, and ICMP', '192.0.2.7', 'shop/postgres-0', 'ICMP', ['cluster.json']],
    [
      'DNS, against an exception of an ipBlock',
      '192.0.2.7',
      'shop/postgres-0',
      '53/UDP',
      ['cluster.json', 'blocks.json'],
    ],
    ['a Pod, against an exception', 'batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'exception.json']],
    ['a Pod on the network of a Node', 'batch/proxy', 'shop/postgres-0', '5432', ['cluster.json', 'host.json']],
    ['a port whose name has a typo', 'batch/worker-7', 'shop/postgres-0', '5432', ['cluster.json', 'blocks.json']],
    ['a port that is admitted', 'shop/postgres-0', 'batch/worker-7', '80', ['cluster.json']],
    ['a Service', 'batch/worker-7', 'svc/shop/postgres', '80', ['cluster.json', 'owners.json', 'service.json']],
    ['a load balancer from outside', '203.0.113.7', '198.51.100.9', '80', ['cluster.json', 'exposed.json']],
    ['a fact is missing', 'batch/worker-7', 'shop/postgres-0', '5432', ['no-namespaces.json', 'change.yaml']],
    ['no such Pod', 'batch/worker-8', 'shop/postgres-0', '5432', ['cluster.json']],
  ],
};

const path = temporaryFolder();

const list = (items: object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const objects = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'batch', labels: { team: 'batch' } } },
  {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-b' },
    status: { addresses: [{ type: 'InternalIP', address: '192.168.7.12' }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name: 'postgres' },
    spec: { clusterIP: '10.96.0.9' },
  },
  podObject('shop', 'postgres-0', 'postgres', '10.65.1.4'),
  podObject('batch', 'worker-7', 'worker', '10.65.2.9'),
  { ...podObject('batch', 'done', 'worker', '10.65.2.10'), status: { phase: 'Succeeded', podIP: '10.65.2.10' } },
  networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'default-deny'),
  networkPolicy(
    {
      podSelector: { matchLabels: { app: 'postgres' } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'frontend' } } }], ports: [{ port: 5432 }] }],
    },
    'allow-frontend',
  ),
];
const change = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-frontend, namespace: shop}
spec:
  podSelector: {matchLabels: {app: postgres}}
  ingress:
    - from: [{namespaceSelector: {matchLabels: {team: batch}}}]
`;

const clusterWide = (tier: string, name: string): string => `apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: ${name}}
spec:
  tier: ${tier}
  priority: 1
  subject: {namespaces: {}}
  ingress: [{action: Deny, from: [{namespaces: {}}]}]
`;

const owned = [
  ownedBy(podObject('shop', 'postgres-0', 'postgres', '10.65.1.4'), 'StatefulSet', 'postgres', { shard: 'a' }),
  ownedBy(podObject('batch', 'worker-7', 'worker', '10.65.2.9'), 'ReplicaSet', 'worker-84f9', {
    'pod-template-hash': '84f9',
  }),
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { namespace: 'shop', name: 'postgres' },
    spec: { selector: { matchLabels: { app: 'postgres' } } },
  },
];

const report = podObject('batch', 'report-gq5ks', 'report', '10.65.2.10') as { metadata: object };
const jobReference = { apiVersion: 'batch/v1', kind: 'Job', name: 'report', controller: true };
const jobPod = { ...report, metadata: { ...report.metadata, ownerReferences: [jobReference] } };

const deny = { action: 'Deny', protocol: 'TCP', source: {}, destination: { ports: [5432] } };
const policyFiles = load(readFileSync(join(import.meta.dirname, 'why-policies.yaml'), 'utf8')) as Record<
  string,
  object[]
>;

beforeAll(() => {
  const files: Record<string, string> = {
    'owners.json': list(owned),
    'jobs.json': list([jobPod]),
    ...Object.fromEntries(
      Object.entries(policyFiles).map(([name, short]) => [name, list(short.flatMap(shortObjects))]),
    ),
    'calico-only.json': list([
      ...objects.slice(0, -2),
      calico('GlobalNetworkPolicy', { selector: 'app == "postgres"', ingress: [deny] }, 'closed'),
    ]),
    'cluster.json': list(objects),
    'change.yaml': change,
    'lab.yaml': `${change.replace('team: batch', 'team: lab')}---\n${change.replace('allow-frontend', 'other').replace('team: batch', 'colour: red')}`,
    'no-namespaces.json': list(objects.filter((each) => (each as { kind: string }).kind !== 'Namespace')),
    'ipv4.json': list([
      { ...podObject('shop', 'postgres-0', 'postgres', ''), status: { phase: 'Running', podIP: '10.65.1.4' } },
    ]),
    'services.json': list([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }]),
    'admin.yaml': clusterWide('Admin', 'lockdown'),
    'baseline.yaml': clusterWide('Baseline', 'quiet'),
    'typos.yaml': `${change.replace('ingress:', 'ingres:')}---\n${change.replace('{app: postgres}', '{}').replace('matchLabels', 'labels').replace('- from:', '- ports: [{prot: UDP}]\n      from:')}---\n${change.replace('networking.k8s.io/', '')}---\n${change.replace('kind: N', 'kind: n')}---\n${change.replace(/kind: .*\n/, '')}---\n${change.replace(/.*\nkind: /, 'apiVersion: cilium.io/v2\nkind: Cillium')}`,
    'no-namespace.yaml': change.replace(', namespace: shop', ''),
    'empty.yaml': '\n',
    'utf-16.yaml': change.replaceAll(/(?=[^])/g, '\0'),
    'cilium.yaml':
      'apiVersion: cilium.io/v3\nkind: CiliumNetworkPolicy\nmetadata: {name: own, namespace: shop}\nspec: {endpointSelector: {}}\n',
    'host.json': list([
      podObject('batch', 'proxy', 'proxy', '192.168.7.12', { hostNetwork: true, nodeName: 'node-b' }),
    ]),
    'tunnel.json': list([
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {
          name: 'node-b',
          annotations: {
            'projectcalico.org/IPv4VXLANTunnelAddr': '10.65.2.0',
            'projectcalico.org/IPv6VXLANTunnelAddr': 'fd00::2:0',
          },
        },
        status: {
          addresses: [
            { type: 'Hostname', address: 'node-b' },
            { type: 'InternalIP', address: '192.168.7.12' },
          ],
        },
      },
      podObject('batch', 'near', 'worker', '10.65.2.11', { nodeName: 'node-b' }),
    ]),
    'job.json': list([
      ownedBy(podObject('batch', 'report-29920440-gq5ks', 'x', '10.65.2.12'), 'Job', 'report-29920440', {
        app: undefined,
        'job-name': 'report-29920440',
        'batch.kubernetes.io/controller-uid': '9c1d',
      }),
    ]),
    'balancer.json': list([
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'shop', name: 'web' },
        status: {
          loadBalancer: { ingress: [{ ip: '198.51.100.9' }, { ip: '192.168.7.12' }, { hostname: 'web.example.com' }] },
        },
      },
    ]),
    'shapes.json': JSON.stringify(
      networkPolicy({ podSelector: [], policyTypes: ['ingress'], ingress: { from: [] } }, 'shapes'),
      null,
      2,
    ),
    'cut.yaml': 'apiVersion: v1\nitems: [{',
    'aliases.yaml': `items:\na: &a [x]\n${Array.from({ length: 200 }, (_, each) => `b${each}: *a`).join('\n')}`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path(name), text);
});

interface Ran {
  status: number;
  out: string;
  err: string;
}

async function asked(
  command: typeof why,
  name: string,
  args: readonly string[],
  files: readonly string[],
): Promise<Ran> {
  const options = readWhyOptions(parsed(name, ...args, ...files.flatMap((file) => ['--policies', path(file)])));
  const found: Ran = { status: -1, out: '', err: '' };
  found.status = await command(options, {
    out: (text) => void (found.out += text),
    err: (text) => void (found.err += text),
  });
  return found;
}

const ranSuggest = (from: string, to: string, port: string, files: string[]): Promise<Ran> =>
  asked(suggestPolicies, 'suggest', ['--from', from, '--to', to, '--port', port], files);

const run = (from: string, to: string, port: string, files: string[], ...more: string[]): Promise<Ran> =>
  asked(why, 'why', ['--from', from, '--to', to, '--port', port, ...more], files);

/** The lines of an answer, without blank ones. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll(path(''), 'FOLDER')
    .split('\n')
    .filter((each) => each !== '');

const [worker, postgres] = ['batch/worker-7', 'shop/postgres-0'];

test('the exit status and the wording of verdicts and errors are as expected', async () => {
  const calls: [title: string, Parameters<typeof run>][] = tables.why;
  const lines: string[] = [];
  for (const [title, args] of calls) {
    const { status, out, err } = await run(...args);
    // If the input is wrong, no verdict is printed.
    expect(out === '').toBe(status === 2);
    lines.push(`# ${title}: exit status ${status}`, ...linesOf(`${out}${err}`));
  }
  const all = '--from ::1 --to 10.0.0.1 --port 1/GRE --policies - --policies - --kubeconfig x --context x -o yaml';
  for (const args of [[], ['--from', 'a b', '--to', '10.0.0.256', '--port', '0'], all.split(' ')])
    lines.push(`# ${args.join(' ')}`, problemOf(args));
  await expectLines(import.meta.dirname, 'why.expected.txt', lines);
});

function problemOf(args: string[]): string {
  try {
    readWhyOptions(parsed('why', ...args));
  } catch (error) {
    return (error as Error).message;
  }
  return 'is accepted';
}

/** The verdict with one more file, and the place of the problem in it. */
async function verdictWith(text: string): Promise<{ status: number; place: string | undefined }> {
  writeFileSync(path('strange'), text);
  const { status, err } = await run(worker, postgres, '5432', ['cluster.json', 'strange']);
  return { status, place: /strange:(\d+:\d+): /.exec(err)?.[1] };
}

const strange = (field: string, metadata = ''): string =>
  change.replace('  ingress:', `  ${field}: true\n  ingress:`).replace('{name', `{${metadata}name`);

test.each<[string, string, string | undefined]>([
  ['in YAML', strange('tier'), '6:3'],
  ['in the second document', `${change}---\n${strange('tier')}`, '14:3'],
  ['in a list', `kind: List\nitems:\n- ${strange('tier').trim().replaceAll('\n', '\n  ')}`, '8:5'],
  ['in JSON', JSON.stringify(networkPolicy({ tier: 1 }), null, 1), '9:3'],
  [
    'behind an alias',
    `kind: List\nitems:\n- x: &s {tier: 1}\n- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: *s}`,
    '4:80',
  ],
  ['a typo in an object of a cluster', strange('ingres', 'uid: x, '), '6:3'],
])('an unknown field of a policy is an error: %s', async (_, text, place) => {
  expect(await verdictWith(text)).toEqual({ status: 2, place });
});

test("an unknown field of a policy is a missing fact in a cluster's object, whose API is newer", async () => {
  expect(await verdictWith(strange('tier', 'uid: x, '))).toEqual({ status: 3, place: undefined });
});

test('an unknown field of a policy is found behind a merge key, as kubectl reads it', async () => {
  expect((await verdictWith(change.replace('  ingress:', '  <<: {ingress: [{}]}\n  egress:'))).status).toBe(2);
  const merged = change.replace(/  ingress:[^]*/, '  <<: {ingress: [{}]}\n');
  expect((await verdictWith(merged)).status).toBe(0);
});

test('the program reads saved objects from standard input, and its exit status is the verdict', async () => {
  const args = ['why', '--from', worker, '--to', postgres, '--port', '5432', '--policies', '-'];
  const { status, out } = await program(args, { stdin: list(objects) });
  expect(status).toBe(1);
  expect(out).toContain('shop/allow-frontend');
});

test('suggest prints the expected policies', async () => {
  const calls: [title: string, ...Parameters<typeof ranSuggest>][] = tables.suggest;
  const lines: string[] = [];
  for (const [title, ...args] of calls) {
    const { status, out, err } = await ranSuggest(...args);
    lines.push(`# ${title}: exit status ${status}`, ...linesOf(`${out}${err}`));
  }
  await expectLines(import.meta.dirname, 'suggest.expected.txt', lines);
});

test('the policy of suggest admits the connection when it is added to the saved objects', async () => {
  const { out } = await ranSuggest(worker, postgres, '5432', ['cluster.json']);
  writeFileSync(path('suggested.yaml'), out);
  expect((await run(worker, postgres, '5432', ['cluster.json', 'suggested.yaml'])).status).toBe(0);
});

test.each(['0X1F', '0B11', '0O17', '0X_F', '1_e5', '1_0', '0x1', '017', '1e3', 'yes', 'null'])(
  'suggest quotes the label %s, as a name and as a value, because kubectl would read another text',
  async (text) => {
    const pod = ownedBy(podObject('batch', 'worker-7', 'worker', '10.65.2.9'), 'Job', 'worker', { [text]: text });
    writeFileSync(path('numbers.json'), list([pod]));
    const { out } = await ranSuggest(worker, postgres, '5432', ['cluster.json', 'numbers.json']);
    expect(out).toContain(`'${text}': '${text}'\n`);
  },
);

test('the exit status is the verdict even if the reader closes the output early', async () => {
  const args = ['why', '--from', worker, '--to', postgres, '--port', '5432', '--policies', '-'];
  const many = Array.from({ length: 2000 }, (_, index) =>
    networkPolicy({ ingress: [{ ports: [{ port: index + 1 }] }] }, `p-${index}`),
  );
  const denying = many.filter((each) => !JSON.stringify(each).includes('"port":5432'));
  const { status } = await program(args, { stdin: list([...objects, ...denying]), readsOnlyTheStart: true });
  expect(status).toBe(1);
});

test.each([
  [
    'rules',
    (port: number) => ({ ingress: Array.from({ length: 5000 }, (_, index) => ({ ports: [{ port: port + index }] })) }),
  ],
  [
    'clauses',
    (port: number) => ({ ingress: [{ ports: Array.from({ length: 5000 }, (_, index) => ({ port: port + index })) }] }),
  ],
])('a policy with thousands of %s shows the first ones, and the deciding one wherever it is', async (_, spec) => {
  const verdictFrom = async (from: number, ...more: string[]) => {
    writeFileSync(path('long.json'), list([...objects.slice(0, -2), networkPolicy(spec(from), 'long')]));
    return await run(worker, postgres, '5432', ['long.json'], ...more);
  };
  const admitted = await verdictFrom(1432);
  expect(admitted.status).toBe(0);
  expect(admitted.out).toContain('[4000]');
  expect(admitted.out).toContain('  and 4949 more ');
  expect(admitted.out.length).toBeLessThan(10_000);
  expect((await verdictFrom(1432, '-o', 'json')).out.length).toBeLessThan(30_000);
  const denied = await verdictFrom(6000);
  expect(denied.status).toBe(1);
  expect(denied.out).toContain('  and 4950 more ');
});

test('an output that cannot be written gives no verdict', async () => {
  const full = Object.assign(new Error('no space left on device'), { syscall: 'write', code: 'ENOSPC' });
  const options = readWhyOptions(
    parsed('why', '--from', worker, '--to', postgres, '--port', '80', '--policies', path('cluster.json')),
  );
  const status = await why(options, {
    out: () => {
      throw full;
    },
    err: () => {},
  });
  expect(status).toBe(2);
});
