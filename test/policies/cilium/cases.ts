/**
 * Policies of Cilium: a row for each thing that is easily got wrong. What is meant is settled by Cilium's sources, named in the titles: `api` is
 * pkg/policy/api, `rule` pkg/policy/rule.go, `utils` pkg/k8s/apis/cilium.io/utils, `doc` Documentation/security/policy.
 */
import type { End, Flow, Pod, Verdict } from '../../../src/policies/policies.ts';
import { namedPort, namespace, networkPolicy, pod } from '../objects.ts';

type Expected = Verdict['outcome'];

export const postgres = pod({ ports: [namedPort('db', 5432)] });
export const worker = pod({
  namespace: 'batch',
  name: 'worker-7',
  labels: { app: 'worker', tier: 'b' },
  addresses: ['10.65.2.9'],
  node: 'node-b',
  serviceAccount: 'runner',
});
const onNodeA = pod({ namespace: 'kube-system', name: 'proxy-a', hostNetwork: true, addresses: ['192.168.7.11'] });
const onNodeB = pod({ ...onNodeA, name: 'proxy-b', node: 'node-b', addresses: ['192.168.7.12'] });
export const namespaces = [namespace('shop', { team: 'shop' }), namespace('batch', { team: 'batch' })];

const end = (of: Pod): End => ({ kind: 'pod', pod: of, address: of.addresses[0] });
const outside = (address: string): End => ({ kind: 'external', address });
const somebody = (address: string): End => ({ kind: 'unknown', address });
const node = (name: string): End => ({ kind: 'node', node: { name, labels: { zone: 'a' } }, address: '192.168.7.12' });

export function cnp(spec: object, name = 'policy', of = 'shop'): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name, namespace: of }, spec };
}

function ccnp(spec: object, name = 'policy'): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumClusterwideNetworkPolicy', metadata: { name }, spec };
}

const ingress = (...rules: object[]): object => cnp({ endpointSelector: {}, ingress: rules });
const egress = (...rules: object[]): object => cnp({ endpointSelector: {}, egress: rules }, 'egress', 'batch');
export const fromLabels = (matchLabels: object): object => ({ fromEndpoints: [{ matchLabels }] });
const port = (...ports: object[]): object => ({ toPorts: [{ ports }] });
const postgresPort = { port: '5432', protocol: 'TCP' };
export const inBatch = { 'k8s:io.kubernetes.pod.namespace': 'batch' };
export const isolating = cnp({ endpointSelector: {}, ingress: [{}] }, 'isolating');
const subject = (endpointSelector: object): object => cnp({ endpointSelector, ingress: [{}] });

/** From batch/worker-7 to shop/postgres-0 on 5432/TCP, but for what the row changes. */
export const connection: Flow = { source: end(worker), destination: end(postgres), protocol: 'TCP', port: 5432 };

type Row = [title: string, policies: object[], expected: Expected, changes?: Partial<Flow>];

