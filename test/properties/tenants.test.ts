import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { replay } from '../../src/cli/replay/replay.ts';
import { interfaceNames } from '../../src/explain/resolving/pod-index.ts';
import { parsed } from '../cli/parsed.ts';
import { forAllAsync } from '../for-all.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

/*
 * An honest tenant (`shop`) and an attacker (`evil`), who may create every kind of object in a Namespace of his own, as
 * far as the API server allows it: he cannot choose a Pod's status, nor a ClusterIP that is in use. Whatever he
 * creates, no Event, verdict or audit row of the honest tenant changes.
 */

const numRuns = process.env['FUZZ'] === undefined ? 40 : 2000;
const folder = temporaryFolder();

interface Metadata {
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

function object(kind: string, name: string, metadata: Metadata, rest: object, apiVersion = 'v1'): object {
  const uid = `${kind}-${metadata.namespace ?? ''}-${name}`;
  return { apiVersion, kind, metadata: { name, uid, ...metadata }, ...rest };
}

const started = '2026-11-21T08:00:00Z';

function podObject(namespace: string, name: string, node: string, ip: string, metadata: Metadata = {}): object {
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], startTime: started };
  const spec = {
    nodeName: node,
    serviceAccountName: name,
    containers: [{ ports: [{ name: 'web', containerPort: 80 }] }],
  };
  return object('Pod', name, { namespace, labels: { app: name }, ...metadata }, { spec, status });
}

function nodeObject(name: string, ip: string, podCIDR: string): object {
  const status = { addresses: [{ type: 'InternalIP', address: ip }] };
  return object('Node', name, {}, { spec: { podCIDR }, status });
}

function serviceObject(namespace: string, name: string, clusterIP: string, port: object, claims: object = {}): object {
  return object(
    'Service',
    name,
    { namespace },
    { spec: { clusterIP, clusterIPs: [clusterIP], ports: [port], ...claims } },
  );
}

const egress = (to: object[]): object => ({
  podSelector: {},
  policyTypes: ['Egress'],
  egress: to.length === 0 ? [] : [{ to }],
});
const policyObject = (namespace: string, spec: object): object =>
  object('NetworkPolicy', 'own', { namespace }, { spec }, 'networking.k8s.io/v1');

/** Addresses that the honest tenant's Pod connects to, for each kind of owner and for none. */
const peers = [
  '10.8.0.5',
  '10.8.0.77',
  '10.9.1.2',
  '10.9.1.77',
  '10.77.0.1',
  '192.168.0.1',
  '192.168.0.2',
  '10.8.0.1',
  '10.96.0.10',
  '10.96.0.1',
  '10.96.0.80',
  '10.96.0.99',
  '203.0.113.80',
  '169.254.169.254',
];

const cluster = [
  nodeObject('node-a', '192.168.0.1', '10.8.0.0/16'),
  nodeObject('node-b', '192.168.0.2', '10.9.0.0/16'),
  podObject('shop', 'web-0', 'node-b', '10.9.1.1'),
  podObject('shop', 'cart-0', 'node-b', '10.9.1.2'),
  podObject('bank', 'db-0', 'node-a', '10.8.0.5'),
  podObject('bank', 'far-0', 'node-a', '10.77.0.1'),
  serviceObject('kube-system', 'kube-dns', '10.96.0.10', { name: 'dns', port: 53, protocol: 'UDP' }),
  serviceObject('default', 'kubernetes', '10.96.0.1', { name: 'https', port: 443 }),
  serviceObject('shop', 'api', '10.96.0.80', { name: 'api', port: 5432 }),
  ...['shop', 'bank', 'kube-system', 'default', 'evil'].map((name) =>
    object('Namespace', name, { labels: { 'kubernetes.io/metadata.name': name } }, {}),
  ),
];

const honestPolicies = fc.constantFrom(
  egress([]),
  egress([{ namespaceSelector: {} }]),
  egress([{ ipBlock: { cidr: '10.8.0.0/16' } }]),
  egress([{ podSelector: { matchLabels: { app: 'cart-0' } } }]),
  { podSelector: {}, policyTypes: ['Ingress'] },
);

const claimed = fc.subarray(peers, { minLength: 1 });
const ports = fc.constantFrom(53, 80, 443, 5432, 6443).map((port) => ({ name: 'evil-port', port, protocol: 'TCP' }));
const strings = fc.dictionary(
  fc.constantFrom('app', 'k8s-app', 'component', 'kubernetes.io/service-name', 'pod-template-hash', 'team'),
  fc.constantFrom('web-0', 'kube-dns', 'kube-apiserver', 'api', 'evil'),
);
const annotations = fc.dictionary(
  fc.constantFrom(
    'cni.projectcalico.org/podIP',
    'k8s.v1.cni.cncf.io/network-status',
    'projectcalico.org/IPv4VXLANTunnelAddr',
    'flannel.alpha.coreos.com/public-ip',
    'kubernetes.io/config.mirror',
  ),
  fc.constantFrom(...peers, 'Pod-shop-web-0'),
);

