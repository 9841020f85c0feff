import { expect, test } from 'vitest';
import { parseSelector } from '../../src/policies/calico/selector.ts';
import {
  collectCalicoObjects,
  compilePolicy,
  createEvaluator,
  createPolicySet,
  type Flow,
  sentenceOf,
} from '../../src/policies/policies.ts';
import { nine } from '../builders.ts';
import { expectLines, messageOf } from '../expected-file.ts';
import {
  adminNetworkPolicy,
  calico,
  clusterNetworkPolicy,
  evaluator,
  namedPort,
  namespace,
  networkPolicy,
  pod,
} from './objects.ts';

test('messages about selectors of Calico that are refused are as expected', async () => {
  const refused = [
    ['a comparison with =', 'a = "b"'],
    ['text after the end', 'has(a) b'],
    ['a text without its end', 'a == "b'],
    ['a text that is missing', 'a == '],
    ['a label of 513 characters', 'x'.repeat(513)],
    ['a set that does not end', 'a in {"x" "y"}'],
    ['more parentheses than the stack holds', '('.repeat(100_000)],
  ] as const;
  await expectLines(
    import.meta.dirname,
    'selectors.expected.txt',
    refused.map(([title, text]) => `${title}: ${messageOf(() => parseSelector(text))}`),
  );
});

const postgres = pod({ ports: [namedPort('db', 5432)] });
const worker = pod({ namespace: 'batch', name: 'worker-7', labels: { app: 'worker' }, addresses: ['10.65.2.9'] });
const flow: Flow = {
  source: { kind: 'pod', pod: worker, address: '10.65.2.9' },
  destination: { kind: 'pod', pod: postgres, address: '10.65.1.4' },
  protocol: 'TCP',
  port: 5432,
};
const isolated = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'default-deny');
const fromFrontend = { podSelector: { matchLabels: { app: 'frontend' } } };
const rule = (spec: object, name = 'allow-frontend'): object =>
  networkPolicy({ podSelector: { matchLabels: { app: 'postgres' } }, ingress: [spec] }, name);
const cluster = (action: string): object =>
  clusterNetworkPolicy(
    {
      tier: 'Admin',
      priority: 1,
      subject: { namespaces: {} },
      ingress: [{ action, from: [{ namespaces: { matchLabels: { team: 'batch' } } }] }],
    },
    'lockdown',
  );
const changedAt = (creationTimestamp: string): object => ({
  metadata: { namespace: 'shop', name: 'allow-worker', creationTimestamp },
});

const fromBatch = { fromEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'batch' } }] };

const fromFrontends = { fromEndpoints: [{ matchLabels: { app: 'frontend' } }] };

function cilium(spec: object, name = 'policy'): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name, namespace: 'shop' }, spec };
}

function sentence(policies: object[], changes: Partial<Flow> = {}, max = 1024): string {
  const { trace } = evaluator(policies, [namespace('shop'), namespace('batch', { team: 'batch' })]);
  const text = sentenceOf(trace({ ...flow, ...changes }, 'ingress'), { max, node: 'node-b', at: nine });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
  return text;
}