const isolation: Row[] = [
  ['a policy without rules for a direction does not isolate (api Sanitize)', [cnp({ endpointSelector: {} })], 'admits'],
  ['an empty list of rules does not isolate', [cnp({ endpointSelector: {}, ingress: [] })], 'admits'],
  ['an empty rule isolates, and matches nothing (doc default deny)', [isolating], 'denies'],
  ['rules for egress do not isolate for ingress', [cnp({ endpointSelector: {}, egress: [{}] })], 'admits'],
  [
    'a policy of another Namespace does not select',
    [cnp({ endpointSelector: {}, ingress: [{}] }, 'x', 'batch')],
    'admits',
  ],
  ['a policy that only denies isolates (api Sanitize)', [cnp({ endpointSelector: {}, ingressDeny: [{}] })], 'denies'],
  [
    'a policy need not isolate (enableDefaultDeny)',
    [cnp({ endpointSelector: {}, ingress: [fromLabels({ app: 'web' })], enableDefaultDeny: { ingress: false } })],
    'admits',
  ],
  [
    'without a rule for a direction a policy does not isolate, though it says so',
    [cnp({ endpointSelector: {}, egress: [{}], enableDefaultDeny: { ingress: true } })],
    'admits',
  ],
  [
    'one that does not isolate still admits what another isolates',
    [isolating, cnp({ endpointSelector: {}, ingress: [fromLabels(inBatch)], enableDefaultDeny: { ingress: false } })],
    'admits',
  ],
  [
    'one that only denies need not isolate',
    [
      cnp({
        endpointSelector: {},
        ingressDeny: [fromLabels({ ...inBatch, app: 'web' })],
        enableDefaultDeny: { ingress: false },
      }),
    ],
    'admits',
  ],
  ['a policy of Nodes is not about Pods', [ccnp({ nodeSelector: {}, ingress: [{}] })], 'admits'],
  ['a policy of the cluster selects Pods of all Namespaces', [ccnp({ endpointSelector: {}, ingress: [{}] })], 'denies'],
  [
    'several specs are one policy each',
    [
      {
        apiVersion: 'cilium.io/v2',
        kind: 'CiliumNetworkPolicy',
        metadata: { name: 'two', namespace: 'shop' },
        specs: [
          { endpointSelector: { matchLabels: { app: 'web' } }, ingress: [{}] },
          { endpointSelector: { matchLabels: { app: 'postgres' } }, ingress: [{}] },
        ],
      },
    ],
    'denies',
  ],
  ['a policy without a spec may do anything', [{ ...isolating, spec: undefined }], 'unknown'],
  ['a field that is not known may do anything', [cnp({ endpointSelector: {}, ingres: [] })], 'unknown'],
];

const subjects: Row[] = [
  ['a label of the Pod selects it', [subject({ matchLabels: { app: 'postgres' } })], 'denies'],
  ['another value does not', [subject({ matchLabels: { app: 'web' } })], 'admits'],
  ['the source k8s stands before the key', [subject({ matchLabels: { 'k8s:app': 'postgres' } })], 'denies'],
  ['any source stands before the key', [subject({ matchLabels: { 'any:app': 'postgres' } })], 'denies'],
  [
    'expressions are as those of Kubernetes',
    [subject({ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] })],
    'denies',
  ],
  [
    'a policy of the cluster selects by Namespace',
    [ccnp({ endpointSelector: { matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'batch' } }, ingress: [{}] })],
    'admits',
  ],
  [
    'a policy of the cluster selects by labels of the Namespace',
    [ccnp({ endpointSelector: { matchLabels: { 'io.cilium.k8s.namespace.labels.team': 'shop' } }, ingress: [{}] })],
    'denies',
  ],
  [
    'a policy selects by the ServiceAccount',
    [subject({ matchLabels: { 'io.cilium.k8s.policy.serviceaccount': 'default' } })],
    'denies',
  ],
  [
    'which cluster it is, is not known',
    [subject({ matchLabels: { 'io.cilium.k8s.policy.cluster': 'blue' } })],
    'unknown',
  ],
];

