/** Tests what evaluators of policies are known to get wrong: a row for each, with the reference that settles it. */
import { describe, expect, test } from 'vitest';
import { orient } from '../../src/model/flow-identity.ts';
import { TcpFlag } from '../../src/model/packet.ts';
import { connectionOf, type End } from '../../src/policies/policies.ts';
import { packet } from '../builders.ts';
import {
  adminNetworkPolicy,
  baselineAdminNetworkPolicy,
  calico,
  clusterNetworkPolicy,
  evaluator,
  namedPort,
  networkPolicy,
  pod,
} from './objects.ts';
import {
  both,
  check,
  connection,
  end,
  external,
  namespaces,
  node,
  onNodeA,
  postgres,
  received,
  type Row,
  sent,
  web,
  worker,
} from './rows.ts';

const inBatch = (spec: object, name?: string): object => networkPolicy(spec, name, 'batch');
const isolated = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'isolated');
const admitting = (rule: object): object[] => [networkPolicy({ podSelector: {}, ingress: [rule] })];
const all = { namespaces: {} };
const deny = { action: 'Deny', from: [all] };
const accept = { action: 'Accept', from: [all] };
const pass = { action: 'Pass', from: [all] };
const from = (...peers: object[]): object[] => admitting({ from: peers });
const ports = (...given: object[]): object[] => admitting({ ports: given });
const ofBatch = { namespaceSelector: { matchLabels: { team: 'batch' } } };
const ofWeb = { podSelector: { matchLabels: { app: 'web' } } };
const selecting = (expression: object): object => networkPolicy({ podSelector: { matchExpressions: [expression] } });
const icmp = { protocol: 'ICMP', port: undefined };
const twoPorts = end(pod({ ports: [namedPort('db', 5432), namedPort('db', 5433)] }));
const cnp = (priority: number, rule: object, name?: string, tier = 'Admin'): object =>
  clusterNetworkPolicy({ tier, priority, subject: { namespaces: {} }, ingress: [rule] }, name);

