/** Tests the meaning of Calico's policies where evaluators go wrong: a row for each, with the reference that settles it. */
import { describe, expect, test } from 'vitest';
import { createEvaluator } from '../../../src/policies/policies.ts';
import { clusterNetworkPolicy, calico, namedPort, networkPolicy, pod, policySet } from '../objects.ts';
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
} from '../rows.ts';

const local = (spec: object, name?: string): object => calico('NetworkPolicy', spec, name, 'shop');
const global = (spec: object, name?: string): object => calico('GlobalNetworkPolicy', spec, name);
const stored = (each: object): object => ({ ...each, apiVersion: 'crd.projectcalico.org/v1' });
const tier = (name: string, spec: object): object => calico('Tier', spec, name);
const ingress = (rule: object, more: object = {}): object => local({ ingress: [rule], ...more });
const allow = (more: object = {}): object => ({ action: 'Allow', ...more });
const deny = (more: object = {}): object => ({ action: 'Deny', ...more });
const from = (source: object): object => ingress(allow({ source }));
const globalFrom = (source: object): object => global({ ingress: [allow({ source })] });
const tcpTo = (destination: object): object => ingress(allow({ protocol: 'TCP', destination }));
const isolated = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'isolated');
const open = networkPolicy({ podSelector: {}, ingress: [{}] }, 'open');
const office = calico('GlobalNetworkSet', { nets: ['192.0.2.0/24'] }, 'office', undefined, { place: 'office' });

const ofOffice = { source: external('192.0.2.7') };
const ofStranger = { source: external('198.51.100.7') };
const ofNodeA = calico('HostEndpoint', { node: 'node-a' }, 'node-a-auto');
const hostA = 'HostEndpoint node-a-auto';

const order: Record<string, Row> = {
  '24: a policy without an order comes last': received('admits', [
    local({ ingress: [deny()] }, 'a'),
    local({ order: 9, ingress: [allow()] }, 'b'),
  ]),
  '24: of one order the name decides, before the Namespace (felix/calc/policy_sorter.go)': received('admits', [
    global({ ingress: [deny()] }, 'b'),
    local({ ingress: [allow()] }, 'a'),
  ]),
  '24: a tier without an order comes last': received('admits', [
    tier('late', { defaultAction: 'Pass' }),
    local({ tier: 'late', ingress: [deny()] }, 'a'),
    local({ ingress: [allow()] }, 'b'),
  ]),
  '24: of tiers of one order the name decides, as Calico has it': received('denies', [
    tier('a', { order: 1_000_000 }),
    local({ tier: 'a', ingress: [deny()] }, 'z'),
    local({ ingress: [allow()] }, 'b'),
  ]),
  '27: a NetworkPolicy of Kubernetes has the order 1000 (conversion.go)': received('denies', [
    open,
    local({ order: 999, ingress: [deny()] }),
  ]),
  '27: a policy of Calico of a higher order comes after it': received('admits', [
    open,
    local({ order: 1001, ingress: [deny()] }),
  ]),
  '27: of the same order it is unknown, because releases of Calico name it differently': received(
    'unknown',
    [open, local({ order: 1000, ingress: [deny()] })],
    { missing: 'goes first' },
  ),
  '27: policies of Kubernetes of the tier Admin come before a tier of the order 1001': received('admits', [
    tier('security', { order: 1001 }),
    local({ tier: 'security', ingress: [deny()] }),
    clusterNetworkPolicy({
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: {} },
      ingress: [{ action: 'Accept', from: [{ namespaces: {} }] }],
    }),
  ]),
  ...Object.fromEntries(
    (
      [
        ['kube-admin', 'denies'],
        ['adminnetworkpolicy', 'denies'],
        ['default', 'denies'],
        ['kube-baseline', 'admits'],
        ['baselineadminnetworkpolicy', 'admits'],
      ] as const
    ).map(([name, expected]): [string, Row] => [
      `27: a policy of the tier ${name} is asked with those of Kubernetes that Calico puts there`,
      received(expected, [local({ tier: name, order: 1, ingress: [deny()] }), open]),
    ]),
  ),
  '20: of equal priorities Calico takes the first name (network-policy-api#292)': received('denies', [
    office,
    ...['Deny', 'Accept'].map((action, index) =>
      clusterNetworkPolicy(
        { tier: 'Admin', priority: 1, subject: { namespaces: {} }, ingress: [{ action, from: [{ namespaces: {} }] }] },
        `p${index}`,
      ),
    ),
  ]),
};

