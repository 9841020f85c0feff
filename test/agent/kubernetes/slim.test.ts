import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { onSteadyClock } from '../../../src/explain/resolving/pod-record.ts';
import { slimNode, slimPod, slimService, UnusableObject } from '../../../src/agent/kubernetes/slim.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { clock, cluster } from '../../builders.ts';
import { rowsIn } from '../../corpus/lines.ts';

/** Objects as `kubectl get -o json` prints them. */
const tables: {
  pod: Required<Given>;
  mirror: Given;
  node: Record<string, object>;
  roles: [string, Record<string, string>, string | undefined][];
  owners: [string, object][];
  serviceRoles: [string, string, string | undefined][];
} = {
  // A Node.
  node: {
    metadata: {
      name: 'node-a',
      uid: 'f00',
      resourceVersion: '9',
      labels: { 'kubernetes.io/hostname': 'host-a' },
      annotations: {
        'projectcalico.org/IPv4Address': '192.168.7.11/24',
        'projectcalico.org/IPv4IPIPTunnelAddr': '10.65.1.1',
        'projectcalico.org/IPv4VXLANTunnelAddr': '10.65.1.2',
        'projectcalico.org/IPv6VXLANTunnelAddr': 'fd00:65:0:0::2',
        'projectcalico.org/IPv4WireguardInterfaceAddr': '10.65.1.3',
        'projectcalico.org/IPv6WireguardInterfaceAddr': 'fd00:65::3',
        'flannel.alpha.coreos.com/public-ip': '198.51.100.7',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
    },
    spec: { podCIDR: '10.65.1.0/24', podCIDRs: ['10.65.1.0/24', 'fd00:65::/64', 'nonsense'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.168.7.11' },
        { type: 'ExternalIP', address: '203.0.113.5' },
        { type: 'InternalIP', address: 'fd00:7::11' },
        { type: 'Hostname', address: 'node-a' },
        { type: 'InternalDNS', address: 'node-a.internal' },
        { type: 'ExternalDNS', address: 'node-a.example.org' },
      ],
    },
  },
  roles: [
    ['kube-system', { 'k8s-app': 'kube-dns' }, 'dns'],
    ['kube-system', { 'k8s-app': 'node-local-dns' }, 'dns'],
    ['openshift-dns', { 'dns.operator.openshift.io/daemonset-dns': 'default' }, 'dns'],
    ['openshift-kube-apiserver', { component: 'kube-apiserver' }, 'api-server'],
    ['kube-system', { 'k8s-app': 'metrics-server' }, undefined],
    // A tenant who may create Pods chooses their labels, but not the namespaces of the system.
    ['shop', { 'k8s-app': 'kube-dns' }, undefined],
    ['shop', { 'dns.operator.openshift.io/daemonset-dns': 'default' }, undefined],
    ['kube-system-shop', { 'k8s-app': 'kube-dns' }, undefined],
  ],
  owners: [
    ['a kind with a sentence behind it', { kind: 'Deployment ', name: 'web' }],
    ['a name with a sentence behind it', { kind: 'Deployment', name: 'shop (10.0.0.1) - known false alarm' }],
    ['characters that are not seen', { kind: 'Deployment', name: 'web\u202e' }],
    [
      'a name that is too long',
      {
        kind: 'Deployment',
        name: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
      },
    ],
    [
      'a kind that is too long',
      { kind: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', name: 'web' },
    ],
    ['no text', { kind: 7, name: ['web'] }],
  ],
  // A Pod with only the fields that this program reads.
  pod: {
    metadata: {
      name: 'web-6c8d5f7b94-x2x7k',
      namespace: 'shop',
      uid: '50c253ec-85f8-4630-b83a-be6e5ce9ec72',
      resourceVersion: '58801',
      creationTimestamp: '2026-11-21T08:59:58Z',
      labels: { app: 'web', 'pod-template-hash': '6c8d5f7b94' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web-6c8d5f7b94',
          controller: true,
          blockOwnerDeletion: true,
          uid: 'e0e66ef7',
        },
      ],
    },
    spec: { nodeName: 'node-a', containers: [{ name: 'web', image: 'web:1' }] },
    status: { phase: 'Running', startTime: '2026-11-21T09:00:00Z', podIP: '10.65.1.4', podIPs: [{ ip: '10.65.1.4' }] },
  },
  // The fields that differ in a mirror Pod of the API server.
  mirror: {
    metadata: {
      name: 'kube-apiserver-node-a',
      namespace: 'kube-system',
      labels: { component: 'kube-apiserver', tier: 'control-plane' },
      annotations: {
        'kubernetes.io/config.mirror': 'b5b3a9b1f2c84d6e9a7075a1f3e2d4c6',
        'kubernetes.io/config.source': 'file',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-a', controller: true, uid: 'x' }],
    },
    spec: { hostNetwork: true },
  },
  // Services, and the part that they play.
  serviceRoles: [
    ['default', 'kubernetes', 'api-server'],
    ['shop', 'kubernetes', undefined],
    ['kube-system', 'kube-dns', 'dns'],
    ['kube-system', 'rke2-coredns-rke2-coredns', 'dns'],
    ['openshift-dns', 'dns-default', 'dns'],
    ['shop', 'api', undefined],
    ['shop', 'kube-dns', undefined],
  ],
};

type Fields = Record<string, unknown>;

interface Given {
  metadata?: Fields;
  spec?: Fields;
  status?: Fields;
}

/** Makes a Pod as `kubectl get pod -o json` prints it, with only the fields that this program reads. */
function savedPod({ metadata = {}, spec = {}, status = {} }: Given = {}): Fields {
  const { pod } = tables;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...pod.metadata, ...metadata },
    spec: { ...pod.spec, ...spec },
    status: { ...pod.status, ...status },
  };
}