test('sentences for an Event are as expected', async () => {
  const sentences = {
    'a peer fails': sentence([isolated, rule({ from: [fromFrontend], ports: [{ port: 5432 }] })]),
    'a port fails': sentence([rule({ ports: [{ port: 80 }, { port: 443 }] })]),
    'a label is missing': sentence([
      rule({
        from: [
          {
            namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
            podSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }] },
          },
        ],
      }),
    ]),
    'the source is outside the cluster': sentence([rule({ from: [fromFrontend] })], {
      source: { kind: 'external', address: '192.0.2.7' },
    }),
    'no policy has a rule': sentence([isolated]),
    'a named port is missing': sentence([rule({ ports: [{ port: 'metrics' }] })]),
    'a named port is another one': sentence([rule({ ports: [{ port: 'db' }] })], { port: 80 }),
    'a peer fails, and there is room for the nearest rule only': sentence(
      [isolated, rule({ from: [fromFrontend], ports: [{ port: 5432 }] })],
      {},
      260,
    ),
    'an Admin policy denies': sentence([cluster('Deny'), rule({})]),
    'many policies, and few bytes': sentence(
      [isolated, ...Array.from({ length: 30 }, (_, index) => rule({ from: [fromFrontend] }, `p-${index}`))],
      {},
      200,
    ),
    'fewer bytes than the reason has': sentence([isolated], {}, 40),
    'a recent policy admits': sentence([{ ...rule({}), ...changedAt('2026-11-21T08:59:56Z') }]),
    'no policy isolates': sentence([]),
    'only policies of the cluster select the Pod': sentence([cluster('Pass')], {
      source: { kind: 'external', address: '192.0.2.7' },
    }),
    'the labels of a Namespace are unknown': sentence(
      [rule({ from: [{ namespaceSelector: { matchLabels: { team: 'x' } } }] })],
      { source: { kind: 'pod', pod: { ...worker, namespace: 'lab' }, address: '10.65.2.9' } },
    ),
    'the source is unknown': sentence([rule({ from: [fromFrontend] })], {
      source: { kind: 'unknown', address: '10.65.2.9' },
    }),
    'equal priorities': sentence([cluster('Deny'), { ...cluster('Accept'), metadata: { name: 'open' } }]),
    'a label with control characters': sentence([
      rule({ from: [{ podSelector: { matchLabels: { app: '\u001b[31m\n' } } }] }),
    ]),
    'the tier default of Calico denies at its end': sentence([
      isolated,
      calico(
        'NetworkPolicy',
        {
          ingress: [
            { action: 'Allow', protocol: 'TCP', source: { selector: 'app == "web"' }, destination: { ports: [80] } },
          ],
        },
        'web',
        'shop',
      ),
    ]),
    'a tier of Calico denies at its end': sentence([
      calico('Tier', { order: 1 }, 'security'),
      calico(
        'GlobalNetworkPolicy',
        {
          tier: 'security',
          ingress: [{ action: 'Allow', source: { namespaceSelector: 'team == "shop"', notNets: ['10.0.0.0/8'] } }],
        },
        'teams',
      ),
    ]),
    'a rule of Calico denies': sentence([
      calico(
        'NetworkPolicy',
        { ingress: [{ action: 'Log' }, { action: 'Deny', source: { namespaceSelector: 'all()' } }] },
        'closed',
        'shop',
      ),
    ]),
    'a rule of Calico admits': sentence([
      calico('GlobalNetworkPolicy', { ingress: [{ action: 'Allow', source: { nets: ['10.65.0.0/16'] } }] }, 'pods'),
    ]),
    'a tier of Calico that is not known': sentence([
      calico('NetworkPolicy', { tier: 'ghost', ingress: [{ action: 'Allow' }] }, 'x', 'shop'),
    ]),
    'a rule of Cilium denies': sentence([cilium({ endpointSelector: {}, ingressDeny: [{}, fromBatch] }, 'deny')]),
    'policies of Cilium isolate': sentence([
      cilium({
        endpointSelector: {},
        ingress: [{ fromEndpoints: [{ matchLabels: { app: 'frontend' } }], toPorts: [{ ports: [{ port: '5432' }] }] }],
      }),
      cilium({ endpointSelector: {}, ingress: [{}] }, 'isolating'),
    ]),
    'a policy of Cilium with two specs and a deny isolates': sentence([
      {
        ...cilium({}),
        spec: undefined,
        specs: [
          { endpointSelector: {}, ingressDeny: [fromFrontends] },
          { endpointSelector: {}, ingress: [fromFrontends] },
        ],
      },
    ]),
    'one NetworkPolicy isolates after many policies of the cluster': sentence([
      isolated,
      ...Array.from({ length: 60 }, (_, index) => ({ ...cluster('Pass'), metadata: { name: `pass-${index}` } })),
    ]),
    'a proxy of Cilium decides': sentence([
      cilium({
        endpointSelector: {},
        ingress: [{ ...fromBatch, toPorts: [{ ports: [{ port: '5432' }], rules: { http: [{ path: '/' }] } }] }],
      }),
    ]),
    'a policy that was changed at that moment admits': sentence([
      { ...rule({}), ...changedAt('2026-11-21T09:00:00Z') },
    ]),
    'a policy that was changed ten minutes before admits': sentence([
      { ...rule({}), ...changedAt('2026-11-21T08:50:00Z') },
    ]),
    'a policy that was changed since admits': sentence([{ ...rule({}), ...changedAt('2026-11-21T09:00:01Z') }]),
    'a rule with several fields denies': sentence([
      calico('GlobalNetworkPolicy', {
        ingress: [{ action: 'Deny', protocol: 'TCP', source: { nets: ['10.0.0.0/8'] } }],
      }),
    ]),
    'a kind that is not evaluated': sentence([
      { apiVersion: 'cilium.io/v3', kind: 'CiliumNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } },
    ]),
  };
  const lines = Object.entries(sentences).map(([title, text]) => `${title}: ${text}`);
  await expectLines(import.meta.dirname, 'sentences.expected.txt', lines);
});