/** api/networking/v1/types.go, unless another reference stands in the title. */
const networkPolicyRows: Record<string, Row> = {
  '1: without policyTypes a policy isolates for ingress': received('denies', [networkPolicy({ podSelector: {} })]),
  '1: without policyTypes and egress rules a policy does not isolate for egress': sent('admits', [
    inBatch({ podSelector: {} }),
  ]),
  '1: an empty list of egress rules does not isolate for egress (defaults.go)': sent('admits', [
    inBatch({ podSelector: {}, egress: [] }),
  ]),
  '1: one egress rule isolates for egress': sent('denies', [
    inBatch({ podSelector: {}, egress: [{ ports: [{ port: 53 }] }] }),
  ]),
  '1: a policy of the type Egress only does not isolate for ingress': received('admits', [
    networkPolicy({ podSelector: {}, policyTypes: ['Egress'] }),
  ]),
  '1: ingress rules count for nothing where the type is Egress only': received('denies', [
    isolated,
    networkPolicy({ podSelector: {}, policyTypes: ['Egress'], ingress: [{}] }),
  ]),
  '2: an empty list of ingress rules admits nothing': received('denies', [
    networkPolicy({ podSelector: {}, ingress: [] }),
  ]),
  '2: an empty ingress rule admits all': received('admits', [networkPolicy({ podSelector: {}, ingress: [{}] })]),
  '3: empty lists of peers and ports restrict nothing': received('admits', admitting({ from: [], ports: [] })),
  '3: null restricts nothing': received('admits', admitting({ from: null, ports: null })),
  '3: an empty podSelector of a peer is all Pods of its own Namespace': received('admits', from({ podSelector: {} }), {
    source: end(web),
  }),
  '3: an empty podSelector of a peer is no Pod of another Namespace': received('denies', from({ podSelector: {} })),
  '3: an empty namespaceSelector is all Namespaces': received('admits', from({ namespaceSelector: {} })),
  '3: a policy without podSelector selects all Pods of its Namespace': received('denies', [networkPolicy({})]),
  '4: namespaceSelector and podSelector of one peer must both match': received(
    'denies',
    from({ namespaceSelector: { matchLabels: { team: 'batch' } }, podSelector: { matchLabels: { app: 'web' } } }),
  ),
  '4: of two peers one is enough': received('admits', from(ofBatch, ofWeb)),
  '4: a podSelector alone does not reach into another Namespace': received(
    'denies',
    from({ podSelector: { matchLabels: { app: 'worker' } } }),
  ),
  '5: NotIn matches a Pod without the label': received('denies', [
    selecting({ key: 'tier', operator: 'NotIn', values: ['a'] }),
  ]),
  '5: DoesNotExist matches a Pod without the label': received('denies', [
    selecting({ key: 'tier', operator: 'DoesNotExist' }),
  ]),
  '5: Exists does not match a Pod without the label': received('admits', [
    selecting({ key: 'tier', operator: 'Exists' }),
  ]),
  '6: a port without protocol is TCP': received('denies', ports({ port: 5432 }), { protocol: 'UDP' }),
  '6: a protocol without port is each port of it': received('admits', ports({ protocol: 'UDP' }), {
    protocol: 'UDP',
    port: 9,
  }),
  '6: a rule with ports does not admit ICMP': received(
    'denies',
    ports({}, { protocol: 'UDP' }, { protocol: 'SCTP' }),
    icmp,
  ),
  '6: a rule without ports admits ICMP': received('admits', from({ namespaceSelector: {} }), icmp),
  '7: endPort is inclusive': received('admits', ports({ port: 5000, endPort: 5432 })),
  '7: a port beyond endPort is not admitted': received('denies', ports({ port: 5000, endPort: 5431 })),
  '7: endPort with a name is no port, and the verdict is unknown': received(
    'unknown',
    ports({ port: 'db', endPort: 5432 }),
  ),
  '8: a port in quotes has no letter and is no name, and the verdict is unknown': received(
    'unknown',
    ports({ port: '5432' }),
  ),
  '8: of two ports of one name none matches another port': received('denies', ports({ port: 'db' }), {
    port: 80,
    destination: twoPorts,
  }),
  '8: a named port is one of the Pod that is the destination': received('admits', ports({ port: 'db' })),
  '8: a named port of an egress rule is one of the destination, not of the source': sent('admits', [
    inBatch({ podSelector: {}, egress: [{ ports: [{ port: 'db' }] }] }),
  ]),
  '8: a named port of another protocol does not match': received('denies', ports({ port: 'db', protocol: 'UDP' }), {
    protocol: 'UDP',
  }),
  '8: a name that the Pod does not have matches nothing': received('denies', ports({ port: 'metrics' })),
  '8: a named port of an egress rule matches no address outside': sent(
    'denies',
    [inBatch({ podSelector: {}, egress: [{ ports: [{ port: 'db' }] }] })],
    { destination: external('192.0.2.7') },
  ),
  '8: of two ports of one name the first matches (cilium#30003)': received('admits', ports({ port: 'db' }), {
    destination: twoPorts,
  }),
  '8: of two ports of one name the second is unknown, because enforcers differ (cilium#30003)': received(
    'unknown',
    ports({ port: 'db' }),
    { port: 5433, destination: twoPorts },
  ),
  '8: a named port of a Pod whose ports are not known is unknown': received('unknown', ports({ port: 'db' }), {
    destination: end(pod({ ports: undefined })),
  }),
  '9: what is excepted from a block is not admitted': received(
    'denies',
    from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.65.2.0/24'] } }),
  ),
  '9: another peer admits what the first excepts (e2e "overlapping")': received(
    'admits',
    from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.65.2.0/24'] } }, { ipBlock: { cidr: '10.65.2.9/32' } }),
  ),
  '9: a block of IPv4 has no address of IPv6': received('denies', from({ ipBlock: { cidr: '0.0.0.0/0' } }), {
    source: external('2001:db8::1'),
    destination: { kind: 'pod', pod: postgres, address: 'fd00::4' },
  }),
  'addresses of two families are in no packet, so what policies would say of it is unknown': both(
    'unknown',
    'unknown',
    admitting({}),
    { source: external('2001:db8::1') },
  ),
  '9: a block with leading zeros is read in two ways, and the verdict is unknown': received(
    'unknown',
    from({ ipBlock: { cidr: '010.0.0.0/8' } }),
  ),
  '10: a block matches the address of a Pod, as netfilter sees it (calico#6634)': received(
    'admits',
    from({ ipBlock: { cidr: '10.65.0.0/16' } }),
  ),
  '11: what a Node sends to its own Pod is admitted': received('admits', [isolated], {
    source: node('node-a', '192.168.7.11'),
  }),
  '11: what another Node sends is not': received('denies', [isolated], { source: node('node-b', '192.168.7.12') }),
  '11: what a Pod sends to its own Node is subject to egress policies (kube-network-policies#283)': sent(
    'denies',
    [inBatch({ policyTypes: ['Egress'] })],
    { destination: node('node-b', '192.168.7.12') },
  ),
  '11: an unknown address may be the own Node': received('unknown', [isolated], {
    source: { kind: 'unknown', address: '192.168.7.11' },
  }),
  "12: no policy selects a Pod on its Node's network (website#39875)": received(
    'admits',
    [networkPolicy({}, 'x', 'kube-system')],
    { destination: end(onNodeA) },
  ),
  "12: label selectors of peers do not see a Pod on its Node's network": received(
    'denies',
    from({ namespaceSelector: {} }),
    { source: end({ ...onNodeA, node: 'node-b' }) },
  ),
  "12: a block matches a Pod on its Node's network": received('admits', from({ ipBlock: { cidr: '192.168.7.0/24' } }), {
    source: end({ ...onNodeA, node: 'node-b' }),
  }),
  '12: a Pod on the network of the own Node is that Node': received('admits', [isolated], { source: end(onNodeA) }),
  '13: a Pod reaches itself': received('admits', [isolated], { source: end(postgres) }),
  '13: a NetworkPolicy does not keep a Pod from itself by way of a Service': received('admits', [isolated], {
    source: end(postgres),
    viaService: true,
  }),
  '13: a ClusterNetworkPolicy keeps a Pod from itself by way of a Service (network-policy-api#390)': received(
    'denies',
    [cnp(1, deny)],
    { source: end(postgres), viaService: true },
  ),
  '13: a ClusterNetworkPolicy does not keep a Pod from its own address (network-policy-api#390)': received(
    'admits',
    [cnp(1, deny)],
    { source: end(postgres) },
  ),
  "15: the Service's port is not asked, the Pod's is (calico#5129)": received('denies', ports({ port: 80 }), {
    port: 5432,
    viaService: true,
  }),
  '16: whose the address of a completed Pod is now, is unknown (antrea#6507)': received(
    'unknown',
    from({ namespaceSelector: {} }),
    { source: end({ ...worker, completed: true }) },
  ),
  '16: a block decides for the address of a completed Pod': received(
    'admits',
    from({ ipBlock: { cidr: '10.65.0.0/16' } }),
    { source: end({ ...worker, completed: true }) },
  ),
  '17: a Namespace has its name as a label, where its own labels are not listed': received(
    'admits',
    from({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'batch' } } }),
  ),
  '17: the name of a Namespace that cannot be read is known': received(
    'admits',
    from({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'lab' } } }),
    { source: end({ ...worker, namespace: 'lab' }) },
  ),
  '17: other labels of a Namespace that cannot be read are unknown': received(
    'unknown',
    from({ namespaceSelector: { matchLabels: { team: 'lab' } } }),
    { source: end({ ...worker, namespace: 'lab' }) },
  ),
  '19: SCTP is not TCP': received('denies', ports({ port: 5432, protocol: 'TCP' }), {
    protocol: 'SCTP',
  }),
};