const ends: Record<string, Row> = {
  '26: the end of the tier default denies whom a policy selects': received('denies', [local({})]),
  '26: a policy for the other direction does not (rules/endpoints.go)': received('admits', [
    local({ types: ['Egress'] }),
  ]),
  '26: a policy that selects another Pod does not': received('admits', [local({ selector: 'app == "web"' })]),
  '26: a tier denies at its end where its defaultAction is absent': received('denies', [
    tier('security', { order: 1 }),
    local({ tier: 'security' }),
    open,
  ]),
  '26: a tier with the defaultAction Pass goes on': received('admits', [
    tier('security', { order: 1, defaultAction: 'Pass' }),
    local({ tier: 'security' }),
    open,
  ]),
  '26: Pass leaves a tier that would deny': received('admits', [
    tier('security', { order: 1 }),
    local({ tier: 'security', ingress: [{ action: 'Pass' }] }),
    open,
  ]),
  '28: after Pass in the last tier the profile of the Namespace admits': received('admits', [
    ingress({ action: 'Pass' }),
  ]),
  'a NetworkPolicy of Kubernetes does not deny what a policy of Calico allows before it': received('admits', [
    isolated,
    local({ order: 1, ingress: [allow()] }),
  ]),
  'Log goes on with the next rule (app-policy/checker/check.go)': received('admits', [
    local({ ingress: [{ action: 'Log' }, allow()] }),
  ]),
  'a rule with Log alone decides nothing': received('denies', [ingress({ action: 'Log' })]),
  '34: a staged policy is never enforced, nor does it end its tier': received('admits', [
    calico('StagedNetworkPolicy', { ingress: [deny()] }, 'p', 'shop'),
  ]),
  '34: a policy before the translation of the destination is not for Pods (event_sequencer.go)': received('admits', [
    global({ preDNAT: true, applyOnForward: true, ingress: [deny()] }),
  ]),
  '34: a policy for connections that are not tracked is not for Pods': received('admits', [
    global({ doNotTrack: true, applyOnForward: true, ingress: [deny()] }),
  ]),
  '34: a policy that is for forwarded packets too is for Pods as any other': received('denies', [
    global({ applyOnForward: true, ingress: [deny()] }),
  ]),
};

const types: Record<string, Row> = {
  '25: without types and rules a policy is for ingress only (api/pkg/defaults)': both('denies', 'admits', [global({})]),
  '25: without types, rules of egress alone make it one for egress': both('admits', 'denies', [
    global({ egress: [deny()] }),
  ]),
  '25: without types, rules of both make it one for both': both('admits', 'denies', [
    global({ ingress: [allow()], egress: [deny()] }),
  ]),
  '25: what is stored without types is for both (ExtractPolicyMetadata)': both('admits', 'denies', [
    stored(global({ ingress: [allow()] })),
  ]),
};