const naming = (end: 'source' | 'destination', services: object): object =>
  calico('NetworkPolicy', { ingress: [{ action: 'Allow', [end]: { services } }] }, 'db', 'shop');

test('sentences about rules that name a Service are as expected', async () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'shop', name: 'db-x', labels: { 'kubernetes.io/service-name': 'db' } },
    ports: [{ port: 80 }],
    endpoints: [{ addresses: ['10.65.1.4'] }],
  };
  const many = Array.from({ length: 5001 }, (_, index) => ({ addresses: [`10.1.${index >> 8}.${index & 255}`] }));
  const rows: [title: string, objects: object[], unread?: boolean][] = [
    ['an endpoint on another port', [naming('destination', { name: 'db' }), slice]],
    ['a stranger', [naming('source', { name: 'db' }), slice]],
    ['endpoints that were not read', [naming('source', { name: 'db' })]],
    ['EndpointSlices that may not be listed', [naming('source', { name: 'db' })], true],
    ['too many endpoints', [naming('source', { name: 'db' }), { ...slice, endpoints: many }]],
    ['a name that no Service can have', [naming('source', { name: 'db/x' })]],
    ['a field that is not known', [naming('source', { name: 'db', port: 1 })]],
  ];
  const lines = rows.map(([title, objects, unread = false]) => {
    const others = collectCalicoObjects();
    for (const each of objects) others.add(each);
    if (unread) others.services.unread('shop');
    const policies = createPolicySet(
      objects.flatMap((each) => compilePolicy(each)),
      others.read(),
    );
    const { trace } = createEvaluator({ policies, namespaces: [namespace('shop')] });
    return `${title}: ${sentenceOf(trace(flow, 'ingress'), { max: 1024 })}`;
  });
  await expectLines(import.meta.dirname, 'services.expected.txt', lines);
});

const outside: Flow['source'] = { kind: 'external', address: '192.0.2.7' };
const ends: [title: string, peer: Flow['source']][] = [
  ['a Pod', flow.source],
  ['a Pod whose address is not known', { kind: 'pod', pod: worker, address: undefined }],
  [
    'a Pod on the network of its Node',
    { kind: 'pod', pod: { ...worker, hostNetwork: true, node: 'node-b' }, address: '192.168.7.12' },
  ],
  ['a Node', { kind: 'node', node: { name: 'node-b', labels: { zone: 'b' } }, address: '192.168.7.12' }],
  ['an address outside the cluster', outside],
  ['an IPv6 address', { kind: 'external', address: '2001:db8::1' }],
  ['an address that may be of anybody', { kind: 'unknown', address: '10.65.2.9' }],
];
const transports: [title: string, changes: Partial<Flow>][] = [
  ['a fragment', { port: undefined }],
  ['UDP', { protocol: 'UDP' }],
  ['ICMP', { protocol: 'ICMP', port: undefined }],
];
const services = { services: { name: 'db' } };
const cidrs = { cidr: '10.0.0.0/8', except: ['10.65.0.0/16', '10.66.0.0/16'] };