const terminated = (finishedAt: string | null): Fields => ({
  name: 'web',
  state: { terminated: { exitCode: 0, finishedAt, startedAt: '2026-11-21T09:00:05Z' } },
});

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value ?? undefined]));

test.each(rowsIn(join(import.meta.dirname, 'slim.txt')))('$id', ({ id, text }) => {
  const [read = {}, wanted = {}] = text.split('\n-> ').map((part) => load(`{${part}}`) as Record<string, Fields>);
  const given: Given = Object.fromEntries(Object.entries(read).map(([part, fields]) => [part, withoutNulls(fields)]));
  const isService = id.startsWith('addresses of a Service');
  const slim = isService
    ? slimService({ metadata: { namespace: 'shop', name: 'api' }, ...given })
    : slimPod(savedPod(given));
  expect(Object.keys(wanted)).not.toEqual([]);
  for (const [key, value] of Object.entries(withoutNulls(wanted))) {
    const isTime = typeof value === 'string' && (key === 'from' || key === 'until');
    expect({ [key]: slim[key as keyof typeof slim] }).toMatchObject({ [key]: isTime ? clock(value) : value });
  }
});

test('a Pod keeps at most 128 named ports', () => {
  const ports = [...Array.from({ length: 128 }, () => ({ containerPort: 80 })), { name: 'http', containerPort: 80 }];
  expect(slimPod(savedPod({ spec: { containers: [{ ports }] } })).ports).toBeUndefined();
});

