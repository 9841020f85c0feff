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
import { calico, clusterNetworkPolicy, evaluator, namedPort, namespace, networkPolicy, pod } from './objects.ts';

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
const changed = { metadata: { namespace: 'shop', name: 'allow-worker', creationTimestamp: '2026-11-21T08:59:56Z' } };

const fromBatch = { fromEndpoints: [{ matchLabels: { 'k8s:io.kubernetes.pod.namespace': 'batch' } }] };

function cilium(spec: object, name = 'policy'): object {
  return { apiVersion: 'cilium.io/v2', kind: 'CiliumNetworkPolicy', metadata: { name, namespace: 'shop' }, spec };
}

test('sentences for an Event are as expected', async () => {
  const rows: [title: string, policies: object[], changes?: Partial<Flow>, max?: number][] = [
    ['a peer fails', [isolated, rule({ from: [fromFrontend], ports: [{ port: 5432 }] })]],
    ['a port fails', [rule({ ports: [{ port: 80 }, { port: 443 }] })]],
    [
      'a label is missing',
      [
        rule({
          from: [
            {
              namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
              podSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }] },
            },
          ],
        }),
      ],
    ],
    [
      'the source is outside the cluster',
      [rule({ from: [fromFrontend] })],
      { source: { kind: 'external', address: '192.0.2.7' } },
    ],
    ['no policy has a rule', [isolated]],
    ['a named port is missing', [rule({ ports: [{ port: 'metrics' }] })]],
    ['an Admin policy denies', [cluster('Deny'), rule({})]],
    [
      'many policies, and few bytes',
      [isolated, ...Array.from({ length: 30 }, (_, index) => rule({ from: [fromFrontend] }, `p-${index}`))],
      {},
      200,
    ],
    ['fewer bytes than the reason has', [isolated], {}, 40],
    ['a recent policy admits', [{ ...rule({}), ...changed }]],
    ['no policy isolates', []],
    [
      'only policies of the cluster select the Pod',
      [cluster('Pass')],
      { source: { kind: 'external', address: '192.0.2.7' } },
    ],
    [
      'the labels of a Namespace are unknown',
      [rule({ from: [{ namespaceSelector: { matchLabels: { team: 'x' } } }] })],
      { source: { kind: 'pod', pod: { ...worker, namespace: 'lab' }, address: '10.65.2.9' } },
    ],
    ['the source is unknown', [rule({ from: [fromFrontend] })], { source: { kind: 'unknown', address: '10.65.2.9' } }],
    ['equal priorities', [cluster('Deny'), { ...cluster('Accept'), metadata: { name: 'open' } }]],
    ['a label with control characters', [rule({ from: [{ podSelector: { matchLabels: { app: '\u001b[31m\n' } } }] })]],
    [
      'the tier default of Calico denies at its end',
      [
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
      ],
    ],
    [
      'a tier of Calico denies at its end',
      [
        calico('Tier', { order: 1 }, 'security'),
        calico(
          'GlobalNetworkPolicy',
          {
            tier: 'security',
            ingress: [{ action: 'Allow', source: { namespaceSelector: 'team == "shop"', notNets: ['10.0.0.0/8'] } }],
          },
          'teams',
        ),
      ],
    ],
    [
      'a rule of Calico denies',
      [
        calico(
          'NetworkPolicy',
          { ingress: [{ action: 'Log' }, { action: 'Deny', source: { namespaceSelector: 'all()' } }] },
          'closed',
          'shop',
        ),
      ],
    ],
    [
      'a rule of Calico admits',
      [calico('GlobalNetworkPolicy', { ingress: [{ action: 'Allow', source: { nets: ['10.65.0.0/16'] } }] }, 'pods')],
    ],
    [
      'a tier of Calico that is not known',
      [calico('NetworkPolicy', { tier: 'ghost', ingress: [{ action: 'Allow' }] }, 'x', 'shop')],
    ],
    ['a rule of Cilium denies', [cilium({ endpointSelector: {}, ingressDeny: [{}, fromBatch] }, 'deny')]],
    [
      'policies of Cilium isolate',
      [
        cilium({
          endpointSelector: {},
          ingress: [
            { fromEndpoints: [{ matchLabels: { app: 'frontend' } }], toPorts: [{ ports: [{ port: '5432' }] }] },
          ],
        }),
        cilium({ endpointSelector: {}, ingress: [{}] }, 'isolating'),
      ],
    ],
    [
      'a proxy of Cilium decides',
      [
        cilium({
          endpointSelector: {},
          ingress: [{ ...fromBatch, toPorts: [{ ports: [{ port: '5432' }], rules: { http: [{ path: '/' }] } }] }],
        }),
      ],
    ],
    [
      'a kind that is not evaluated',
      [{ apiVersion: 'cilium.io/v3', kind: 'CiliumNetworkPolicy', metadata: { namespace: 'shop', name: 'x' } }],
    ],
  ];
  const lines = rows.map(([title, policies, changes = {}, max = 1024]) => {
    const { trace } = evaluator(policies, [namespace('shop'), namespace('batch', { team: 'batch' })]);
    const text = sentenceOf(trace({ ...flow, ...changes }, 'ingress'), { max, node: 'node-b', at: nine });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
    return `${title}: ${text}`;
  });
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