/** Rules of each API with all that they can want, in the direction in which they can. */
const wanting: [title: string, direction: 'ingress' | 'egress', policies: object[]][] = [
  [
    'NetworkPolicy',
    'ingress',
    [
      rule({
        from: [
          { podSelector: {} },
          fromFrontend,
          { namespaceSelector: {} },
          { namespaceSelector: { matchLabels: { team: 'shop' } }, ...fromFrontend },
          { ipBlock: { cidr: '10.65.2.0/24' } },
          { ipBlock: cidrs },
        ],
        ports: [
          {},
          { protocol: 'UDP' },
          { port: 5432 },
          { port: 5000, endPort: 5432 },
          { port: 5433, endPort: 65_535 },
          { port: 'db' },
          { port: 'dv' },
          { port: 'db', protocol: 'UDP' },
        ],
      }),
    ],
  ],
  [
    'ClusterNetworkPolicy',
    'egress',
    [
      clusterNetworkPolicy({
        tier: 'Admin',
        priority: 1,
        subject: { namespaces: {} },
        egress: [
          {
            action: 'Accept',
            to: [
              { namespaces: { matchLabels: { team: 'batch' } } },
              { pods: { namespaceSelector: { matchLabels: { team: 'shop' } }, ...fromFrontend } },
              { nodes: { matchLabels: { zone: 'b' } } },
              { networks: ['10.65.0.0/16', 'fd00::/8'] },
              { domainNames: ['example.org', 'example.com'] },
            ],
            protocols: [
              { tcp: {} },
              { udp: { destinationPort: { number: 5432 } } },
              { tcp: { destinationPort: { range: { start: 1, end: 5431 } } } },
              { destinationNamedPort: 'db' },
            ],
          },
        ],
      }),
    ],
  ],
  [
    'AdminNetworkPolicy',
    'ingress',
    [
      adminNetworkPolicy({
        priority: 1,
        subject: { namespaces: {} },
        ingress: [
          {
            action: 'Allow',
            from: [{ namespaces: {} }],
            ports: [
              { portNumber: { port: 5432 } },
              { portNumber: { port: 5432, protocol: 'UDP' } },
              { portRange: { start: 5432, end: 5433, protocol: 'TCP' } },
              { portNumber: { port: 0 } },
              { namedPort: 'db' },
            ],
          },
        ],
      }),
    ],
  ],
  [
    'Calico',
    'ingress',
    [
      calico('GlobalNetworkSet', { nets: ['192.0.2.0/24'] }, 'office', undefined, { place: 'office' }),
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { namespace: 'shop', name: 'db-x', labels: { 'kubernetes.io/service-name': 'db' } },
        ports: [{ port: 5432 }],
        endpoints: [{ addresses: ['10.65.1.4', '192.0.2.7'] }],
      },
      calico(
        'NetworkPolicy',
        {
          ingress: [
            {
              action: 'Allow',
              protocol: 'TCP',
              source: { selector: 'app == "worker"', namespaceSelector: 'all()', nets: ['10.65.0.0/16', 'fd00::/8'] },
              destination: { selector: 'app == "web"', ports: [80, '5000:5432', 'db'], notPorts: [5432] },
            },
            {
              action: 'Allow',
              protocol: 'UDP',
              source: { notSelector: 'place == "office"', notNets: ['10.65.2.0/24'] },
              destination: { ports: ['db'] },
            },
            { action: 'Allow', notProtocol: 'TCP', ipVersion: 6, source: { selector: 'place == "office"' } },
            { action: 'Allow', ipVersion: 4, source: { notNets: ['2001:db8::/32'] } },
            { action: 'Allow', protocol: 'ICMP', icmp: { type: 8, code: 0 }, notICMP: { type: 3 } },
            { action: 'Allow', protocol: 'ICMPv6', source: { serviceAccounts: { names: ['robot'] } } },
            { action: 'Allow', protocol: 'TCP', http: { methods: ['GET'] }, source: services },
            { action: 'Allow', protocol: 'TCP', destination: services },
          ],
        },
        'db',
        'shop',
      ),
    ],
  ],
  [
    'Cilium',
    'egress',
    [
      cilium({
        endpointSelector: {},
        egress: [
          { toEndpoints: [{ matchLabels: { app: 'worker' } }, ...fromBatch.fromEndpoints] },
          {
            toEntities:
              'all world world-ipv4 world-ipv6 cluster cluster-mesh host remote-node kube-apiserver ingress unmanaged init health none'.split(
                ' ',
              ),
          },
          { toCIDR: ['10.65.2.9', '192.0.2.0/24', '2001:db8::1'] },
          { toCIDRSet: [cidrs, { cidrGroupRef: 'office' }, { cidr: 'office' }] },
          { toFQDNs: [{ matchName: 'example.org' }, { matchPattern: '*.example.org' }] },
          {
            toPorts: [
              { ports: [{ port: '5432' }, { port: '5000', endPort: 5432, protocol: 'TCP' }, { port: 'db' }] },
              { ports: [{ port: '5432', protocol: 'TCP' }], serverNames: ['example.org'] },
              { ports: [{ port: '0', protocol: 'UDP' }], rules: { dns: [{ matchPattern: '*' }] } },
            ],
          },
          { icmps: [{ fields: [{ type: 8 }, { family: 'IPv6', type: 'EchoRequest' }] }] },
        ],
      }),
    ],
  ],
];