test('a Service keeps at most eight addresses', () => {
  const clusterIPs = Array.from(
    { length: 90_000 },
    (_, number) => `203.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
  );
  const service = slimService({
    metadata: { namespace: 'shop', name: 'api' },
    spec: { clusterIP: '10.96.0.1', clusterIPs },
  });
  expect(service.addresses).toEqual(clusterIPs.slice(0, 8));
});

test('after a step of the wall clock, times of the API server still match the clock of packets', () => {
  const hours = 3_600_000;
  const restart = { name: 'web', lastState: { terminated: { finishedAt: '2026-11-21T09:10:00Z' } } };
  const running = onSteadyClock(
    slimPod(savedPod({ status: { containerStatuses: [restart] } })),
    (wall) => wall - 8 * hours,
  );
  expect(running).toMatchObject({ from: clock('01:00:00'), until: Infinity, restarted: clock('01:10:00') });
  const done = savedPod({ status: { phase: 'Succeeded', containerStatuses: [terminated('2026-11-21T09:30:00Z')] } });
  expect(onSteadyClock(slimPod(done), (wall) => wall + 8 * hours)).toMatchObject({ until: clock('17:30:01') });
});

describe('slimPod', () => {
  test('keeps these fields', () => {
    expect(slimPod(savedPod())).toEqual({
      namespace: 'shop',
      name: 'web-6c8d5f7b94-x2x7k',
      uid: '50c253ec-85f8-4630-b83a-be6e5ce9ec72',
      resourceVersion: '58801',
      node: 'node-a',
      hostNetwork: false,
      addresses: ['10.65.1.4'],
      workload: { kind: 'Deployment', namespace: 'shop', name: 'web' },
      role: undefined,
      from: clock('09:00:00'),
      until: Infinity,
      running: true,
      problem: undefined,
      restarted: undefined,
    });
  });

  describe('keeps only the labels that are asked for', () => {
    const labels = { app: 'web', team: '', 'example.com/tier': 'front_1.a' };
    const longest = 'x'.repeat(63);
    test.each<[string, Record<string, unknown>, string[], string | undefined]>([
      ['in the order that was asked for', labels, ['example.com/tier', 'app'], 'example.com/tier=front_1.a,app=web'],
      ['with an empty value', labels, ['team'], 'team='],
      ['of 63 characters', { app: longest }, ['app'], `app=${longest}`],
      ['none where the Pod has none of them', labels, ['other'], undefined],
      ['none that every object inherits', labels, ['constructor', 'toString'], undefined],
      ['none that Kubernetes would not take: longer', { app: `${longest}x` }, ['app'], undefined],
      ['none that Kubernetes would not take: a comma', { app: 'a,team=b' }, ['app'], undefined],
      ['none that Kubernetes would not take: a number', { app: 5 }, ['app'], undefined],
    ])('%s', (_, given, names, expected) => {
      expect(slimPod(savedPod({ metadata: { labels: given } }), names).labels).toBe(expected);
    });
  });

  test('Events find a mirror Pod by its annotation, and it has no workload', () => {
    expect(slimPod(savedPod(tables.mirror))).toMatchObject({
      uid: 'b5b3a9b1f2c84d6e9a7075a1f3e2d4c6',
      hostNetwork: true,
      workload: undefined,
      role: 'api-server',
    });
  });

  test.each(tables.roles)('in %s, labels %j name the component %j', (namespace, labels, role) => {
    expect(slimPod(savedPod({ metadata: { namespace, labels } })).role).toBe(role);
  });

  test('a packet in the last second of a Pod still belongs to it', () => {
    const ended = savedPod({ status: { phase: 'Failed', containerStatuses: [terminated('2026-11-21T09:05:07Z')] } });
    const endpoints = createEndpointFinder(cluster({ pods: [slimPod(ended)] }));
    expect(endpoints.byAddress('10.65.1.4', { time: clock('09:05:07.300'), exact: true }).kind).toBe('pod');
    expect(endpoints.byAddress('10.65.1.4', { time: clock('09:05:30'), exact: true }).kind).toBe('unknown');
  });

  test.each([
    ['name', { metadata: { name: undefined } }],
    ['namespace', { metadata: { namespace: undefined } }],
  ])('cannot be used without a %s', (field, given) => {
    expect(() => slimPod(savedPod(given))).toThrow(`has no metadata.${field}`);
  });

  test.each([
    ['name', { metadata: { name: 'web\u202e' } }],
    ['name', { metadata: { name: 'x'.repeat(254) } }],
    ['namespace', { metadata: { namespace: 'shop.eu' } }],
    ['namespace', { metadata: { namespace: 'x'.repeat(64) } }],
  ])('cannot be used with an impossible %s', (field, given) => {
    expect(() => slimPod(savedPod(given))).toThrow(`has an impossible metadata.${field}`);
  });

  test.each([null, 7, 'Pod', [], { metadata: null }, { metadata: { name: 5 } }])('%j cannot be used', (value) => {
    expect(() => slimPod(value)).toThrow(UnusableObject);
  });

  test.each(tables.owners)('an owner with %s does not count as a workload', (_, owner) => {
    const given = savedPod({ metadata: { ownerReferences: [{ ...owner, controller: true }] } });
    expect(slimPod(given).workload).toBeUndefined();
  });

  test('the longest possible kind and name are kept', () => {
    const owner = { kind: `X${'y'.repeat(62)}`, name: `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61) };
    const given = savedPod({ metadata: { ownerReferences: [{ ...owner, controller: true }] } });
    expect(slimPod(given).workload).toEqual({ ...owner, namespace: 'shop' });
  });

  test.each([['50c253ec-85f8-4630-b83a-be6e5ce9ec73'], ['x'], ['B5B3A9B1F2C84D6E9A7075A1F3E2D4C6'], ['\n'.repeat(32)]])(
    "a mirror annotation %j, which no kubelet writes, is not believed, because it may be another Pod's uid",
    (annotation) => {
      const annotations = { 'kubernetes.io/config.mirror': annotation };
      expect(slimPod(savedPod({ metadata: { annotations } })).uid).toBe('50c253ec-85f8-4630-b83a-be6e5ce9ec72');
    },
  );

  test('values in a saved list that Kubernetes would not write are unknown', () => {
    const given = savedPod({
      metadata: { uid: '<!channel>', resourceVersion: '7\u001b' },
      spec: { nodeName: 'node-a; reboot' },
    });
    expect(slimPod(given)).toMatchObject({ uid: '', resourceVersion: undefined, node: undefined });
  });

  test('unexpected values are skipped', () => {
    const odd = {
      metadata: { name: 'a', namespace: 'b', labels: 7, annotations: [], ownerReferences: 'x' },
      spec: null,
      status: { podIPs: [null, { ip: 4 }], podIP: 'x', startTime: 'soon' },
    };
    expect(slimPod(odd)).toMatchObject({
      uid: '',
      addresses: [],
      workload: undefined,
      node: undefined,
      from: -Infinity,
      until: Infinity,
    });
  });
});

