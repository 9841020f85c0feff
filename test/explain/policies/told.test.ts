/** Tests the text that comes with the outcome: the missing fact, and the condition and the finding of a rule. */
import { expect, test } from 'vitest';
import {
  compilePolicy,
  createEvaluator,
  readNamespace,
  readNode,
  readPod,
  suggest,
} from '../../../src/explain/policies/policies.ts';
import {
  calico,
  clusterNetworkPolicy,
  evaluator,
  namedPort,
  namespace,
  networkPolicy,
  pod,
  policySet,
} from './objects.ts';
import { connection, end, namespaces } from './rows.ts';

const local = (spec: object): object => calico('NetworkPolicy', spec, 'policy', 'shop');
const everyone = { tier: 'Admin', priority: 1, subject: { namespaces: {} } };
test('a trace shows the ICMP condition of a Calico rule, and the ServiceAccount by which its policy selects', () => {
  const icmp = { type: 8, code: 0 };
  const policy = local({
    serviceAccountSelector: 'has(team)',
    ingress: [
      { action: 'Allow', protocol: 'ICMP', icmp },
      { action: 'Allow', protocol: 'ICMP', notICMP: { type: 8 } },
    ],
  });
  const { trace } = createEvaluator({ policies: policySet([policy]), namespaces });
  const [traced] = trace({ ...connection, protocol: 'ICMP', port: undefined }, 'ingress').policies;
  expect(traced?.selector).toBe('serviceAccountSelector has(team)');
  expect(traced?.rules.map(({ groups }) => groups.flat().map(({ wants }) => wants))).toEqual([
    ['ICMP', 'type 8, code 0'],
    ['ICMP', 'not type 8, code any'],
  ]);
});

test('a trace shows which Namespaces and Pods a policy selects, and names only rules up to the decision as nearest', () => {
  const namespaceSelector = { matchLabels: { team: 'x' } };
  const traces = [{ matchLabels: { app: 'postgres' } }, {}].map((podSelector) =>
    evaluator(
      [
        clusterNetworkPolicy({
          ...everyone,
          subject: { pods: { namespaceSelector, podSelector } },
          ingress: [{ action: 'Deny', from: [{ namespaces: {} }] }],
        }),
        networkPolicy({ podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }),
      ],
      [namespace('shop', { team: 'x' }), namespace('batch')],
    ).trace(connection, 'ingress'),
  );
  const selectors = traces.map(({ policies }) => policies[0]?.selector);
  expect([selectors, traces[0]?.nearest]).toEqual([
    ['namespaces team=x, pods app=postgres', 'namespaces team=x'],
    undefined,
  ]);
});

test('a policy that may not select the Pod, whose labels are unknown, is not the nearest', () => {
  const policies = [
    networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, 'default-deny'),
    networkPolicy({ podSelector: { matchLabels: { app: 'other' } }, ingress: [{ ports: [{ port: 80 }] }] }, 'other'),
  ];
  const flow = { ...connection, destination: end(pod({ labels: undefined })) };
  const { verdict, nearest } = evaluator(policies, [namespace('shop'), namespace('batch')]).trace(flow, 'ingress');
  expect(verdict.outcome).toBe('denies');
  expect(nearest).toBeUndefined();
});

test('a suggested policy does not repeat the selector of a policy that is only staged', () => {
  const spec = { podSelector: { matchLabels: { tier: 'data' } }, ingress: [] };
  const staged = { ...calico('StagedKubernetesNetworkPolicy', spec, 'later', 'shop') };
  const isolated = networkPolicy({ podSelector: {} }, 'isolated');
  const policies = [staged, isolated].flatMap(compilePolicy);
  const flow = { ...connection, destination: end(pod({ labels: { app: 'postgres', tier: 'data' } })) };
  const selector = (given: typeof policies): unknown => {
    const suggestion = suggest({ flow, policies: given, namespaces, pods: [], calico: policySet([]).calico });
    return suggestion.kind === 'policies' ? suggestion.policies.map(({ policy }) => policy) : suggestion;
  };
  expect(selector(policies)).toEqual(selector(policies.slice(1)));
});

test('a Pod, a Namespace and a Node are read from their API objects', () => {
  const metadata = { name: 'node-a', labels: { zone: 'a' } };
  expect(readNode({ metadata })).toEqual(metadata);
  expect(readNode({ metadata: {} })).toBeUndefined();
  expect(readNamespace({ metadata })).toEqual(metadata);
  expect(readNamespace({ metadata: { name: 'x.y' } })).toBeUndefined();
  const spec = { containers: [{ ports: [{ name: 'db', containerPort: 5432 }, { name: 'none' }] }] };
  const read = readPod({ metadata: { name: 'postgres-0', namespace: 'shop' }, spec, status: { phase: 'Failed' } });
  expect(read).toMatchObject({ completed: true, serviceAccount: 'default', ports: [namedPort('db', 5432)] });
});