/** Objects that a Namespace can have, with claims in every field that the tenant writes. */
const attack = fc.oneof(
  fc.record({ claimed, ports, ingress: claimed, type: fc.constantFrom('ClusterIP', 'LoadBalancer') }).map((each) => {
    const { spec, ...rest } = serviceObject('evil', 'trusted', '10.96.7.7', each.ports, {
      externalIPs: each.claimed,
      loadBalancerIP: each.claimed[0],
      type: each.type,
    }) as { spec: object };
    return Object.assign({}, rest, { spec, status: { loadBalancer: { ingress: each.ingress.map((ip) => ({ ip })) } } });
  }),
  fc.record({ claimed, ports }).map((each) =>
    serviceObject('evil', 'headless', 'None', each.ports, {
      externalName: each.claimed[0],
      externalIPs: each.claimed,
    }),
  ),
  fc.record({ claimed, ports, labels: strings }).map(({ labels, ...each }) =>
    object(
      'EndpointSlice',
      'slice',
      { namespace: 'evil', labels },
      {
        addressType: 'IPv4',
        ports: [each.ports],
        endpoints: each.claimed.map((address) => ({
          addresses: [address],
          nodeName: 'node-b',
          targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-0' },
        })),
      },
      'discovery.k8s.io/v1',
    ),
  ),
  fc
    .record({ labels: strings, annotations, owner: fc.constantFrom('ReplicaSet', 'Node', 'Job'), host: fc.boolean() })
    .map(({ owner, host, ...metadata }) => {
      const pod = podObject('evil', 'web-0', 'node-b', host ? '192.168.0.2' : '10.9.66.6', metadata) as {
        metadata: object;
        spec: object;
      };
      const ownerReferences = [{ kind: owner, name: 'web-0', controller: true, apiVersion: 'apps/v1' }];
      Object.assign(pod.spec, { hostNetwork: host });
      Object.assign(pod.metadata, { ownerReferences });
      return pod;
    }),
  honestPolicies.map((spec) => policyObject('evil', spec)),
  strings.map((labels) => object('ServiceAccount', 'web-0', { namespace: 'evil', labels }, {})),
  fc
    .record({ claimed, labels: strings })
    .map((each) =>
      object(
        'NetworkSet',
        'set',
        { namespace: 'evil', labels: each.labels },
        { spec: { nets: each.claimed.map((address) => `${address}/32`) } },
        'projectcalico.org/v3',
      ),
    ),
  claimed.map((addresses) =>
    object('Endpoints', 'api', { namespace: 'evil' }, { subsets: [{ addresses: addresses.map((ip) => ({ ip })) }] }),
  ),
);

const [veth = ''] = interfaceNames('shop', 'web-0');

const lines = fc.array(
  fc.record({
    peer: fc.constantFrom(...peers),
    port: fc.constantFrom(53, 80, 443, 5432, 6443),
    isReceiving: fc.boolean(),
    prefix: fc.constantFrom('calico-drop: ', 'DROP by policy shop/own: ', '[UFW BLOCK] '),
  }),
  { minLength: 1, maxLength: 4 },
);

type Line = typeof lines extends fc.Arbitrary<(infer T)[]> ? T : never;

function logOf(all: readonly Line[]): string {
  return all
    .map(({ peer, port, isReceiving, prefix }, index) => {
      const [source, destination] = isReceiving ? [peer, '10.9.1.1'] : ['10.9.1.1', peer];
      const devices = isReceiving ? `IN=eth0 OUT=${veth}` : `IN=${veth} OUT=eth0`;
      return `Nov 21 09:00:0${index} node-b kernel: [  100.000${index}] ${prefix}${devices} SRC=${source} DST=${destination} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40000 DPT=${port} WINDOW=64860 RES=0x00 SYN URGP=0\n`;
    })
    .join('');
}

async function printed(objects: readonly object[], log: string, ...args: readonly string[]): Promise<string> {
  const [saved, text] = [join(folder(), 'objects.json'), join(folder(), 'log')];
  writeFileSync(saved, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  writeFileSync(text, log);
  const all = ['--pods', saved, '--now', '2026-11-21T20:00:00Z', '--time-zone', 'UTC', ...args, text];
  let out = '';
  await replay(readReplayOptions(parsed('replay', ...all)), {
    stdin: process.stdin,
    out: (part) => void (out += part),
    err: () => {},
  });
  return out;
}

/** In either order of the lists. */
const places = fc.constantFrom('first', 'last');

test('no object that a Namespace may create changes an Event, a verdict or a row of another Namespace', async () => {
  await forAllAsync(
    [honestPolicies, fc.array(attack, { minLength: 1, maxLength: 4 }), places, lines],
    { numRuns },
    async (policy, attacks, place, drops) => {
      const honest = [...cluster, policyObject('shop', policy)];
      const attacked = place === 'first' ? [...attacks, ...honest] : [...honest, ...attacks];
      const log = logOf(drops);
      for (const args of [
        ['--output', 'json'],
        ['--output', 'audit'],
        ['--output', 'audit', '--namespace', 'shop', '--audit-peers', 'redacted'],
        ['--output', 'audit', '--audit-peers', 'redacted'],
      ]) {
        const before = await printed(honest, log, ...args);
        expect(before).not.toBe('');
        expect(await printed(attacked, log, ...args)).toBe(before);
      }
    },
  );
});