test.each(Object.entries(networkPolicyRows))('NetworkPolicy: %s', (_title, row) => check(row));

const npAdmits = networkPolicy({ ingress: [{}] }, 'np');
const equalDeny = cnp(5, deny, 'a');
const equalAccept = cnp(5, accept, 'b');
const banp = baselineAdminNetworkPolicy({ subject: { namespaces: {} }, ingress: [deny] });

/** apis/v1alpha2/clusternetworkpolicy_types.go, and v1alpha1 for those that it replaced. */
const clusterRows: Record<string, Row> = {
  '20: of equal priorities that disagree, the verdict is unknown': received('unknown', [equalDeny, equalAccept]),
  '20: of equal priorities that agree, it is known': received('denies', [equalDeny, cnp(5, deny, 'b')]),
  '20: of equal priorities only those that match count': received('denies', [
    equalDeny,
    cnp(5, { action: 'Accept', from: [{ namespaces: { matchLabels: { team: 'shop' } } }] }, 'b'),
  ]),
  '20: a lower priority value goes first': received('denies', [cnp(6, accept, 'a'), cnp(4, deny, 'b')]),
  '20: equal priorities of different tiers do not disagree': received('admits', [
    equalAccept,
    cnp(5, deny, 'c', 'Baseline'),
  ]),
  '21: Pass skips the rest of its tier': received('admits', [cnp(1, pass, 'a'), cnp(2, deny, 'b')]),
  '21: Pass does not go over a NetworkPolicy': received('denies', [cnp(1, pass), isolated]),
  '21: Accept goes over a NetworkPolicy': received('admits', [cnp(1, accept), isolated]),
  '21: Deny goes over a NetworkPolicy': received('denies', [cnp(1, deny), npAdmits]),
  '21: a NetworkPolicy goes over the tier Baseline': received('admits', [cnp(1, deny, 'a', 'Baseline'), npAdmits]),
  '21: the tier Baseline decides for Pods that are not isolated': received('denies', [cnp(1, deny, 'a', 'Baseline')]),
  '21: Pass in the tier Baseline admits': received('admits', [
    cnp(1, pass, 'a', 'Baseline'),
    cnp(2, deny, 'b', 'Baseline'),
  ]),
  '22: an unknown peer of Accept matches nothing': received('denies', [
    cnp(1, { action: 'Accept', from: [{ planets: {} }] }),
    isolated,
  ]),
  '22: an unknown peer of Accept takes the known ones with it': received('denies', [
    cnp(1, { action: 'Accept', from: [{ planets: {} }, all] }),
    isolated,
  ]),
  '22: an unknown peer of Deny denies all': received('denies', [
    cnp(1, { action: 'Deny', from: [{}], protocols: [{ udp: {} }] }),
  ]),
  '22: an unknown peer of Pass denies all': received('denies', [
    cnp(1, { action: 'Pass', from: [{ planets: {} }] }),
    npAdmits,
  ]),
  '23: networks match Pods too': sent('denies', [
    clusterNetworkPolicy({
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: {} },
      egress: [{ action: 'Deny', to: [{ networks: ['10.0.0.0/8'] }] }],
    }),
  ]),
  '23: networks are no peer of ingress: Deny fails closed': received('denies', [
    cnp(1, { action: 'Deny', from: [{ networks: ['192.0.2.0/24'] }] }),
  ]),
  '23: Allow is the action of an AdminNetworkPolicy': received('admits', [
    adminNetworkPolicy({ priority: 1, subject: { namespaces: {} }, ingress: [{ action: 'Allow', from: [all] }] }),
    isolated,
  ]),
  '23: Allow is no action of a ClusterNetworkPolicy, and the verdict is unknown': received('unknown', [
    cnp(1, { action: 'Allow', from: [all] }),
    isolated,
  ]),
  "a subject is no Pod on its Node's network": received('admits', [cnp(1, deny)], {
    destination: end(onNodeA),
  }),
  'a policy without rules for a direction is not about it': received('admits', [
    clusterNetworkPolicy({ tier: 'Admin', priority: 1, subject: { namespaces: {} } }),
  ]),
  'Nodes are a peer of egress': sent(
    'denies',
    [
      clusterNetworkPolicy({
        tier: 'Admin',
        priority: 1,
        subject: { namespaces: {} },
        egress: [{ action: 'Deny', to: [{ nodes: { matchLabels: { zone: 'a' } } }] }],
      }),
    ],
    { destination: node('node-c', '192.168.7.13') },
  ),
  'which addresses a domain name has is unknown': sent(
    'unknown',
    [
      clusterNetworkPolicy({
        tier: 'Admin',
        priority: 1,
        subject: { namespaces: {} },
        egress: [
          { action: 'Accept', to: [{ domainNames: ['example.com'] }] },
          { action: 'Deny', to: [{ networks: ['0.0.0.0/0'] }] },
        ],
      }),
    ],
    { destination: external('192.0.2.7') },
  ),
  "a named port has the protocol of the Pod's port": received('denies', [
    cnp(1, { action: 'Deny', from: [all], protocols: [{ destinationNamedPort: 'db' }] }),
  ]),
  'a protocol with several fields is not known': received('unknown', [
    cnp(1, { action: 'Deny', from: [all], protocols: [{ udp: {}, tcp: {} }] }),
  ]),
  'a rule with protocols does not match ICMP': received(
    'admits',
    [cnp(1, { action: 'Deny', from: [all], protocols: [{ tcp: {} }, { udp: {} }] })],
    icmp,
  ),
  'a BaselineAdminNetworkPolicy decides for Pods that are not isolated': received('denies', [banp]),
  'a BaselineAdminNetworkPolicy does not go over a NetworkPolicy': received('admits', [banp, npAdmits]),
};