const selectors: Record<string, Row> = {
  '29: a selector of a namespaced policy reaches into its Namespace only': received('denies', [
    from({ selector: 'app == "worker"' }),
  ]),
  '29: with a namespaceSelector it reaches into those': received('admits', [
    from({ selector: 'app == "worker"', namespaceSelector: 'team == "batch"' }),
  ]),
  '29: notSelector alone confines a rule to the Namespace': received('denies', [from({ notSelector: 'app == "web"' })]),
  '29: a rule without selectors is open to all': received('admits', [from({ nets: ['10.65.0.0/16'] })]),
  '29: a selector of a global policy reaches into all Namespaces': received('admits', [
    globalFrom({ selector: 'app == "worker"' }),
  ]),
  '29: global() selects what is in no Namespace': received('denies', [from({ namespaceSelector: 'global()' })]),
  '29: global() selects a GlobalNetworkSet': received(
    'admits',
    [office, from({ namespaceSelector: 'global()', selector: 'place == "office"' })],
    ofOffice,
  ),
  '29: all() as namespaceSelector selects no GlobalNetworkSet': received(
    'denies',
    [office, from({ namespaceSelector: 'all()', selector: 'place == "office"' })],
    ofOffice,
  ),
  '30: !has selects endpoints only, never a stranger': received(
    'denies',
    [globalFrom({ selector: '!has(app)' })],
    ofStranger,
  ),
  '30: notSelector matches strangers': received('admits', [globalFrom({ notSelector: 'has(app)' })], ofStranger),
  '30: beside a selector, notSelector is about the same Pod or set (rule_scanner.go)': received('admits', [
    calico('GlobalNetworkSet', { nets: ['10.65.0.0/16'] }, 'pods', undefined, { place: 'here' }),
    globalFrom({ selector: 'has(app)', notSelector: 'has(place)' }),
  ]),
  'a NetworkSet of the Namespace is selected as Pods are': received(
    'admits',
    [
      calico('NetworkSet', { nets: ['192.0.2.7'] }, 'partners', 'shop', { role: 'partner' }),
      from({ selector: 'role == "partner"' }),
    ],
    ofOffice,
  ),
  'two NetworkSets of one name, in two Namespaces, are two sets': received(
    'admits',
    [
      from({ selector: 'place == "office"', namespaceSelector: 'all()' }),
      calico('NetworkSet', { nets: ['192.0.2.0/24'] }, 'office', 'shop', { place: 'office' }),
      calico('NetworkSet', { nets: ['198.51.100.0/24'] }, 'office', 'batch', { place: 'office' }),
    ],
    ofOffice,
  ),
  'a NetworkSet has the labels of its Namespace': received(
    'admits',
    [
      calico('NetworkSet', { nets: ['192.0.2.7'] }, 'partners', 'batch', {}),
      from({ namespaceSelector: 'team == "batch"' }),
    ],
    ofOffice,
  ),
  'an address of a set that is no network is left out': received(
    'admits',
    [
      calico('GlobalNetworkSet', { nets: ['010.0.0.1', '192.0.2.7'] }, 'office', undefined, { place: 'office' }),
      globalFrom({ selector: 'place == "office"' }),
    ],
    ofOffice,
  ),
  'projectcalico.org/name is the name of a Namespace (conversion.go)': received('admits', [
    from({ namespaceSelector: 'projectcalico.org/name == "batch"' }),
  ]),
  'labels of a Pod with the prefix of Namespaces do not count (workloadendpointprocessor.go)': received(
    'denies',
    [globalFrom({ selector: 'pcns.team == "shop"' })],
    { source: end({ ...worker, labels: { 'pcns.team': 'shop' } }) },
  ),
  'a ServiceAccount is matched by name, in the Namespace of the policy': received(
    'admits',
    [from({ serviceAccounts: { names: ['robot'] } })],
    { source: end({ ...web, serviceAccount: 'robot' }) },
  ),
  'a ServiceAccount of another Namespace is not': received('denies', [from({ serviceAccounts: { names: ['robot'] } })]),
  'a serviceAccountSelector of a policy selects Pods by labels of their ServiceAccount': received('denies', [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'postgres', namespace: 'shop', labels: { a: 'b' } } },
    local({ serviceAccountSelector: 'a == "b"' }),
  ]),
  'labels of a ServiceAccount that is not known are unknown': received(
    'unknown',
    [local({ serviceAccountSelector: 'a == "b"' })],
    { missing: 'labels of ServiceAccount shop/postgres' },
  ),
};

