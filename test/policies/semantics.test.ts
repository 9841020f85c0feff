/** Tests what evaluators of policies are known to get wrong: a row for each, with the reference that settles it. */
import { describe, expect, test } from 'vitest';
import { orient } from '../../src/model/flow-identity.ts';
import { TcpFlag } from '../../src/model/packet.ts';
import { connectionOf, type End, type Flow, type Pod, type Verdict } from '../../src/policies/policies.ts';
import { packet } from '../builders.ts';
import {
  adminNetworkPolicy,
  baselineAdminNetworkPolicy,
  clusterNetworkPolicy,
  evaluator,
  namedPort,
  namespace,
  networkPolicy,
  pod,
} from './objects.ts';

type Expected = Verdict['outcome'];

interface Row {
  policies: object[];
  flow: Partial<Flow>;
  ingress?: Expected;
  egress?: Expected;
}

const postgres = pod({ ports: [namedPort('db', 5432)] });
const worker = pod({
  namespace: 'batch',
  name: 'worker-7',
  labels: { app: 'worker' },
  addresses: ['10.65.2.9'],
  node: 'node-b',
});
const web = pod({ name: 'web-0', labels: { app: 'web' }, addresses: ['10.65.3.3'], node: 'node-b' });
const onNodeA = pod({
  namespace: 'kube-system',
  name: 'proxy-a',
  labels: { app: 'web' },
  hostNetwork: true,
  addresses: ['192.168.7.11'],
});

const end = (of: Pod): End => ({ kind: 'pod', pod: of, address: of.addresses[0] });
const external = (address: string): End => ({ kind: 'external', address });
const node = (name: string, address: string): End => ({ kind: 'node', node: { name, labels: { zone: 'a' } }, address });

const namespaces = [
  namespace('shop', { team: 'shop' }),
  namespace('batch', { team: 'batch' }),
  namespace('kube-system'),
];

/** From worker to postgres on 5432/TCP, but for what the row changes. */
function check({ policies, flow, ...expected }: Row): void {
  const connection: Flow = { source: end(worker), destination: end(postgres), protocol: 'TCP', port: 5432, ...flow };
  const { verdict } = evaluator(policies, namespaces);
  for (const direction of ['ingress', 'egress'] as const) {
    const wanted = expected[direction];
    if (wanted !== undefined)
      expect({ [direction]: verdict(connection, direction).outcome }).toEqual({ [direction]: wanted });
  }
}

const inBatch = (spec: object, name?: string): object => networkPolicy(spec, name, 'batch');
const isolated = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'isolated');
const admitting = (rule: object): object[] => [networkPolicy({ podSelector: {}, ingress: [rule] })];
const all = { namespaces: {} };
const cnp = (priority: number, rule: object, name?: string, tier = 'Admin'): object =>
  clusterNetworkPolicy({ tier, priority, subject: { namespaces: {} }, ingress: [rule] }, name);

