import { expect, test } from 'vitest';
import { createPolicyObjects } from '../../../src/agent/policies/objects.ts';
import { policyNeeds } from '../../../src/explain/drops/drops.ts';
import { unlimitedMemory } from '../../../src/base/platform/memory-budget.ts';
import {
  collectCalicoObjects,
  compilePolicy,
  largestWeightOf,
  type Policy,
  weightOfPolicy,
} from '../../../src/explain/policies/policies.ts';
import { networkSetsAt } from '../../../src/explain/policies/calico/endpoint.ts';
import { textOfIPv4 } from '../../../src/explain/policies/clauses/networks.ts';
import { finding, flow, podRef } from '../../builders.ts';
import { heapInUse } from '../../heap.ts';
import { namespace, pod } from './objects.ts';

const count = 10_000;

const np = (spec: object) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'a', name: 'b' },
  spec,
});
const cal = (spec: object) => ({
  apiVersion: 'projectcalico.org/v3',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'a', name: 'b' },
  spec,
});
const cil = (spec: object) => ({
  apiVersion: 'cilium.io/v2',
  kind: 'CiliumNetworkPolicy',
  metadata: { namespace: 'a', name: 'b' },
  spec,
});
const anp = (spec: object) => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  metadata: { name: 'b' },
  spec,
});
const cnp = (spec: object) => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'b' },
  spec,
});
const rep = (make: (i: number) => unknown, k = count) => Array.from({ length: k }, (_, i) => make(i));
const ing = (...r: unknown[]) => np({ podSelector: {}, policyTypes: ['Ingress'], ingress: r });
const cases: readonly (readonly [what: string, policy: object])[] = [
  ['np rules {}', ing(...rep(() => ({})))],
  ['np from {}', ing({ from: rep(() => ({})) })],
  ['np from []', ing({ from: rep(() => []) })],
  ['np from num', ing({ from: rep(() => 1) })],
  ['np from podSel {}', ing({ from: rep(() => ({ podSelector: {} })) })],
  ['np from podSel a=b', ing({ from: rep(() => ({ podSelector: { matchLabels: { a: 'b' } } })) })],
  [
    'np from podSel many labels',
    ing({
      from: [{ podSelector: { matchLabels: Object.fromEntries(rep((i) => [`k${i}`, 'v']) as [string, string][]) } }],
    }),
  ],
  ['np expr', ing({ from: [{ podSelector: { matchExpressions: rep(() => ({ key: 'a', operator: 'Exists' })) } }] })],
  [
    'np expr values',
    ing({ from: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: rep((i) => `v${i}`) }] } }] }),
  ],
  ['np from block', ing({ from: rep((i) => ({ ipBlock: { cidr: `10.${i >> 8}.${i & 255}.0/24` } })) })],
  ['np from block6', ing({ from: rep((i) => ({ ipBlock: { cidr: `2001:db8:${i.toString(16)}::/48` } })) })],
  [
    'np block except',
    ing({ from: [{ ipBlock: { cidr: '10.0.0.0/8', except: rep((i) => `10.${i >> 8}.${i & 255}.0/24`) } }] }),
  ],
  ['np ports {}', ing({ ports: rep(() => ({})) })],
  ['np ports', ing({ ports: rep((i) => ({ port: i })) })],
  ['np ports named', ing({ ports: rep((i) => ({ port: `p${i}` })) })],
  ['np rules from', ing(...rep(() => ({ from: [{ podSelector: {} }] })))],
  [
    'np selector',
    np({ podSelector: { matchLabels: Object.fromEntries(rep((i) => [`k${i}`, 'v']) as [string, string][]) } }),
  ],
  ['np unknown fields', ing(...rep(() => ({ x: 1 })))],
  [
    'cal or',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: "a=='b'||".repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal has',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: 'has(a)||'.repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal not',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: "!a=='b'&&".repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal !!',
    cal({ selector: 'all()', ingress: [{ action: 'Allow', source: { selector: '!'.repeat(count) + 'has(a)' } }] }),
  ],
  [
    'cal paren',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: "(a=='b')||".repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal all',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: 'all()||'.repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal in',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { selector: `a in {${rep((i) => `'${i}'`).join(',')}}` } }],
    }),
  ],
  [
    'cal ns selector',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { namespaceSelector: "a=='b'||".repeat(count) + "a=='b'" } }],
    }),
  ],
  [
    'cal sa selector',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { serviceAccounts: { selector: "a=='b'||".repeat(count) + "a=='b'" } } }],
    }),
  ],
  ['cal subject', cal({ selector: "a=='b'||".repeat(count) + "a=='b'", ingress: [] })],
  ['cal nssubject', cal({ selector: 'all()', namespaceSelector: "a=='b'||".repeat(count) + "a=='b'", ingress: [] })],
  ['cal rules {}', cal({ selector: 'all()', ingress: rep(() => ({})) })],
  ['cal rules allow', cal({ selector: 'all()', ingress: rep(() => ({ action: 'Allow' })) })],
  [
    'cal nets',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { nets: rep((i) => `10.${i >> 8}.${i & 255}.0/24`) } }],
    }),
  ],
  [
    'cal ports',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', protocol: 'TCP', destination: { ports: rep((i) => i + 1) } }],
    }),
  ],
  [
    'cal ports named',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', protocol: 'TCP', destination: { ports: rep((i) => `a${i}`) } }],
    }),
  ],
  [
    'cal sa names',
    cal({
      selector: 'all()',
      ingress: [{ action: 'Allow', source: { serviceAccounts: { names: rep((i) => `a${i}`) } } }],
    }),
  ],
  [
    'cal domains',
    cal({ selector: 'all()', egress: [{ action: 'Allow', destination: { domains: rep((i) => `a${i}`) } }] }),
  ],
  ['cil rules {}', cil({ endpointSelector: {}, ingress: rep(() => ({})) })],
  ['cil fromEndpoints', cil({ endpointSelector: {}, ingress: [{ fromEndpoints: rep(() => ({})) }] })],
  [
    'cil fromEndpoints l',
    cil({ endpointSelector: {}, ingress: [{ fromEndpoints: rep(() => ({ matchLabels: { a: 'b' } })) }] }),
  ],
  ['cil cidr', cil({ endpointSelector: {}, egress: [{ toCIDR: rep((i) => `10.${i >> 8}.${i & 255}.0/24`) }] })],
  [
    'cil cidrset',
    cil({ endpointSelector: {}, egress: [{ toCIDRSet: rep((i) => ({ cidr: `10.${i >> 8}.${i & 255}.0/24` })) }] }),
  ],
  [
    'cil ports',
    cil({
      endpointSelector: {},
      egress: [{ toPorts: [{ ports: rep((i) => ({ port: String(i), protocol: 'TCP' })) }] }],
    }),
  ],
  ['cil toPorts {}', cil({ endpointSelector: {}, egress: [{ toPorts: rep(() => ({})) }] })],
  ['cil fqdn', cil({ endpointSelector: {}, egress: [{ toFQDNs: rep((i) => ({ matchName: `a${i}.b` })) }] })],
  ['cil entities', cil({ endpointSelector: {}, egress: [{ toEntities: rep(() => 'world') }] })],
  ['cil services', cil({ endpointSelector: {}, egress: [{ toServices: rep(() => ({})) }] })],
  ['cil unknown', cil({ endpointSelector: {}, egress: rep(() => ({ x: [] })) })],
  ['anp rules {}', anp({ subject: { namespaces: {} }, priority: 1, ingress: rep(() => ({})) })],
  [
    'anp from {}',
    anp({ subject: { namespaces: {} }, priority: 1, ingress: [{ action: 'Allow', from: rep(() => ({})) }] }),
  ],
  ['cnp rules {}', cnp({ subject: { namespaces: {} }, tier: 'Admin', priority: 1, ingress: rep(() => ({})) })],
  [
    'cnp from ns',
    cnp({
      subject: { namespaces: {} },
      tier: 'Admin',
      priority: 1,
      ingress: [{ action: 'Accept', from: rep(() => ({ namespaces: {} })) }],
    }),
  ],
];