const matching: Record<string, Row> = {
  '31: a rule of the other IP family is left out': received('denies', [ingress(allow({ ipVersion: 6 }))]),
  '31: a rule whose notNets are all of the other family is left out (FilterRuleToIPVersion)': received('denies', [
    from({ notNets: ['fd00::/8'] }),
  ]),
  'addresses of two families are in no packet, whatever notNets of a rule have (npm run fuzz, 857886144)': received(
    'unknown',
    [global({ ingress: [allow({ destination: { notNets: ['0.0.0.0/0', 'fd00::/127'] } })] })],
    { source: { kind: 'pod', pod: web, address: 'fd00::1' }, missing: 'addresses of one family' },
  ),
  'notNets match what is in none of them': received('admits', [from({ notNets: ['10.66.0.0/16', 'fd00::/8'] })]),
  'an address without a mask is a network': received('admits', [from({ nets: ['10.65.2.9'] })]),
  'a range of ports is inclusive': received('admits', [tcpTo({ ports: ['5000:5432'] })]),
  'notPorts match other ports': received('denies', [tcpTo({ notPorts: [5432] })]),
  'a named port is one of the destination': received('admits', [tcpTo({ ports: ['db'] })]),
  'of two ports of one name both match (named_port_index.go)': received('admits', [tcpTo({ ports: ['db'] })], {
    port: 5433,
    destination: end(pod({ ports: [namedPort('db', 5432), namedPort('db', 5433)] })),
  }),
  'a named port is of a Pod that the rule selects, not of a set that has its address (rule_scanner.go)': received(
    'denies',
    [
      calico('GlobalNetworkSet', { nets: ['10.65.0.0/16'] }, 'all', undefined, { place: 'here' }),
      global({ ingress: [allow({ protocol: 'TCP', destination: { selector: 'has(place)', ports: ['db'] } })] }),
    ],
  ),
  'ports of the source are not part of what is asked': received(
    'unknown',
    [ingress(allow({ protocol: 'TCP', source: { ports: [1024] } }))],
    { missing: 'of the source' },
  ),
  'a protocol may be a number': received('admits', [ingress(allow({ protocol: 6 }))]),
  'a protocol that is not known may be any': received('unknown', [ingress(allow({ protocol: 300 }))]),
  'notProtocol matches other protocols': received('denies', [ingress(allow({ notProtocol: 'TCP' }))]),
  'the type of an ICMP packet is not part of what is asked': received(
    'unknown',
    [ingress(allow({ protocol: 'ICMP', icmp: { type: 8 } }))],
    { protocol: 'ICMP', port: undefined, missing: 'type and code' },
  ),
  'a rule for ICMP does not match TCP, whatever its type': received('denies', [
    ingress(allow({ protocol: 'ICMP', icmp: { type: 8 } })),
  ]),
  'what an HTTP request asks for is in no packet of the filter': received(
    'unknown',
    [ingress(allow({ http: { methods: ['GET'] } }))],
    { missing: 'the HTTP request' },
  ),
  '32: endpoints of a Service that were not read are unknown': received(
    'unknown',
    [ingress(allow({ source: { services: { name: 'web' } } }))],
    { missing: 'endpoints of Service shop/web' },
  ),
  'a rule for ingress may also match the destination': received('denies', [
    global({ ingress: [allow({ destination: { selector: 'app == "web"' } })] }),
  ]),
};