/** api/networking/v1/types.go, unless another reference stands in the title. */
const networkPolicyRows: [string, Row][] = [
  [
    '1: without policyTypes a policy isolates for ingress',
    { policies: [networkPolicy({ podSelector: {} })], flow: {}, ingress: 'denies' },
  ],
  [
    '1: without policyTypes and egress rules a policy does not isolate for egress',
    { policies: [inBatch({ podSelector: {} })], flow: {}, egress: 'admits' },
  ],
  [
    '1: an empty list of egress rules does not isolate for egress (defaults.go)',
    { policies: [inBatch({ podSelector: {}, egress: [] })], flow: {}, egress: 'admits' },
  ],
  [
    '1: one egress rule isolates for egress',
    { policies: [inBatch({ podSelector: {}, egress: [{ ports: [{ port: 53 }] }] })], flow: {}, egress: 'denies' },
  ],
  [
    '1: a policy of the type Egress only does not isolate for ingress',
    { policies: [networkPolicy({ podSelector: {}, policyTypes: ['Egress'] })], flow: {}, ingress: 'admits' },
  ],
  [
    '1: ingress rules count for nothing where the type is Egress only',
    {
      policies: [isolated, networkPolicy({ podSelector: {}, policyTypes: ['Egress'], ingress: [{}] })],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '2: an empty list of ingress rules admits nothing',
    { policies: [networkPolicy({ podSelector: {}, ingress: [] })], flow: {}, ingress: 'denies' },
  ],
  [
    '2: an empty ingress rule admits all',
    { policies: [networkPolicy({ podSelector: {}, ingress: [{}] })], flow: {}, ingress: 'admits' },
  ],
  [
    '3: empty lists of peers and ports restrict nothing',
    { policies: admitting({ from: [], ports: [] }), flow: {}, ingress: 'admits' },
  ],
  ['3: null restricts nothing', { policies: admitting({ from: null, ports: null }), flow: {}, ingress: 'admits' }],
  [
    '3: an empty podSelector of a peer is all Pods of its own Namespace',
    { policies: admitting({ from: [{ podSelector: {} }] }), flow: { source: end(web) }, ingress: 'admits' },
  ],
  [
    '3: an empty podSelector of a peer is no Pod of another Namespace',
    { policies: admitting({ from: [{ podSelector: {} }] }), flow: {}, ingress: 'denies' },
  ],
  [
    '3: an empty namespaceSelector is all Namespaces',
    { policies: admitting({ from: [{ namespaceSelector: {} }] }), flow: {}, ingress: 'admits' },
  ],
  [
    '3: a policy without podSelector selects all Pods of its Namespace',
    { policies: [networkPolicy({})], flow: {}, ingress: 'denies' },
  ],
  [
    '4: namespaceSelector and podSelector of one peer must both match',
    {
      policies: admitting({
        from: [{ namespaceSelector: { matchLabels: { team: 'batch' } }, podSelector: { matchLabels: { app: 'web' } } }],
      }),
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '4: of two peers one is enough',
    {
      policies: admitting({
        from: [
          { namespaceSelector: { matchLabels: { team: 'batch' } } },
          { podSelector: { matchLabels: { app: 'web' } } },
        ],
      }),
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '4: a podSelector alone does not reach into another Namespace',
    {
      policies: admitting({ from: [{ podSelector: { matchLabels: { app: 'worker' } } }] }),
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '5: NotIn matches a Pod without the label',
    {
      policies: [
        networkPolicy({ podSelector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['a'] }] } }),
      ],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '5: DoesNotExist matches a Pod without the label',
    {
      policies: [networkPolicy({ podSelector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] } })],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '5: Exists does not match a Pod without the label',
    {
      policies: [networkPolicy({ podSelector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] } })],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '6: a port without protocol is TCP',
    { policies: admitting({ ports: [{ port: 5432 }] }), flow: { protocol: 'UDP' }, ingress: 'denies' },
  ],
  [
    '6: a protocol without port is each port of it',
    { policies: admitting({ ports: [{ protocol: 'UDP' }] }), flow: { protocol: 'UDP', port: 9 }, ingress: 'admits' },
  ],
  [
    '6: a rule with ports does not admit ICMP',
    {
      policies: admitting({ ports: [{}, { protocol: 'UDP' }, { protocol: 'SCTP' }] }),
      flow: { protocol: 'ICMP', port: undefined },
      ingress: 'denies',
    },
  ],
  [
    '6: a rule without ports admits ICMP',
    {
      policies: admitting({ from: [{ namespaceSelector: {} }] }),
      flow: { protocol: 'ICMP', port: undefined },
      ingress: 'admits',
    },
  ],
  [
    '7: endPort is inclusive',
    { policies: admitting({ ports: [{ port: 5000, endPort: 5432 }] }), flow: {}, ingress: 'admits' },
  ],
  [
    '7: a port beyond endPort is not admitted',
    { policies: admitting({ ports: [{ port: 5000, endPort: 5431 }] }), flow: {}, ingress: 'denies' },
  ],
  [
    '7: endPort with a name is no port, and the verdict is unknown',
    { policies: admitting({ ports: [{ port: 'db', endPort: 5432 }] }), flow: {}, ingress: 'unknown' },
  ],
  [
    '8: a named port is one of the Pod that is the destination',
    { policies: admitting({ ports: [{ port: 'db' }] }), flow: {}, ingress: 'admits' },
  ],
  [
    '8: a named port of an egress rule is one of the destination, not of the source',
    { policies: [inBatch({ podSelector: {}, egress: [{ ports: [{ port: 'db' }] }] })], flow: {}, egress: 'admits' },
  ],
  [
    '8: a named port of another protocol does not match',
    { policies: admitting({ ports: [{ port: 'db', protocol: 'UDP' }] }), flow: { protocol: 'UDP' }, ingress: 'denies' },
  ],
  [
    '8: a name that the Pod does not have matches nothing',
    { policies: admitting({ ports: [{ port: 'metrics' }] }), flow: {}, ingress: 'denies' },
  ],
  [
    '8: a named port of an egress rule matches no address outside',
    {
      policies: [inBatch({ podSelector: {}, egress: [{ ports: [{ port: 'db' }] }] })],
      flow: { destination: external('192.0.2.7') },
      egress: 'denies',
    },
  ],
  [
    '8: of two ports of one name the first matches (cilium#30003)',
    {
      policies: admitting({ ports: [{ port: 'db' }] }),
      flow: { destination: end(pod({ ports: [namedPort('db', 5432), namedPort('db', 5433)] })) },
      ingress: 'admits',
    },
  ],
  [
    '8: of two ports of one name the second is unknown, because enforcers differ (cilium#30003)',
    {
      policies: admitting({ ports: [{ port: 'db' }] }),
      flow: { port: 5433, destination: end(pod({ ports: [namedPort('db', 5432), namedPort('db', 5433)] })) },
      ingress: 'unknown',
    },
  ],
  [
    '8: a named port of a Pod whose ports are not known is unknown',
    {
      policies: admitting({ ports: [{ port: 'db' }] }),
      flow: { destination: end(pod({ ports: undefined })) },
      ingress: 'unknown',
    },
  ],
  [
    '9: what is excepted from a block is not admitted',
    {
      policies: admitting({ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.65.2.0/24'] } }] }),
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '9: another peer admits what the first excepts (e2e "overlapping")',
    {
      policies: admitting({
        from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.65.2.0/24'] } }, { ipBlock: { cidr: '10.65.2.9/32' } }],
      }),
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '9: a block of IPv4 has no address of IPv6',
    {
      policies: admitting({ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }),
      flow: {
        source: external('2001:db8::1'),
        destination: { kind: 'pod', pod: postgres, address: 'fd00::4' },
      },
      ingress: 'denies',
    },
  ],
  [
    'addresses of two families are in no packet, so what policies would say of it is unknown',
    {
      policies: admitting({}),
      flow: { source: external('2001:db8::1') },
      ingress: 'unknown',
      egress: 'unknown',
    },
  ],
  [
    '9: a block with leading zeros is read in two ways, and the verdict is unknown',
    { policies: admitting({ from: [{ ipBlock: { cidr: '010.0.0.0/8' } }] }), flow: {}, ingress: 'unknown' },
  ],
  [
    '10: a block matches the address of a Pod, as netfilter sees it (calico#6634)',
    { policies: admitting({ from: [{ ipBlock: { cidr: '10.65.0.0/16' } }] }), flow: {}, ingress: 'admits' },
  ],
  [
    '11: what a Node sends to its own Pod is admitted',
    { policies: [isolated], flow: { source: node('node-a', '192.168.7.11') }, ingress: 'admits' },
  ],
  [
    '11: what another Node sends is not',
    { policies: [isolated], flow: { source: node('node-b', '192.168.7.12') }, ingress: 'denies' },
  ],
  [
    '11: what a Pod sends to its own Node is subject to egress policies (kube-network-policies#283)',
    {
      policies: [inBatch({ policyTypes: ['Egress'] })],
      flow: { destination: node('node-b', '192.168.7.12') },
      egress: 'denies',
    },
  ],
  [
    '11: an unknown address may be the own Node',
    { policies: [isolated], flow: { source: { kind: 'unknown', address: '192.168.7.11' } }, ingress: 'unknown' },
  ],
  [
    "12: no policy selects a Pod on its Node's network (website#39875)",
    { policies: [networkPolicy({}, 'x', 'kube-system')], flow: { destination: end(onNodeA) }, ingress: 'admits' },
  ],
  [
    "12: label selectors of peers do not see a Pod on its Node's network",
    {
      policies: admitting({ from: [{ namespaceSelector: {} }] }),
      flow: { source: end({ ...onNodeA, node: 'node-b' }) },
      ingress: 'denies',
    },
  ],
  [
    "12: a block matches a Pod on its Node's network",
    {
      policies: admitting({ from: [{ ipBlock: { cidr: '192.168.7.0/24' } }] }),
      flow: { source: end({ ...onNodeA, node: 'node-b' }) },
      ingress: 'admits',
    },
  ],
  [
    '12: a Pod on the network of the own Node is that Node',
    { policies: [isolated], flow: { source: end(onNodeA) }, ingress: 'admits' },
  ],
  ['13: a Pod reaches itself', { policies: [isolated], flow: { source: end(postgres) }, ingress: 'admits' }],
  [
    '13: a NetworkPolicy does not keep a Pod from itself by way of a Service',
    { policies: [isolated], flow: { source: end(postgres), viaService: true }, ingress: 'admits' },
  ],
  [
    '13: a ClusterNetworkPolicy keeps a Pod from itself by way of a Service (network-policy-api#390)',
    {
      policies: [cnp(1, { action: 'Deny', from: [all] })],
      flow: { source: end(postgres), viaService: true },
      ingress: 'denies',
    },
  ],
  [
    '13: a ClusterNetworkPolicy does not keep a Pod from its own address (network-policy-api#390)',
    { policies: [cnp(1, { action: 'Deny', from: [all] })], flow: { source: end(postgres) }, ingress: 'admits' },
  ],
  [
    "15: the Service's port is not asked, the Pod's is (calico#5129)",
    { policies: admitting({ ports: [{ port: 80 }] }), flow: { port: 5432, viaService: true }, ingress: 'denies' },
  ],
  [
    '16: whose the address of a completed Pod is now, is unknown (antrea#6507)',
    {
      policies: admitting({ from: [{ namespaceSelector: {} }] }),
      flow: { source: end({ ...worker, completed: true }) },
      ingress: 'unknown',
    },
  ],
  [
    '16: a block decides for the address of a completed Pod',
    {
      policies: admitting({ from: [{ ipBlock: { cidr: '10.65.0.0/16' } }] }),
      flow: { source: end({ ...worker, completed: true }) },
      ingress: 'admits',
    },
  ],
  [
    '17: a Namespace has its name as a label, where its own labels are not listed',
    {
      policies: admitting({
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'batch' } } }],
      }),
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '17: the name of a Namespace that cannot be read is known',
    {
      policies: admitting({ from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'lab' } } }] }),
      flow: { source: end({ ...worker, namespace: 'lab' }) },
      ingress: 'admits',
    },
  ],
  [
    '17: other labels of a Namespace that cannot be read are unknown',
    {
      policies: admitting({ from: [{ namespaceSelector: { matchLabels: { team: 'lab' } } }] }),
      flow: { source: end({ ...worker, namespace: 'lab' }) },
      ingress: 'unknown',
    },
  ],
  [
    '19: SCTP is not TCP',
    {
      policies: admitting({ ports: [{ port: 5432, protocol: 'TCP' }] }),
      flow: { protocol: 'SCTP' },
      ingress: 'denies',
    },
  ],
];

