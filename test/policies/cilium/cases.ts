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

type Row = Pick<Case, 'policies' | 'expected'> & { changes: Partial<Flow> | undefined };
type Rows = Readonly<Record<string, Row>>;

const row =
  (expected: Expected) =>
  (policies: object[], changes?: Partial<Flow>): Row => ({ policies, expected, changes });
const [admits, denies, unknown] = [row('admits'), row('denies'), row('unknown')];
const fromOutside = { source: outside('192.0.2.7') };
const toOutside = { destination: outside('192.0.2.7') };
const fromSomebody = { source: somebody('10.65.9.9') };
const fromNode = { source: node('node-b') };
const dns = { protocol: 'UDP', port: 53 };
const icmp = { protocol: 'ICMP', port: undefined };

const isolation: Rows = {
  'a policy without rules for a direction does not isolate (api Sanitize)': admits([cnp({ endpointSelector: {} })]),
  'an empty list of rules does not isolate': admits([cnp({ endpointSelector: {}, ingress: [] })]),
  'an empty rule isolates, and matches nothing (doc default deny)': denies([isolating]),
  'rules for egress do not isolate for ingress': admits([cnp({ endpointSelector: {}, egress: [{}] })]),
  'a policy of another Namespace does not select': admits([cnp({ endpointSelector: {}, ingress: [{}] }, 'x', 'batch')]),
  'a policy that only denies isolates (api Sanitize)': denies([cnp({ endpointSelector: {}, ingressDeny: [{}] })]),
  'a policy need not isolate (enableDefaultDeny)': admits([
    cnp({ endpointSelector: {}, ingress: [fromLabels({ app: 'web' })], enableDefaultDeny: { ingress: false } }),
  ]),
  'without a rule for a direction a policy does not isolate, though it says so': admits([
    cnp({ endpointSelector: {}, egress: [{}], enableDefaultDeny: { ingress: true } }),
  ]),
  'one that does not isolate still admits what another isolates': admits([
    isolating,
    cnp({ endpointSelector: {}, ingress: [fromLabels(inBatch)], enableDefaultDeny: { ingress: false } }),
  ]),
  'one that only denies need not isolate': admits([
    cnp({
      endpointSelector: {},
      ingressDeny: [fromLabels({ ...inBatch, app: 'web' })],
      enableDefaultDeny: { ingress: false },
    }),
  ]),
  'a policy of Nodes is not about Pods': admits([ccnp({ nodeSelector: {}, ingress: [{}] })]),
  'a policy of the cluster selects Pods of all Namespaces': denies([ccnp({ endpointSelector: {}, ingress: [{}] })]),
  'several specs are one policy each': denies([
    {
      apiVersion: 'cilium.io/v2',
      kind: 'CiliumNetworkPolicy',
      metadata: { name: 'two', namespace: 'shop' },
      specs: [
        { endpointSelector: { matchLabels: { app: 'web' } }, ingress: [{}] },
        { endpointSelector: { matchLabels: { app: 'postgres' } }, ingress: [{}] },
      ],
    },
  ]),
  'a policy without a spec may do anything': unknown([{ ...isolating, spec: undefined }]),
  'a field that is not known may do anything': unknown([cnp({ endpointSelector: {}, ingres: [] })]),
};

const subjects: Rows = {
  'a label of the Pod selects it': denies([subject({ matchLabels: { app: 'postgres' } })]),
  'another value does not': admits([subject({ matchLabels: { app: 'web' } })]),
  'the source k8s stands before the key': denies([subject({ matchLabels: { 'k8s:app': 'postgres' } })]),
  'any source stands before the key': denies([subject({ matchLabels: { 'any:app': 'postgres' } })]),
  'expressions are as those of Kubernetes': denies([
    subject({ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }),
  ]),
  'a policy of the cluster selects by Namespace': admits([
    ccnp({ endpointSelector: { matchLabels: inBatch }, ingress: [{}] }),
  ]),
  'a policy of the cluster selects by labels of the Namespace': denies([
    ccnp({ endpointSelector: { matchLabels: { 'io.cilium.k8s.namespace.labels.team': 'shop' } }, ingress: [{}] }),
  ]),
  'a policy selects by the ServiceAccount': denies([
    subject({ matchLabels: { 'io.cilium.k8s.policy.serviceaccount': 'default' } }),
  ]),
  'which cluster it is, is not known': unknown([subject({ matchLabels: { 'io.cilium.k8s.policy.cluster': 'blue' } })]),
};