const unknown: Record<string, Row> = {
  'a broken selector of a policy may select any Pod': received('unknown', [local({ selector: 'app = "web"' })], {
    missing: 'a selector is broken',
  }),
  'a broken selector of another Namespace matters to no one here': received('admits', [
    calico('NetworkPolicy', { selector: '((' }, 'p', 'batch'),
  ]),
  'a broken selector of a rule may match': received('unknown', [from({ selector: '"' })], {
    missing: 'a selector is broken',
  }),
  'a tier that is not there': received('unknown', [local({ tier: 'ghost', ingress: [allow()] })], {
    missing: 'the tier ghost',
  }),
  'a tier that is not there does not matter to Pods that its policies do not select': received('admits', [
    local({ tier: 'ghost', selector: 'app == "web"' }),
  ]),
  'tiers that may not be read': received('unknown', [local({ tier: 'security', ingress: [allow()] })], {
    unread: ['tiers'],
    missing: 'which order the tier security has',
  }),
  'sets of networks that may not be read': received('unknown', [from({ selector: 'app == "x"' })], {
    unread: ['networksets'],
    missing: '10.65.2.9',
  }),
  'sets of networks do not matter where the Pod matches': received('admits', [from({ namespaceSelector: 'all()' })], {
    unread: ['networksets'],
  }),
  'an action that is not known': received('unknown', [ingress({ action: 'Mirror' })], { missing: 'unknown action' }),
  'an action named as a property that every object has': received('unknown', [ingress({ action: 'constructor' })], {
    missing: 'unknown action',
  }),
  'a field of a rule that is not known': received('unknown', [ingress(allow({ moon: 'full' }))], {
    missing: 'unknown field moon',
  }),
  'a field of an end that is not known, as domains of Calico Enterprise': sent(
    'unknown',
    [global({ egress: [allow({ destination: { domains: ['example.com'] } })] })],
    { missing: 'unknown field domains' },
  ),
  'a field of a policy that is not known': received('unknown', [local({ moon: 'full' })], {
    missing: 'unknown field moon',
  }),
  'an order that is a text': received('unknown', [local({ order: '7' })], { missing: 'order' }),
  'a network that is none': received('unknown', [from({ nets: ['10.0.0.300'] })], { missing: 'no network' }),
  'ports without a protocol that has ports': received('unknown', [ingress(allow({ destination: { ports: [80] } }))], {
    missing: 'no protocol',
  }),
  'a range of ports that runs backwards': received('unknown', [tcpTo({ ports: ['90:80'] })], { missing: 'port' }),
  'ICMP, where no address shows of which family it is (npm run fuzz, 51069488)': received(
    'unknown',
    [global({ ingress: [deny({ protocol: 'ICMP' }), allow()] })],
    {
      source: { kind: 'pod', pod: worker, address: undefined },
      destination: { kind: 'pod', pod: postgres, address: undefined },
      protocol: 'ICMP',
      port: undefined,
      missing: 'the addresses',
    },
  ),
  'a HostEndpoint of the Node at this end': received('unknown', [ofNodeA], {
    destination: node('node-a', '192.168.7.11'),
    missing: hostA,
  }),
  'a HostEndpoint of the Node at this end, for what it sends': sent('unknown', [ofNodeA], {
    source: node('node-a', '192.168.7.11'),
    missing: hostA,
  }),
  'a HostEndpoint of the Node whose network a Pod is on, though a policy denies all that Pods get': received(
    'unknown',
    [ofNodeA, global({ ingress: [deny()] })],
    { destination: end(onNodeA), missing: hostA },
  ),
  'HostEndpoints, one of which may be of the Node whose network a Pod is on': received('unknown', [ofNodeA], {
    destination: end({ ...onNodeA, node: undefined }),
    missing: 'kube-system/proxy-a',
  }),
  'HostEndpoints of other Nodes do not matter to a Pod on the network of its Node': received(
    'admits',
    [calico('HostEndpoint', { node: 'node-c' }, 'node-c'), global({ ingress: [deny()] })],
    { destination: end(onNodeA) },
  ),
  'HostEndpoints that may not be read, and a Pod on the network of its Node': received(
    'unknown',
    [global({ ingress: [deny()] })],
    { unread: ['hostendpoints'], destination: end(onNodeA), missing: '192.168.7.11' },
  ),
  'a HostEndpoint of an address outside the cluster': received(
    'unknown',
    [calico('HostEndpoint', { node: 'router', expectedIPs: ['198.51.100.1'] }, 'router')],
    { destination: external('198.51.100.1'), missing: 'HostEndpoint router' },
  ),
  'a HostEndpoint at the other end, which a selector may select': received(
    'unknown',
    [
      calico('HostEndpoint', { node: 'node-c', expectedIPs: ['192.168.7.13'] }, 'node-c'),
      globalFrom({ selector: 'has(host)' }),
    ],
    { source: node('node-c', '192.168.7.13'), missing: 'HostEndpoint node-c' },
  ),
  'a Node without a HostEndpoint is a stranger': received('denies', [globalFrom({ selector: 'all()' })], {
    source: node('node-c', '192.168.7.13'),
  }),
  'a policy without spec is for ingress': received('denies', [
    calico('NetworkPolicy', undefined as never, 'p', 'shop'),
  ]),
  'a newer version of the API may mean anything': received('unknown', [
    { ...local({}), apiVersion: 'projectcalico.org/v4' },
  ]),
};