const fromPods: Row[] = [
  [
    'a reserved label stands for its entity',
    [ingress(fromLabels({ 'reserved:remote-node': '' }))],
    'admits',
    { source: node('node-b') },
  ],
  ['a selector is of the Namespace of its policy (utils)', [ingress(fromLabels({ app: 'worker' }))], 'denies'],
  ['a selector may name another Namespace', [ingress(fromLabels({ ...inBatch, app: 'worker' }))], 'admits'],
  [
    'a selector may name it without the source',
    [ingress(fromLabels({ 'io.kubernetes.pod.namespace': 'batch' }))],
    'admits',
  ],
  [
    'labels of Namespaces lift the confinement to one',
    [ingress(fromLabels({ 'k8s:io.cilium.k8s.namespace.labels.team': 'batch' }))],
    'admits',
  ],
  [
    'labels of Namespaces have to match',
    [ingress(fromLabels({ 'k8s:io.cilium.k8s.namespace.labels.team': 'shop' }))],
    'denies',
  ],
  [
    'in a policy of the cluster a selector is of all Namespaces',
    [ccnp({ endpointSelector: {}, ingress: [fromLabels({ app: 'worker' })] })],
    'admits',
  ],
  [
    'all endpoints of the cluster are no Node',
    [ccnp({ endpointSelector: {}, ingress: [{ fromEndpoints: [{}] }] })],
    'denies',
    { source: node('node-b') },
  ],
  ['an empty list of endpoints matches nothing', [ingress({ fromEndpoints: [], ...port(postgresPort) })], 'denies'],
  [
    'peers have a ServiceAccount',
    [ingress(fromLabels({ ...inBatch, 'io.cilium.k8s.policy.serviceaccount': 'runner' }))],
    'admits',
  ],
  [
    'endpoints are no addresses outside',
    [ingress({ fromEndpoints: [{}] })],
    'denies',
    { source: outside('192.0.2.7') },
  ],
  [
    'whose an address is may not be known',
    [ingress({ fromEndpoints: [{}] })],
    'unknown',
    { source: somebody('10.65.9.9') },
  ],
  [
    'labels that make no identity may not match',
    [ingress(fromLabels({ ...inBatch, 'pod-template-hash': '1' }))],
    'unknown',
    { source: end({ ...worker, labels: { 'pod-template-hash': '1' } }) },
  ],
  [
    'fromRequires is not evaluated',
    [ingress({ fromRequires: [{}], fromEndpoints: [{ matchLabels: inBatch }] })],
    'unknown',
  ],
  [
    'authentication may be missing',
    [ingress({ ...fromLabels(inBatch), authentication: { mode: 'required' } })],
    'unknown',
  ],
];

const entities: [entity: string, of: Record<string, Expected>][] = [
  ['all', { pod: 'admits', ownHost: 'admits', otherNode: 'admits', outside: 'admits', somebody: 'admits' }],
  ['world', { pod: 'denies', ownHost: 'admits', otherNode: 'denies', outside: 'admits', somebody: 'unknown' }],
  ['world-ipv4', { pod: 'denies', otherNode: 'denies', outside: 'admits' }],
  ['world-ipv6', { pod: 'denies', outside: 'denies' }],
  ['cluster', { pod: 'admits', otherNode: 'admits', otherHost: 'admits', outside: 'denies', somebody: 'unknown' }],
  ['cluster-mesh', { pod: 'admits', otherNode: 'admits', outside: 'unknown' }],
  ['remote-node', { pod: 'denies', otherNode: 'admits', otherHost: 'admits', outside: 'denies' }],
  ['host', { pod: 'denies', otherNode: 'denies', otherHost: 'denies', outside: 'denies', somebody: 'unknown' }],
  ['kube-apiserver', { pod: 'denies', otherNode: 'unknown', outside: 'unknown' }],
  ['ingress', { pod: 'denies', otherNode: 'denies', outside: 'unknown' }],
  ['unmanaged', { pod: 'unknown', outside: 'denies' }],
  ['init', { pod: 'denies', outside: 'denies' }],
  ['health', { pod: 'denies', outside: 'denies', somebody: 'unknown' }],
  ['none', { pod: 'denies', outside: 'denies' }],
  ['mars', { pod: 'unknown' }],
];

const sources: Readonly<Record<string, End>> = {
  pod: end(worker),
  // A Node reaches its own Pods, whatever policies say.
  ownHost: end(onNodeA),
  otherHost: end(onNodeB),
  otherNode: node('node-b'),
  outside: outside('192.0.2.7'),
  somebody: somebody('10.65.9.9'),
};