test.each(Object.entries(clusterRows))(
  'ClusterNetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy: %s',
  (_title, row) => check(row),
);

const strangeRows: Record<string, Row> = {
  'a selector with an unknown operator selects in a way that is unknown': received('unknown', [
    selecting({ key: 'a', operator: 'Like', values: ['b'] }),
  ]),
  'a selector that is a text': received('unknown', [networkPolicy({ podSelector: 'app=web' })]),
  'a broken rule beside one that admits changes nothing': received('admits', [
    networkPolicy({ ingress: [{ from: [{ podSelector: 7 }] }, {}] }),
  ]),
  'a ClusterNetworkPolicy with a field of a newer API in a peer fails closed': received('denies', [
    cnp(1, { action: 'Accept', from: [{ pods: { moon: 'full' } }] }),
    cnp(2, deny),
  ]),
  'a policy of a newer version may do anything': received('unknown', [
    { ...npAdmits, apiVersion: 'networking.k8s.io/v7' },
  ]),
  'a policy of a kind that is not evaluated may do anything to the Pods of its Namespace': both('unknown', 'admits', [
    { apiVersion: 'cilium.io/v3', kind: 'CiliumNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
  ]),
  'a staged policy does nothing': received('admits', [
    { apiVersion: 'projectcalico.org/v3', kind: 'StagedNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
  ]),
  'a Policy of another API is none of networks': received('admits', [
    { apiVersion: 'policy.open-cluster-management.io/v1', kind: 'Policy', metadata: { namespace: 'shop', name: 'x' } },
  ]),
  'a policy without spec isolates for ingress, as an empty one': received('denies', [
    { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
  ]),
  'a priority that is no number': received('unknown', [
    clusterNetworkPolicy({ tier: 'Admin', subject: { namespaces: {} } }),
  ]),
  'labels named as properties that every object has': received('admits', [
    selecting({ key: 'constructor', operator: 'Exists' }),
  ]),
  'labels of a Pod that are not known': received(
    'unknown',
    [networkPolicy({ podSelector: { matchLabels: { app: 'x' } } })],
    { destination: end(pod({ labels: undefined })) },
  ),
  'a later fragment has no port': received('unknown', ports({ port: 5432 }), { port: undefined }),
};

test.each(Object.entries(strangeRows))('what is broken or not known: %s', (_title, row) => check(row));

const newer = (spec: object): object => networkPolicy({ podSelector: {}, ...spec });
const newerCluster = (spec: object): object =>
  clusterNetworkPolicy({ tier: 'Admin', priority: 1, subject: all, ...spec });
const denyNewer = { action: 'Deny', from: [all], moon: 'full' };
const denyProtocol = { action: 'Deny', from: [all], protocols: [{ tcp: { moon: 'full' } }] };
const subject = { pods: { namespaceSelector: {}, podSelector: {}, moon: 'full' } };

test.each([
  ['a NetworkPolicy', newer({ ingress: [{}], moon: 'full' })],
  ['a rule', newer({ ingress: [{ moon: 'full' }] })],
  ['a port', newer({ ingress: [{ ports: [{ port: 5432, moon: 'full' }] }] })],
  ['a peer', newer({ ingress: [{ from: [{ moon: 'full' }] }] })],
  ['an ipBlock', newer({ ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0', moon: 'full' } }] }] })],
  ['a ClusterNetworkPolicy', newerCluster({ moon: 'full', ingress: [deny] })],
  ['a rule of the cluster', newerCluster({ ingress: [denyNewer] })],
  ['a protocol', newerCluster({ ingress: [denyProtocol] })],
  ['a subject', newerCluster({ subject, ingress: [deny] })],
])('a field of a newer API in %s makes the verdict unknown', (_, policy) => check(received('unknown', [policy])));

const byAddress = (address: string): End => end(address === '10.65.2.9' ? worker : postgres);

/** Policies are stateful: what is asked is the connection that a packet belongs to. */
describe('replies', () => {
  const { SYN, ACK } = TcpFlag;
  const policies = [
    isolated,
    ...admitting({ from: [ofBatch], ports: [{ port: 5432 }] }),
    inBatch({ podSelector: {}, policyTypes: ['Ingress'] }),
  ];
  const request = { source: '10.65.2.9', destination: '10.65.1.4', sourcePort: 40_112, destinationPort: 5432 };
  const answer = { source: '10.65.1.4', destination: '10.65.2.9', sourcePort: 5432, destinationPort: 40_112 };
  test.each([
    ['14: a SYN is judged as it is', packet({ ...request, tcpFlags: SYN }), 'admits'],
    ['14: a SYN-ACK is judged as the SYN that it answers', packet({ ...answer, tcpFlags: SYN | ACK }), 'admits'],
    [
      '14: a later packet back to a client port is judged as the request',
      packet({ ...answer, tcpFlags: ACK }),
      'admits',
    ],
    [
      '14: an answer over UDP is judged as the request',
      packet({ ...answer, protocol: 'UDP', tcpFlags: undefined }),
      'denies',
    ],
    ['14: a SYN from the port of a service is a connection of its own', packet({ ...answer, tcpFlags: SYN }), 'denies'],
  ] as const)('%s', (_title, observed, expected) => {
    const ends = { source: byAddress(observed.source), destination: byAddress(observed.destination) };
    const observedFlow = connectionOf(observed, ends, orient(observed));
    expect(evaluator(policies, namespaces).verdict(observedFlow, 'ingress').outcome).toBe(expected);
  });

  test('13: a packet of a Pod to itself that was logged came by way of a Service', () => {
    const observed = packet({ source: '10.65.1.4', destination: '10.65.1.4', tcpFlags: SYN });
    const itself = connectionOf(observed, { source: end(postgres), destination: end(postgres) }, orient(observed));
    expect(itself.viaService).toBe(true);
  });
});

test('18: when a policy changed is part of the decision, because no API shows when it is enforced', () => {
  const metadata = {
    namespace: 'shop',
    name: 'changed',
    creationTimestamp: '2026-11-21T08:00:00Z',
    managedFields: [{ time: '2026-11-21T08:59:56Z' }, { time: '2026-11-21T08:30:00Z' }],
  };
  const [rule] = admitting({});
  const { decision } = evaluator([{ ...rule, metadata }], namespaces).verdict(connection, 'ingress');
  expect(decision?.changed).toBe(Date.parse('2026-11-21T08:59:56Z'));
});

const strange = { action: 'Mirror', from: [all] };
const cluster = { tier: 'Admin', priority: 1, subject: { namespaces: {} } };
test.each([
  ['Calico', calico('NetworkPolicy', { ingress: [{ action: 'Mirror' }, { action: 'Deny' }] }, 'p', 'shop')],
  ['the cluster', clusterNetworkPolicy({ ...cluster, ingress: [strange, deny] })],
])('a rule of %s after one with an unknown action is named by its place', (_title, policy) => {
  const [traced] = evaluator([policy], namespaces).trace(connection, 'ingress').policies;
  expect(traced?.rules.map(({ path }) => path)).toEqual(['ingress[0]', 'ingress[0]', 'ingress[0]', 'ingress[1]']);
});