const fromPods: Rows = {
  'a reserved label stands for its entity': admits([ingress(fromLabels({ 'reserved:remote-node': '' }))], fromNode),
  'a selector is of the Namespace of its policy (utils)': denies([ingress(fromLabels({ app: 'worker' }))]),
  'a selector may name another Namespace': admits([ingress(fromLabels({ ...inBatch, app: 'worker' }))]),
  'a selector may name it without the source': admits([
    ingress(fromLabels({ 'io.kubernetes.pod.namespace': 'batch' })),
  ]),
  'labels of Namespaces lift the confinement to one': admits([
    ingress(fromLabels({ 'k8s:io.cilium.k8s.namespace.labels.team': 'batch' })),
  ]),
  'labels of Namespaces have to match': denies([
    ingress(fromLabels({ 'k8s:io.cilium.k8s.namespace.labels.team': 'shop' })),
  ]),
  'in a policy of the cluster a selector is of all Namespaces': admits([
    ccnp({ endpointSelector: {}, ingress: [fromLabels({ app: 'worker' })] }),
  ]),
  'all endpoints of the cluster are no Node': denies(
    [ccnp({ endpointSelector: {}, ingress: [{ fromEndpoints: [{}] }] })],
    fromNode,
  ),
  'an empty list of endpoints matches nothing': denies([ingress({ fromEndpoints: [], ...port(postgresPort) })]),
  'peers have a ServiceAccount': admits([
    ingress(fromLabels({ ...inBatch, 'io.cilium.k8s.policy.serviceaccount': 'runner' })),
  ]),
  'endpoints are no addresses outside': denies([ingress({ fromEndpoints: [{}] })], fromOutside),
  'whose an address is may not be known': unknown([ingress({ fromEndpoints: [{}] })], fromSomebody),
  'labels that make no identity may not match': unknown(
    [ingress(fromLabels({ ...inBatch, 'pod-template-hash': '1' }))],
    { source: end({ ...worker, labels: { 'pod-template-hash': '1' } }) },
  ),
  'fromRequires is not evaluated': unknown([
    ingress({ fromRequires: [{}], fromEndpoints: [{ matchLabels: inBatch }] }),
  ]),
  'authentication may be missing': unknown([ingress({ ...fromLabels(inBatch), authentication: { mode: 'required' } })]),
};

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
const networks: Rows = {
  'a CIDR matches addresses outside': admits([ingress({ fromCIDR: ['192.0.2.0/24'] })], fromOutside),
  'a CIDR may be one address': admits([ingress({ fromCIDR: ['192.0.2.7'] })], fromOutside),
  'a CIDR matches no Pod': denies([ingress({ fromCIDR: ['10.0.0.0/8'] })]),
  'a CIDR may match a Node (policy-cidr-match-mode)': unknown([ingress({ fromCIDR: ['192.168.0.0/16'] })], fromNode),
  'an exception is left out': denies([ingress(block('192.0.2.0/24', '192.0.2.4/30'))], fromOutside),
  'the rest of the network is not': admits([ingress(block('192.0.2.0/24', '192.0.2.4/30'))], {
    source: outside('192.0.2.8'),
  }),
  'a group of CIDRs is not known': unknown([ingress({ fromCIDRSet: [{ cidrGroupRef: 'offices' }] })], fromOutside),
  'what is no CIDR may match': unknown([ingress({ fromCIDR: ['office'] })], fromOutside),
  'whose an address is may not be known': unknown([ingress({ fromCIDR: ['10.0.0.0/8'] })], fromSomebody),
};

const ports: Rows = {
  'ports without peers are for all peers (rule)': admits([ingress(port(postgresPort))]),
  'another port does not match': denies([ingress(port({ port: '80' }))]),
  'without a protocol all that have ports match': admits([ingress(port({ port: '5432' }))], { protocol: 'SCTP' }),
  'another protocol does not match': denies([ingress(port({ port: '5432', protocol: 'UDP' }))]),
  'a range may begin with 0': denies([ingress(port({ port: '0', endPort: 5431, protocol: 'TCP' }))]),
  'port 0 is all ports': admits([ingress(port({ port: '0', protocol: 'TCP' }))]),
  'a range ends with endPort': admits([ingress(port({ port: '5000', endPort: 5432, protocol: 'TCP' }))]),
  'a port behind the range does not match': denies([ingress(port({ port: '5000', endPort: 5431, protocol: 'TCP' }))]),
  'a port may be named': admits([ingress(port({ port: 'db', protocol: 'TCP' }))]),
  'one of several lists of ports is enough': admits([
    ingress({ toPorts: [{ ports: [{ port: '80' }] }, { ports: [postgresPort] }] }),
  ]),
  'ports match no ICMP': denies([ingress(port(postgresPort))], icmp),
  'types of ICMP are not known': unknown([ingress({ icmps: [{ fields: [{ family: 'IPv4', type: 8 }] }] })], icmp),
  'ICMP is no TCP': denies([ingress({ icmps: [{ fields: [{ type: 8 }] }] })]),
  'ICMP of the other family does not match': denies(
    [ingress({ icmps: [{ fields: [{ family: 'IPv6', type: 128 }] }] })],
    icmp,
  ),
  'peers and ports must both match': denies([ingress({ ...fromLabels(inBatch), ...port({ port: '80' }) })]),
  'a proxy decides by the request': unknown([
    ingress({ toPorts: [{ ports: [postgresPort], rules: { http: [{ method: 'GET' }] } }] }),
  ]),
  'a proxy is not asked about another port': denies([
    ingress({ toPorts: [{ ports: [{ port: '80' }], rules: { http: [{ method: 'GET' }] } }] }),
  ]),
  'a list of rules that is empty asks for nothing': admits([
    ingress({ toPorts: [{ ports: [postgresPort], rules: { http: [] } }] }),
  ]),
  'the name of a server is not known': unknown([
    ingress({ toPorts: [{ ports: [postgresPort], serverNames: ['db.example'] }] }),
  ]),
};