const block = (cidr: string, ...except: string[]): object => ({ fromCIDRSet: [{ cidr, except }] });
const networks: Row[] = [
  [
    'a CIDR matches addresses outside',
    [ingress({ fromCIDR: ['192.0.2.0/24'] })],
    'admits',
    { source: outside('192.0.2.7') },
  ],
  ['a CIDR may be one address', [ingress({ fromCIDR: ['192.0.2.7'] })], 'admits', { source: outside('192.0.2.7') }],
  ['a CIDR matches no Pod', [ingress({ fromCIDR: ['10.0.0.0/8'] })], 'denies'],
  [
    'a CIDR may match a Node (policy-cidr-match-mode)',
    [ingress({ fromCIDR: ['192.168.0.0/16'] })],
    'unknown',
    { source: node('node-b') },
  ],
  [
    'an exception is left out',
    [ingress(block('192.0.2.0/24', '192.0.2.4/30'))],
    'denies',
    { source: outside('192.0.2.7') },
  ],
  [
    'the rest of the network is not',
    [ingress(block('192.0.2.0/24', '192.0.2.4/30'))],
    'admits',
    { source: outside('192.0.2.8') },
  ],
  [
    'a group of CIDRs is not known',
    [ingress({ fromCIDRSet: [{ cidrGroupRef: 'offices' }] })],
    'unknown',
    { source: outside('192.0.2.7') },
  ],
  ['what is no CIDR may match', [ingress({ fromCIDR: ['office'] })], 'unknown', { source: outside('192.0.2.7') }],
  [
    'whose an address is may not be known',
    [ingress({ fromCIDR: ['10.0.0.0/8'] })],
    'unknown',
    { source: somebody('10.65.9.9') },
  ],
];

const ports: Row[] = [
  ['ports without peers are for all peers (rule)', [ingress(port(postgresPort))], 'admits'],
  ['another port does not match', [ingress(port({ port: '80' }))], 'denies'],
  ['without a protocol all that have ports match', [ingress(port({ port: '5432' }))], 'admits', { protocol: 'SCTP' }],
  ['another protocol does not match', [ingress(port({ port: '5432', protocol: 'UDP' }))], 'denies'],
  ['a range may begin with 0', [ingress(port({ port: '0', endPort: 5431, protocol: 'TCP' }))], 'denies'],
  ['port 0 is all ports', [ingress(port({ port: '0', protocol: 'TCP' }))], 'admits'],
  ['a range ends with endPort', [ingress(port({ port: '5000', endPort: 5432, protocol: 'TCP' }))], 'admits'],
  [
    'a port behind the range does not match',
    [ingress(port({ port: '5000', endPort: 5431, protocol: 'TCP' }))],
    'denies',
  ],
  ['a port may be named', [ingress(port({ port: 'db', protocol: 'TCP' }))], 'admits'],
  [
    'one of several lists of ports is enough',
    [ingress({ toPorts: [{ ports: [{ port: '80' }] }, { ports: [postgresPort] }] })],
    'admits',
  ],
  ['ports match no ICMP', [ingress(port(postgresPort))], 'denies', { protocol: 'ICMP', port: undefined }],
  [
    'types of ICMP are not known',
    [ingress({ icmps: [{ fields: [{ family: 'IPv4', type: 8 }] }] })],
    'unknown',
    { protocol: 'ICMP', port: undefined },
  ],
  ['ICMP is no TCP', [ingress({ icmps: [{ fields: [{ type: 8 }] }] })], 'denies'],
  [
    'ICMP of the other family does not match',
    [ingress({ icmps: [{ fields: [{ family: 'IPv6', type: 128 }] }] })],
    'denies',
    { protocol: 'ICMP', port: undefined },
  ],
  ['peers and ports must both match', [ingress({ ...fromLabels(inBatch), ...port({ port: '80' }) })], 'denies'],
  [
    'a proxy decides by the request',
    [ingress({ toPorts: [{ ports: [postgresPort], rules: { http: [{ method: 'GET' }] } }] })],
    'unknown',
  ],
  [
    'a proxy is not asked about another port',
    [ingress({ toPorts: [{ ports: [{ port: '80' }], rules: { http: [{ method: 'GET' }] } }] })],
    'denies',
  ],
  [
    'a list of rules that is empty asks for nothing',
    [ingress({ toPorts: [{ ports: [postgresPort], rules: { http: [] } }] })],
    'admits',
  ],
  [
    'the name of a server is not known',
    [ingress({ toPorts: [{ ports: [postgresPort], serverNames: ['db.example'] }] })],
    'unknown',
  ],
];