const allEnds = ends.map(([title]) => title).join('; ');
const questions: [title: string, changes: Partial<Flow>, peer: Flow['source']][] = [
  ...ends.map(([title, peer]): [string, Partial<Flow>, Flow['source']] => [title, {}, peer]),
  ...transports.map(([title, changes]): [string, Partial<Flow>, Flow['source']] => [title, changes, flow.source]),
];

test('what rules want, and what they find at each kind of peer and in each kind of packet, is as expected', async () => {
  const lines = wanting.flatMap(([api, direction, policies]) => {
    const { trace } = evaluator(policies, [namespace('shop', { team: 'shop' }), namespace('batch', { team: 'batch' })]);
    const found = new Map<string, Map<string, string[]>>();
    for (const [title, changes, peer] of questions) {
      const own = { ...flow.destination, ...(peer.address?.includes(':') === true && { address: 'fd00::4' }) };
      const asked = direction === 'ingress' ? { source: peer, destination: own } : { source: own, destination: peer };
      const rules = trace({ ...flow, ...changes, ...asked }, direction).policies.flatMap((policy) => policy.rules);
      for (const { path, wants, match, has } of rules.flatMap(({ groups }) => groups.flat())) {
        const answers = found.get(`${api} ${path}: ${wants}`) ?? new Map<string, string[]>();
        found.set(`${api} ${path}: ${wants}`, answers);
        const answer = `${String(match)}${has === '' ? '' : `, ${has}`}`;
        answers.set(answer, [...(answers.get(answer) ?? []), title]);
      }
    }
    return [...found].map(([clause, answers]) =>
      [...answers].reduce(
        (text, [answer, titles]) => `${text}\n  ${answer} (${titles.join('; ').replace(allEnds, 'each peer')})`,
        clause,
      ),
    );
  });
  await expectLines(import.meta.dirname, 'clauses.expected.txt', lines);
});
