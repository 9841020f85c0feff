import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type KnownPolicies, policyFacts } from '../../../src/explain/drops/policy-trace.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import { finding, flow, podEnd, podRef, workerEnd } from '../../builders.ts';
import { clusterNetworkPolicy, evaluator, namedObjects, namespace, networkPolicy, pod } from '../policies/objects.ts';

const policyOf = namedObjects(join(import.meta.dirname, 'policies.yaml'));
const deny = (name: string, namespaceName = 'shop', policyTypes = ['Ingress']): object =>
  networkPolicy({ podSelector: {}, policyTypes }, name, namespaceName);
const allowAll = networkPolicy({ podSelector: {}, ingress: [{}] }, 'allow-all');
const pods = [
  pod(),
  pod({ namespace: 'batch', name: 'worker-7', labels: { app: 'worker' }, addresses: ['10.65.2.7'] }),
];

function known(policies: readonly object[], some = pods): () => KnownPolicies {
  const namespaces = [namespace('shop'), namespace('batch')];
  return () => ({
    pod: (ofNamespace, name) => some.find((each) => each.namespace === ofNamespace && each.name === name),
    namespace: (name) => namespaces.find((each) => each.name === name),
    trace: evaluator(policies, namespaces).trace,
  });
}

/** The findings of both ends of one packet, from batch/worker-7 to shop/postgres-0. */
function findings(given: Partial<FlowDetails> = {}): Finding[] {
  const common: Partial<FlowDetails> = { enforcer: 'network-policy', prefix: 'calico-drop', ...given };
  const peer = podEnd({ object: podRef('postgres-0'), address: '10.65.1.4' });
  return [
    finding({ regarding: podRef('postgres-0'), details: flow({ ...common, peer: workerEnd(7) }) }),
    finding({
      regarding: podRef('worker-7', 'batch'),
      details: flow({ ...common, direction: 'sending', peer, ownAddress: '10.65.2.7' }),
    }),
  ];
}

test('policies that isolate the Pod are named, with the nearest rule', () => {
  expect(policyFacts(findings(), known([deny('default-deny'), policyOf('allow-frontend')]))).toStrictEqual({
    verdict: 'denied',
    direction: 'ingress',
    decidedBy: ['NetworkPolicy shop/allow-frontend', 'NetworkPolicy shop/default-deny'],
    count: 2,
    rule: undefined,
    nearest: 'NetworkPolicy shop/allow-frontend ingress[0]',
  });
});

test.each<[string, object[], object]>([
  [
    'a rule denies',
    [policyOf('lockdown'), allowAll],
    { verdict: 'denied', decidedBy: ['ClusterNetworkPolicy lockdown'], rule: 'ingress[0]' },
  ],
  [
    'a rule admits',
    [allowAll],
    { verdict: 'admitted', decidedBy: ['NetworkPolicy shop/allow-all'], rule: 'ingress[0]', nearest: undefined },
  ],
  ['no policy selects either Pod', [], { verdict: 'admitted', decidedBy: [], count: 0, rule: undefined }],
  [
    'a policy cannot be evaluated',
    [policyOf('unreadable')],
    { verdict: 'unknown', decidedBy: [], rule: undefined, nearest: undefined },
  ],
  [
    "a policy of Calico's own isolates the Pod",
    [policyOf('frontend-of-calico')],
    { decidedBy: ['NetworkPolicy.projectcalico.org shop/frontend'] },
  ],
  [
    'the policies of the sender deny',
    [deny('closed', 'batch', ['Egress'])],
    { verdict: 'denied', direction: 'egress', decidedBy: ['NetworkPolicy batch/closed'] },
  ],
])('where %s', (_, policies, expected) => {
  expect(policyFacts(findings(), known(policies))).toMatchObject(expected);
});

test('the first eight of many policies are named, and all are counted', () => {
  const many = Array.from({ length: 70 }, (_, index) => deny(`deny-${index}`));
  const facts = policyFacts(findings(), known(many));
  expect([facts?.decidedBy.length, facts?.count]).toStrictEqual([8, 70]);
});

test('a policy of Cilium that isolates by several parts is named and counted once', () => {
  expect(policyFacts(findings(), known([policyOf('two-parts-of-cilium')]))).toMatchObject({
    decidedBy: ['CiliumNetworkPolicy shop/both'],
    count: 1,
  });
});

test('only policies of the tier that isolates are counted', () => {
  const passing = {
    tier: 'Admin',
    subject: { namespaces: {} },
    ingress: [{ action: 'Pass', from: [{ namespaces: {} }] }],
  };
  const many = Array.from({ length: 60 }, (_, index) =>
    clusterNetworkPolicy({ ...passing, priority: index }, `pass-${index}`),
  );
  expect(policyFacts(findings(), known([...many, deny('closed')]))).toMatchObject({
    decidedBy: ['NetworkPolicy shop/closed'],
    count: 1,
  });
});

test("if the receiver is no longer known, the sender's policies are used", () => {
  const facts = policyFacts(findings(), known([deny('closed', 'batch', ['Egress'])], pods.slice(1)));
  expect(facts).toMatchObject({ verdict: 'denied', direction: 'egress' });
});

test('drops of a host firewall have no policy facts, nor do drops without policies', () => {
  expect(policyFacts(findings({ enforcer: 'host-firewall' }), known([deny('x')]))).toBeUndefined();
  expect(policyFacts(findings(), () => undefined)).toBeUndefined();
});

test('a comma in a name from a saved file does not split the name', () => {
  expect(policyFacts(findings(), known([deny('a,b')]))?.decidedBy).toStrictEqual(['NetworkPolicy shop/a_b']);
});