describe('NetworkPolicy', () => {
  test.each(networkPolicyRows)('%s', (_title, row) => check(row));
});

const npAdmits = networkPolicy({ ingress: [{}] }, 'np');
const equalDeny = cnp(5, { action: 'Deny', from: [all] }, 'a');
const equalAccept = cnp(5, { action: 'Accept', from: [all] }, 'b');
const banp = baselineAdminNetworkPolicy({ subject: { namespaces: {} }, ingress: [{ action: 'Deny', from: [all] }] });

/** apis/v1alpha2/clusternetworkpolicy_types.go, and v1alpha1 for those that it replaced. */
const clusterRows: [string, Row][] = [
  [
    '20: of equal priorities that disagree, the verdict is unknown',
    { policies: [equalDeny, equalAccept], flow: {}, ingress: 'unknown' },
  ],
  [
    '20: of equal priorities that agree, it is known',
    { policies: [equalDeny, cnp(5, { action: 'Deny', from: [all] }, 'b')], flow: {}, ingress: 'denies' },
  ],
  [
    '20: of equal priorities only those that match count',
    {
      policies: [
        equalDeny,
        cnp(5, { action: 'Accept', from: [{ namespaces: { matchLabels: { team: 'shop' } } }] }, 'b'),
      ],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '20: a lower priority value goes first',
    {
      policies: [cnp(6, { action: 'Accept', from: [all] }, 'a'), cnp(4, { action: 'Deny', from: [all] }, 'b')],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    '20: equal priorities of different tiers do not disagree',
    { policies: [equalAccept, cnp(5, { action: 'Deny', from: [all] }, 'c', 'Baseline')], flow: {}, ingress: 'admits' },
  ],
  [
    '21: Pass skips the rest of its tier',
    {
      policies: [cnp(1, { action: 'Pass', from: [all] }, 'a'), cnp(2, { action: 'Deny', from: [all] }, 'b')],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '21: Pass does not go over a NetworkPolicy',
    { policies: [cnp(1, { action: 'Pass', from: [all] }), isolated], flow: {}, ingress: 'denies' },
  ],
  [
    '21: Accept goes over a NetworkPolicy',
    { policies: [cnp(1, { action: 'Accept', from: [all] }), isolated], flow: {}, ingress: 'admits' },
  ],
  [
    '21: Deny goes over a NetworkPolicy',
    { policies: [cnp(1, { action: 'Deny', from: [all] }), npAdmits], flow: {}, ingress: 'denies' },
  ],
  [
    '21: a NetworkPolicy goes over the tier Baseline',
    { policies: [cnp(1, { action: 'Deny', from: [all] }, 'a', 'Baseline'), npAdmits], flow: {}, ingress: 'admits' },
  ],
  [
    '21: the tier Baseline decides for Pods that are not isolated',
    { policies: [cnp(1, { action: 'Deny', from: [all] }, 'a', 'Baseline')], flow: {}, ingress: 'denies' },
  ],
  [
    '21: Pass in the tier Baseline admits',
    {
      policies: [
        cnp(1, { action: 'Pass', from: [all] }, 'a', 'Baseline'),
        cnp(2, { action: 'Deny', from: [all] }, 'b', 'Baseline'),
      ],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '22: an unknown peer of Accept matches nothing',
    { policies: [cnp(1, { action: 'Accept', from: [{ planets: {} }] }), isolated], flow: {}, ingress: 'denies' },
  ],
  [
    '22: an unknown peer of Accept takes the known ones with it',
    { policies: [cnp(1, { action: 'Accept', from: [{ planets: {} }, all] }), isolated], flow: {}, ingress: 'denies' },
  ],
  [
    '22: an unknown peer of Deny denies all',
    { policies: [cnp(1, { action: 'Deny', from: [{}], protocols: [{ udp: {} }] })], flow: {}, ingress: 'denies' },
  ],
  [
    '22: an unknown peer of Pass denies all',
    { policies: [cnp(1, { action: 'Pass', from: [{ planets: {} }] }), npAdmits], flow: {}, ingress: 'denies' },
  ],
  [
    '23: networks match Pods too',
    {
      policies: [
        clusterNetworkPolicy({
          tier: 'Admin',
          priority: 1,
          subject: { namespaces: {} },
          egress: [{ action: 'Deny', to: [{ networks: ['10.0.0.0/8'] }] }],
        }),
      ],
      flow: {},
      egress: 'denies',
    },
  ],
  [
    '23: networks are no peer of ingress: Deny fails closed',
    { policies: [cnp(1, { action: 'Deny', from: [{ networks: ['192.0.2.0/24'] }] })], flow: {}, ingress: 'denies' },
  ],
  [
    '23: Allow is the action of an AdminNetworkPolicy',
    {
      policies: [
        adminNetworkPolicy({ priority: 1, subject: { namespaces: {} }, ingress: [{ action: 'Allow', from: [all] }] }),
        isolated,
      ],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    '23: Allow is no action of a ClusterNetworkPolicy, and the verdict is unknown',
    { policies: [cnp(1, { action: 'Allow', from: [all] }), isolated], flow: {}, ingress: 'unknown' },
  ],
  [
    "a subject is no Pod on its Node's network",
    { policies: [cnp(1, { action: 'Deny', from: [all] })], flow: { destination: end(onNodeA) }, ingress: 'admits' },
  ],
  [
    'a policy without rules for a direction is not about it',
    {
      policies: [clusterNetworkPolicy({ tier: 'Admin', priority: 1, subject: { namespaces: {} } })],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    'Nodes are a peer of egress',
    {
      policies: [
        clusterNetworkPolicy({
          tier: 'Admin',
          priority: 1,
          subject: { namespaces: {} },
          egress: [{ action: 'Deny', to: [{ nodes: { matchLabels: { zone: 'a' } } }] }],
        }),
      ],
      flow: { destination: node('node-c', '192.168.7.13') },
      egress: 'denies',
    },
  ],
  [
    'which addresses a domain name has is unknown',
    {
      policies: [
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
      flow: { destination: external('192.0.2.7') },
      egress: 'unknown',
    },
  ],
  [
    "a named port has the protocol of the Pod's port",
    {
      policies: [cnp(1, { action: 'Deny', from: [all], protocols: [{ destinationNamedPort: 'db' }] })],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    'a rule with protocols does not match ICMP',
    {
      policies: [cnp(1, { action: 'Deny', from: [all], protocols: [{ tcp: {} }, { udp: {} }] })],
      flow: { protocol: 'ICMP', port: undefined },
      ingress: 'admits',
    },
  ],
  [
    'a BaselineAdminNetworkPolicy decides for Pods that are not isolated',
    { policies: [banp], flow: {}, ingress: 'denies' },
  ],
  [
    'a BaselineAdminNetworkPolicy does not go over a NetworkPolicy',
    { policies: [banp, npAdmits], flow: {}, ingress: 'admits' },
  ],
];

describe('ClusterNetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy', () => {
  test.each(clusterRows)('%s', (_title, row) => check(row));
});

const strangeRows: [string, Row][] = [
  [
    'a selector with an unknown operator selects in a way that is unknown',
    {
      policies: [networkPolicy({ podSelector: { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] } })],
      flow: {},
      ingress: 'unknown',
    },
  ],
  [
    'a selector that is a text',
    { policies: [networkPolicy({ podSelector: 'app=web' })], flow: {}, ingress: 'unknown' },
  ],
  [
    'a broken rule beside one that admits changes nothing',
    { policies: [networkPolicy({ ingress: [{ from: [{ podSelector: 7 }] }, {}] })], flow: {}, ingress: 'admits' },
  ],
  ...(
    [
      ['spec', { ingress: [{}], moon: 'full' }],
      ['a rule', { ingress: [{ moon: 'full' }] }],
      ['a port', { ingress: [{ ports: [{ port: 5432, moon: 'full' }] }] }],
      ['a peer', { ingress: [{ from: [{ moon: 'full' }] }] }],
      ['an ipBlock', { ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0', moon: 'full' } }] }] }],
    ] as const
  ).map(
    ([place, spec]) =>
      [
        `a field of a newer API in ${place}`,
        { policies: [networkPolicy({ podSelector: {}, ...spec })], flow: {}, ingress: 'unknown' },
      ] satisfies [string, Row],
  ),
  ...(
    [
      ['its spec', { moon: 'full', ingress: [{ action: 'Deny', from: [all] }] }],
      ['a rule', { ingress: [{ action: 'Deny', from: [all], moon: 'full' }] }],
      ['a protocol', { ingress: [{ action: 'Deny', from: [all], protocols: [{ tcp: { moon: 'full' } }] }] }],
      [
        'its subject',
        {
          subject: { pods: { namespaceSelector: {}, podSelector: {}, moon: 'full' } },
          ingress: [{ action: 'Deny', from: [all] }],
        },
      ],
    ] as const
  ).map(
    ([place, spec]) =>
      [
        `a ClusterNetworkPolicy with a field of a newer API in ${place}`,
        {
          policies: [clusterNetworkPolicy({ tier: 'Admin', priority: 1, subject: all, ...spec })],
          flow: {},
          ingress: 'unknown',
        },
      ] satisfies [string, Row],
  ),
  [
    'a ClusterNetworkPolicy with a field of a newer API in a peer fails closed',
    {
      policies: [
        cnp(1, { action: 'Accept', from: [{ pods: { moon: 'full' } }] }),
        cnp(2, { action: 'Deny', from: [all] }),
      ],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    'a policy of a newer version may do anything',
    { policies: [{ ...npAdmits, apiVersion: 'networking.k8s.io/v7' }], flow: {}, ingress: 'unknown' },
  ],
  [
    'a policy of a kind that is not evaluated may do anything to the Pods of its Namespace',
    {
      policies: [
        { apiVersion: 'cilium.io/v3', kind: 'CiliumNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
      ],
      flow: {},
      ingress: 'unknown',
      egress: 'admits',
    },
  ],
  [
    'a staged policy does nothing',
    {
      policies: [
        { apiVersion: 'projectcalico.org/v3', kind: 'StagedNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
      ],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    'a Policy of another API is none of networks',
    {
      policies: [
        {
          apiVersion: 'policy.open-cluster-management.io/v1',
          kind: 'Policy',
          metadata: { namespace: 'shop', name: 'x' },
        },
      ],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    'a policy without spec isolates for ingress, as an empty one',
    {
      policies: [
        { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
      ],
      flow: {},
      ingress: 'denies',
    },
  ],
  [
    'a priority that is no number',
    { policies: [clusterNetworkPolicy({ tier: 'Admin', subject: { namespaces: {} } })], flow: {}, ingress: 'unknown' },
  ],
  [
    'labels named as properties that every object has',
    {
      policies: [networkPolicy({ podSelector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] } })],
      flow: {},
      ingress: 'admits',
    },
  ],
  [
    'labels of a Pod that are not known',
    {
      policies: [networkPolicy({ podSelector: { matchLabels: { app: 'x' } } })],
      flow: { destination: end(pod({ labels: undefined })) },
      ingress: 'unknown',
    },
  ],
  [
    'a later fragment has no port',
    { policies: admitting({ ports: [{ port: 5432 }] }), flow: { port: undefined }, ingress: 'unknown' },
  ],
];

describe('what is broken or not known', () => {
  test.each(strangeRows)('%s', (_title, row) => check(row));
});

const byAddress = (address: string): End => end(address === '10.65.2.9' ? worker : postgres);

/** Policies are stateful: what is asked is the connection that a packet belongs to. */
describe('replies', () => {
  const { SYN, ACK } = TcpFlag;
  const policies = [
    isolated,
    ...admitting({ from: [{ namespaceSelector: { matchLabels: { team: 'batch' } } }], ports: [{ port: 5432 }] }),
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
    const connection = connectionOf(observed, ends, orient(observed));
    expect(evaluator(policies, namespaces).verdict(connection, 'ingress').outcome).toBe(expected);
  });

  test('13: a packet of a Pod to itself that was logged came by way of a Service', () => {
    const observed = packet({ source: '10.65.1.4', destination: '10.65.1.4', tcpFlags: SYN });
    const connection = connectionOf(observed, { source: end(postgres), destination: end(postgres) }, orient(observed));
    expect(connection.viaService).toBe(true);
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
  const connection: Flow = { source: end(worker), destination: end(postgres), protocol: 'TCP', port: 5432 };
  const { decision } = evaluator([{ ...rule, metadata }], namespaces).verdict(connection, 'ingress');
  expect(decision?.changed).toBe(Date.parse('2026-11-21T08:59:56Z'));
});