const saved = tables.node;

test('slimNode keeps these fields', () => {
  expect(slimNode(saved)).toEqual({
    name: 'node-a',
    uid: 'f00',
    resourceVersion: '9',
    addresses: ['192.168.7.11', '203.0.113.5', 'fd00:7::11'],
    annotated: '10.65.1.1 10.65.1.2 fd00:65::2 10.65.1.3 fd00:65::3 198.51.100.7'.split(' '),
    podRanges: ['10.65.1.0/24', 'fd00:65::/64'],
    hostNames: ['node-a', 'node-a.internal', 'node-a.example.org', 'host-a'],
  });
});

test('only valid host names are taken from a Node, whatever its kubelet reports', () => {
  const addresses = ['node-a\n', '<!channel>', `a${'x'.repeat(253)}`, '$(reboot)', 'Node_A.internal'];
  const status = { addresses: addresses.map((address) => ({ type: 'Hostname', address })) };
  expect(slimNode({ ...saved, status }).hostNames).toEqual(['Node_A.internal', 'host-a']);
});

test("a Node's names are not taken for addresses", () => {
  expect(slimNode({ metadata: { name: 'n' }, status: { addresses: [{ type: 'Hostname', address: 'n' }] } })).toEqual({
    name: 'n',
    uid: '',
    resourceVersion: undefined,
    addresses: [],
    podRanges: [],
    hostNames: ['n'],
  });
});

test.each(tables.serviceRoles)('slimService: %s/%s is the component %j', (namespace, name, role) => {
  expect(slimService({ metadata: { name, namespace } }).role).toBe(role);
});