describe.each([
  ['order of tiers and policies', order],
  ['ends of tiers, and what is not enforced', ends],
  ['types', types],
  ['selectors', selectors],
  ['what a rule matches', matching],
  ['what is broken or not known', unknown],
])('%s', (_title, rows) => {
  test.each(Object.entries(rows))('%s', (_row, row) => check(row));
});

const stage = (kind: string, spec: object, name = 'p'): object => calico(kind, spec, name, 'shop');

describe('staged policies', () => {
  const ofCilium = {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNetworkPolicy',
    metadata: { name: 'parts', namespace: 'shop' },
    spec: { endpointSelector: {}, ingress: [{ fromEntities: ['all'] }], ingressDeny: [{ fromEntities: ['all'] }] },
  };

  test.each([
    ['would deny', [stage('StagedNetworkPolicy', { ingress: [deny()] })], 'denies'],
    [
      'would take the place of the policy of its name',
      [local({ ingress: [deny()] }, 'p'), stage('StagedNetworkPolicy', { ingress: [allow()] })],
      'admits',
    ],
    [
      'would delete the policy of its name',
      [local({ ingress: [deny()] }, 'p'), stage('StagedNetworkPolicy', { stagedAction: 'Delete' })],
      'admits',
    ],
    [
      'of Kubernetes would delete a NetworkPolicy',
      [isolated, stage('StagedKubernetesNetworkPolicy', { stagedAction: 'Delete' }, 'isolated')],
      'admits',
    ],
    ['would change nothing', [open, stage('StagedNetworkPolicy', { order: 5000, ingress: [deny()] })], undefined],
    ['leaves all parts of a policy of Cilium', [ofCilium, stage('StagedNetworkPolicy', { order: 5000 })], undefined],
    ['is ignored', [stage('StagedNetworkPolicy', { stagedAction: 'Ignore', ingress: [deny()] })], undefined],
  ])('one %s', (_title, objects, expected) => {
    const { trace } = createEvaluator({ policies: policySet(objects), namespaces });
    expect(trace(connection, 'ingress').staged?.verdict.outcome).toBe(expected);
  });
});

test('10,000 policies of a Namespace, each of its own tier, are asked in order', () => {
  const count = 10_000;
  const objects = Array.from({ length: count }, (_, index) => [
    tier(`t-${index}`, { order: index, defaultAction: 'Pass' }),
    local({ tier: `t-${index}`, ingress: [index === count - 1 ? deny() : { action: 'Pass' }] }, `p-${index}`),
  ]).flat();
  const { verdict } = createEvaluator({ policies: policySet(objects), namespaces });
  expect(verdict(connection, 'ingress').decision?.policy.name).toBe(`p-${count - 1}`);
});