test.each(cases)('a compiled policy takes no more memory than its weight: %s', async (_, policy) => {
  const object = JSON.parse(JSON.stringify(policy)) as object;
  const before = await heapInUse();
  const compiled = compilePolicy(object);
  const took = (await heapInUse()) - before;
  const weight = weightOfPolicy(object, compiled);
  expect(weight).toBeGreaterThan(0.85 * took);
  expect(largestWeightOf(object)).toBeGreaterThan(0.85 * took);
  expect(largestWeightOf(object)).toBeGreaterThanOrEqual(weight);
});

test.each([
  [
    'a selector of a rule',
    (selector: string) => cal({ selector: 'all()', ingress: [{ action: 'Allow', source: { selector } }] }),
  ],
  ['the selector of the policy', (selector: string) => cal({ selector, ingress: [] })],
  [
    'many selectors of rules',
    (selector: string) =>
      cal({
        selector: 'all()',
        ingress: rep((index) => ({ action: 'Allow', source: { selector: selector.slice(0, 100 + index) } }), 1000),
      }),
  ],
])(
  'a policy that takes longer than ten milliseconds to read may weigh more than a quarter of 32 MiB: %s',
  (_, make) => {
    expect(largestWeightOf(make("a=='b'||".repeat(32 * 1024)))).toBeGreaterThan(8 * 2 ** 20);
    expect(largestWeightOf(make("a=='b'||"))).toBeLessThan(8 * 2 ** 20);
  },
);