const precedence: Row[] = [
  [
    'a rule that denies goes over one that admits',
    [cnp({ endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [fromLabels(inBatch)] })],
    'denies',
  ],
  [
    'it goes over a NetworkPolicy of Kubernetes',
    [
      networkPolicy({ podSelector: {}, ingress: [{}] }),
      cnp({ endpointSelector: {}, ingressDeny: [fromLabels(inBatch)] }, 'deny'),
    ],
    'denies',
  ],
  [
    'a rule that denies another port does not',
    [cnp({ endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [port({ port: '80' })] })],
    'admits',
  ],
  [
    'a NetworkPolicy admits what a policy of Cilium isolates',
    [isolating, networkPolicy({ podSelector: {}, ingress: [{}] })],
    'admits',
  ],
  [
    'a policy of Cilium admits what a NetworkPolicy isolates',
    [networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }), ingress(fromLabels(inBatch))],
    'admits',
  ],
  [
    'a rule that may deny leaves it open',
    [
      cnp({
        endpointSelector: {},
        ingress: [{ fromEntities: ['all'] }],
        ingressDeny: [{ fromCIDRSet: [{ cidrGroupRef: 'offices' }] }],
      }),
    ],
    'unknown',
  ],
];

const outgoing: Row[] = [
  [
    'a Pod of another Namespace is named by it',
    [egress({ toEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'shop' } }] })],
    'admits',
  ],
  ['a selector is of the Namespace of its policy', [egress({ toEndpoints: [{}] })], 'denies'],
  ['a domain name is no Pod', [egress({ toFQDNs: [{ matchName: 'db.example' }] })], 'denies'],
  [
    'which addresses a domain name had is not known',
    [egress({ toFQDNs: [{ matchPattern: '*.example' }] })],
    'unknown',
    { destination: outside('192.0.2.7') },
  ],
  [
    'endpoints of Services are not known',
    [egress({ toServices: [{ k8sService: { serviceName: 'db', namespace: 'shop' } }] })],
    'unknown',
  ],
  [
    'groups of the cloud are not known',
    [egress({ toGroups: [{ aws: {} }] })],
    'unknown',
    { destination: outside('192.0.2.7') },
  ],
  [
    'peers that are named in two ways are refused, or one of them',
    [egress({ toEndpoints: [{}], toEntities: ['cluster'] })],
    'unknown',
  ],
  [
    'DNS for all names is admitted',
    [egress({ toPorts: [{ ports: [{ port: '53', protocol: 'UDP' }], rules: { dns: [{ matchPattern: '*' }] } }] })],
    'admits',
    { protocol: 'UDP', port: 53 },
  ],
  [
    'DNS for some names is decided by the request',
    [
      egress({
        toPorts: [{ ports: [{ port: '53', protocol: 'UDP' }], rules: { dns: [{ matchName: 'db.example' }] } }],
      }),
    ],
    'unknown',
    { protocol: 'UDP', port: 53 },
  ],
  [
    'whose an address is need not be known where the CIDR does not have it',
    [egress({ toCIDR: ['192.0.2.0/24'] })],
    'denies',
    { destination: somebody('10.65.9.9') },
  ],
  ['the own Node is an entity', [egress({ toEntities: ['host'] })], 'admits', { destination: node('node-b') }],
];

export interface Case {
  readonly title: string;
  readonly policies: readonly object[];
  readonly flow: Flow;
  readonly direction: 'ingress' | 'egress';
  readonly expected: Expected;
}

export const cases: readonly Case[] = [
  ...[isolation, subjects, fromPods, networks, ports, precedence].flatMap((rows) => rows.map(caseOf('ingress'))),
  ...outgoing.map(caseOf('egress')),
  ...entities.flatMap(([entity, of]) =>
    Object.entries(of).map(([source, expected]) =>
      caseOf('ingress')([
        `entity ${entity} for ${source}`,
        [ingress({ fromEntities: [entity] })],
        expected,
        { source: sources[source] as End },
      ]),
    ),
  ),
];

function caseOf(direction: Case['direction']): (row: Row) => Case {
  return ([title, policies, expected, changes]) => ({
    title,
    policies,
    flow: { ...connection, ...changes },
    direction,
    expected,
  });
}