const precedence: Rows = {
  'a rule that denies goes over one that admits': denies([
    cnp({ endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [fromLabels(inBatch)] }),
  ]),
  'it goes over a NetworkPolicy of Kubernetes': denies([
    networkPolicy({ podSelector: {}, ingress: [{}] }),
    cnp({ endpointSelector: {}, ingressDeny: [fromLabels(inBatch)] }, 'deny'),
  ]),
  'a rule that denies another port does not': admits([
    cnp({ endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [port({ port: '80' })] }),
  ]),
  'a NetworkPolicy admits what a policy of Cilium isolates': admits([
    isolating,
    networkPolicy({ podSelector: {}, ingress: [{}] }),
  ]),
  'a policy of Cilium admits what a NetworkPolicy isolates': admits([
    networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }),
    ingress(fromLabels(inBatch)),
  ]),
  'a rule that may deny leaves it open': unknown([
    cnp({
      endpointSelector: {},
      ingress: [{ fromEntities: ['all'] }],
      ingressDeny: [{ fromCIDRSet: [{ cidrGroupRef: 'offices' }] }],
    }),
  ]),
};

const outgoing: Rows = {
  'a Pod of another Namespace is named by it': admits([
    egress({ toEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'shop' } }] }),
  ]),
  'a selector is of the Namespace of its policy': denies([egress({ toEndpoints: [{}] })]),
  'a domain name is no Pod': denies([egress({ toFQDNs: [{ matchName: 'db.example' }] })]),
  'which addresses a domain name had is not known': unknown(
    [egress({ toFQDNs: [{ matchPattern: '*.example' }] })],
    toOutside,
  ),
  'endpoints of Services are not known': unknown([
    egress({ toServices: [{ k8sService: { serviceName: 'db', namespace: 'shop' } }] }),
  ]),
  'groups of the cloud are not known': unknown([egress({ toGroups: [{ aws: {} }] })], toOutside),
  'peers that are named in two ways are refused, or one of them': unknown([
    egress({ toEndpoints: [{}], toEntities: ['cluster'] }),
  ]),
  'DNS for all names is admitted': admits(
    [egress({ toPorts: [{ ports: [{ port: '53', protocol: 'UDP' }], rules: { dns: [{ matchPattern: '*' }] } }] })],
    dns,
  ),
  'DNS for some names is decided by the request': unknown(
    [
      egress({
        toPorts: [{ ports: [{ port: '53', protocol: 'UDP' }], rules: { dns: [{ matchName: 'db.example' }] } }],
      }),
    ],
    dns,
  ),
  'whose an address is need not be known where the CIDR does not have it': denies(
    [egress({ toCIDR: ['192.0.2.0/24'] })],
    { destination: somebody('10.65.9.9') },
  ),
  'the own Node is an entity': admits([egress({ toEntities: ['host'] })], { destination: node('node-b') }),
};

export interface Case {
  readonly title: string;
  readonly policies: readonly object[];
  readonly flow: Flow;
  readonly direction: 'ingress' | 'egress';
  readonly expected: Expected;
}

const ofEntities: Rows = Object.fromEntries(
  entities.flatMap(([entity, of]) =>
    Object.entries(of).map(([source, expected]) => [
      `entity ${entity} for ${source}`,
      row(expected)([ingress({ fromEntities: [entity] })], { source: sources[source] as End }),
    ]),
  ),
);

export const cases: readonly Case[] = [
  ...[isolation, subjects, fromPods, networks, ports, precedence, ofEntities].flatMap(casesOf('ingress')),
  ...casesOf('egress')(outgoing),
];

function casesOf(direction: Case['direction']): (rows: Rows) => Case[] {
  return (rows) =>
    Object.entries(rows).map(([title, { policies, expected, changes }]) => {
      return { title, policies, flow: { ...connection, ...changes }, direction, expected };
    });
}