test('a usual policy weighs a few kilobytes', () => {
  const policy = ing(
    { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ port: 80 }, { port: 443 }] },
    { from: [{ namespaceSelector: {} }, { ipBlock: { cidr: '10.0.0.0/8' } }] },
  );
  expect(weightOfPolicy(policy, compilePolicy(policy))).toBeLessThan(6000);
});

const many = 2000;

const selecting: readonly (readonly [what: string, make: (index: number) => object])[] = [
  ['NetworkPolicies', () => np({ podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [], egress: [] })],
  ['Calico policies of different order', (order) => cal({ selector: 'all()', order, types: ['Ingress', 'Egress'] })],
  ['policies whose selector cannot be read', (order) => cal({ selector: '(', order, types: ['Ingress', 'Egress'] })],
  [
    'policies that name Services',
    (index) =>
      cal({
        selector: 'all()',
        types: ['Ingress'],
        ingress: [{ action: 'Allow', source: { services: { name: `service-${index}` } } }],
      }),
  ],
  ['CiliumNetworkPolicies', () => cil({ endpointSelector: {}, ingress: [{}], egress: [{}] })],
];

test.each(selecting)('for any number of Pods, the kept results stay within 4 MiB: %s', async (_, make) => {
  const policies = rep((index) => ({ ...make(index), metadata: { namespace: 'shop', name: `p${index}` } }), many);
  const objects = await agentWith(policies.flatMap((each) => compilePolicy(each)));
  const pods = rep((index) => `web-${index}`, 400).map(String);
  await objects.ask('first');
  const before = await heapInUse();
  for (const name of pods) await objects.ask(name);
  expect((await heapInUse()) - before).toBeLessThan(4 * 2 ** 20);
  // The policies are still referenced here, so they were not freed.
  expect(objects.policies).toHaveLength(many);
});

test('for any number of addresses and network sets, the kept results stay within 2 MiB', async () => {
  const { add, read } = collectCalicoObjects();
  for (let index = 0; index < 3000; index++)
    add({ ...cal({ nets: ['0.0.0.0/0'] }), kind: 'NetworkSet', metadata: { namespace: 'shop', name: `set-${index}` } });
  const calico = read();
  const ask = (index: number): number => {
    const address = textOfIPv4(index);
    return networkSetsAt({ kind: 'external', address }, index, () => anyLabels, calico).found.length;
  };
  expect(ask(0)).toBe(64);
  const before = await heapInUse();
  for (let index = 1; index < 1000; index++) ask(index);
  expect((await heapInUse()) - before).toBeLessThan(2 * 2 ** 20);
  expect(calico.networkSets).toHaveLength(3000);
});

const anyLabels = { labels: {}, complete: true, owner: 'Namespace shop' };

/** An agent's policies of one Namespace. Every name that is asked for has a Pod, which stays the same object. */
async function agentWith(policies: readonly Policy[]) {
  const known = new Map<string, ReturnType<typeof pod>>();
  const objects = createPolicyObjects({
    reader: {
      cluster: () =>
        Promise.resolve({ policies: [], compiled: new Map(), calico: collectCalicoObjects().read(), bytes: 0 }),
      namespace: (name) => Promise.resolve({ namespace: namespace(name), policies, compiled: new Map(), bytes: 0 }),
      pod: () => Promise.resolve(undefined),
      networkSets: () => Promise.resolve({ sets: [], unread: false, bytes: 0 }),
      endpoints: () => Promise.resolve(new Map()),
      accountLabels: () => Promise.resolve({}),
    },
    ownPod(_, name) {
      const found = known.get(name) ?? pod({ name, namespace: 'shop' });
      known.set(name, found);
      return { pod: found, uid: '' };
    },
    onFailed: (error) => {
      throw error;
    },
    now: () => 1,
    memory: unlimitedMemory(),
  });
  return {
    policies,
    async ask(name: string): Promise<void> {
      const details = flow({ enforcer: 'network-policy', ownAddress: '10.65.1.4' });
      const drop = finding({ regarding: { ...podRef(name), uid: '' }, details });
      const needs = policyNeeds(drop);
      if (needs === undefined) throw new Error('policies have no part in it');
      await objects.refresh(needs, { policies: 0, pods: 0 }, 'shop');
      expect(objects.known(drop, needs, (_, work) => work())).toBeDefined();
    },
  };
}
